package otlp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"ringmaster/telemetry/trace"
)

var quiet = slog.New(slog.DiscardHandler)

func TestSpansReachTheCollector(t *testing.T) {
	got := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/base/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s, %v, %v", r.URL, r.Header, err)
		}
		got <- string(body)
	}))
	defer collector.Close()
	e, err := Start(Config{Endpoint: collector.URL + "/base/", Resource: map[string]string{"service.name": "ringmaster"}, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	from, _ := trace.Parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	e.Export(trace.Span{
		Context: from, Parent: [8]byte{1}, Name: "decide", Start: time.Unix(1, 2), End: time.Unix(3, 4), Error: "no plan",
		Attributes: []trace.Attribute{{Key: "ringmaster.queue", Value: "q"}, {Key: "ringmaster.decision", Value: uint64(1) << 60}},
	})
	e.Close(context.Background())
	const want = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"ringmaster"}}]},` +
		`"scopeSpans":[{"scope":{"name":"ringmaster"},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331",` +
		`"parentSpanId":"0100000000000000","name":"decide","kind":1,"startTimeUnixNano":"1000000002","endTimeUnixNano":"3000000004",` +
		`"attributes":[{"key":"ringmaster.queue","value":{"stringValue":"q"}},{"key":"ringmaster.decision","value":{"intValue":"1152921504606846976"}}],` +
		`"status":{"code":2,"message":"no plan"}}]}]}]}`
	if body := <-got; body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}

func TestACollectorHoldsNothingUp(t *testing.T) {
	release := make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer collector.Close()
	e, err := Start(Config{Endpoint: collector.URL, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	const all = 3 * maxWaiting
	for range all {
		e.Export(trace.Span{})
	}
	if e.Lost() == 0 {
		t.Error("more spans wait than may")
	}
	close(release)
	e.Close(context.Background())
	if n := e.Lost(); n != all {
		t.Errorf("the collector took none of %d spans, and %d are lost", all, n)
	}
}

func TestWhatIsNoCollector(t *testing.T) {
	for _, endpoint := range []string{"127.0.0.1:4318", "grpc://host:4317", "http://", ":"} {
		if _, err := Start(Config{Endpoint: endpoint, Log: quiet}); !errors.Is(err, ErrEndpoint) {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}
