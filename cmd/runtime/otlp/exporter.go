package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"ringmaster/telemetry/complaint"
	"ringmaster/telemetry/trace"
)

// Config says where spans go, and whose they are.
type Config struct {
	Endpoint string            // base URL of the collector, such as http://127.0.0.1:4318
	Resource map[string]string // attributes of the process that has the spans
	Log      *slog.Logger
}

const (
	maxWaiting  = 4096            // spans; more are lost
	maxAtOnce   = 512             // spans of a request
	sendPeriod  = 2 * time.Second // at most so long a span waits
	sendTimeout = 5 * time.Second // of a request
	path        = "/v1/traces"    // of the collector
	maxAnswer   = 64 << 10        // bytes of an answer that are read
)

// ErrEndpoint says that the address of a collector is no URL of HTTP.
var ErrEndpoint = errors.New("want a URL such as http://127.0.0.1:4318")

// Exporter sends spans.
type Exporter struct {
	cfg        Config
	url        string
	client     http.Client
	complaints *complaint.Log
	spans      chan trace.Span
	stop       chan struct{}
	ended      chan struct{}
	lost       atomic.Uint64
}

// Start checks the configuration and begins to send.
func Start(cfg Config) (*Exporter, error) {
	at, err := url.Parse(cfg.Endpoint)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return nil, fmt.Errorf("collector %q: %w", cfg.Endpoint, ErrEndpoint)
	}
	cfg.Endpoint = at.Redacted()
	at.Path = strings.TrimSuffix(at.Path, "/") + path
	e := &Exporter{
		cfg: cfg, url: at.String(), client: http.Client{Timeout: sendTimeout}, complaints: complaint.New(cfg.Log),
		spans: make(chan trace.Span, maxWaiting), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	go e.run()
	return e, nil
}

// Export takes a span to be sent. It does not block.
func (e *Exporter) Export(s trace.Span) {
	select {
	case e.spans <- s:
	default:
		e.lost.Add(1)
		e.complaints.Warn("spans are lost, as the collector takes them too slowly", "", "", "collector", e.cfg.Endpoint)
	}
}

// Lost counts the spans that did not reach the collector.
func (e *Exporter) Lost() uint64 { return e.lost.Load() }

// Close sends what waits, until ctx ends. Nothing may be exported after it.
func (e *Exporter) Close(ctx context.Context) {
	close(e.stop)
	select {
	case <-e.ended:
	case <-ctx.Done():
	}
}

func (e *Exporter) run() {
	defer close(e.ended)
	tick := time.NewTicker(sendPeriod)
	defer tick.Stop()
	var some []trace.Span
	flush := func() {
		if len(some) > 0 {
			e.send(some)
			some = some[:0]
		}
	}
	for {
		select {
		case s := <-e.spans:
			if some = append(some, s); len(some) >= maxAtOnce {
				flush()
			}
		case <-tick.C:
			flush()
		case <-e.stop:
			for len(e.spans) > 0 {
				if some = append(some, <-e.spans); len(some) >= maxAtOnce {
					flush()
				}
			}
			flush()
			return
		}
	}
}

// send sends spans in one request.
func (e *Exporter) send(some []trace.Span) {
	if err := e.post(encode(e.cfg.Resource, some)); err != nil {
		e.lost.Add(uint64(len(some)))
		e.complaints.Warn("spans are lost, as the collector does not take them", "", "", "collector", e.cfg.Endpoint, "error", err)
	}
}

func (e *Exporter) post(body []byte) error {
	answer, err := e.client.Post(e.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // so that the connection is used again
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	return nil
}
