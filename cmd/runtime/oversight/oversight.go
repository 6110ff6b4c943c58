package oversight

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"ringmaster/cmd/runtime/admin"
	"ringmaster/cmd/runtime/health"
	"ringmaster/cmd/runtime/metrics"
	"ringmaster/cmd/runtime/otlp"
	"ringmaster/cmd/runtime/page"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/trace"
)

// Config says what is shown to whom.
type Config struct {
	HTTP    admin.Config // what it answers is set here; no Addr: nothing is served
	Version string
	// Collector is the base URL of a collector of OpenTelemetry; "": nothing is traced.
	Collector string
	Queues    int    // with series of their own in the metrics
	Store     string // directory whose file system has the embedded server's streams, "" for none
	Log       *slog.Logger
}

// Oversight is what others see of one process.
type Oversight struct {
	metrics *metrics.Metrics
	server  *admin.Server // nil: nothing is served
	cfg     Config
	spans   *otlp.Exporter // nil: nothing is traced
	read    atomic.Pointer[func() worker.Reading]
	pages   atomic.Pointer[page.Handler] // nil: nobody is served yet
	viewer  *viewer
	log     *slog.Logger
}

// Begin serves what the configuration asks for, before anything else of the process is started, so that whoever asks is
// told that it starts. Until ctx ends the service manager is told that it lives: from here on and not from the first
// queue served, because to the manager a process that begins anew with other settings is the one that served before.
func Begin(ctx context.Context, cfg Config) (*Oversight, error) {
	o := &Oversight{cfg: cfg, log: cfg.Log}
	if err := o.serve(); err != nil {
		return nil, err
	}
	o.notify(status("starts, and waits for its device or for NATS"))
	if period := watchdogPeriod(); period > 0 {
		go o.feed(ctx, period)
	}
	return o, nil
}

// serve serves metrics and health, if the configuration asks for them.
func (o *Oversight) serve() (err error) {
	cfg := &o.cfg
	if cfg.HTTP.Addr == "" {
		return nil
	}
	shown := metrics.Config{Version: cfg.Version, MaxQueues: cfg.Queues, Log: cfg.Log}
	if cfg.Store != "" {
		shown.Disk = func() (free, all uint64, err error) { return worker.DiskSpace(cfg.Store) }
	}
	o.metrics = metrics.New(shown)
	cfg.HTTP.Metrics, cfg.HTTP.Live, cfg.HTTP.Ready, cfg.HTTP.Other = o.metrics.Handler(), o.live, o.ready, http.HandlerFunc(o.page)
	o.server, err = admin.Start(cfg.HTTP)
	return err
}

// Meter has the node's durations observed, if anybody can see them.
func (o *Oversight) Meter(cfg *worker.Config) {
	if o.metrics != nil {
		cfg.Meter, cfg.Finished = o.metrics, o.metrics.Finished
	}
}

// Follow has the bus follow traces, if there is a collector for them.
func (o *Oversight) Follow(bus *natsio.Config, worker string) (err error) {
	if o.cfg.Collector == "" {
		return nil
	}
	o.spans, err = otlp.Start(otlp.Config{
		Endpoint: o.cfg.Collector, Log: o.log,
		Resource: map[string]string{"service.name": "ringmaster", "service.version": o.cfg.Version, "service.instance.id": fmt.Sprintf("%016x", bus.Incarnation), "ringmaster.worker": worker},
	})
	if err == nil {
		bus.Traces = trace.NewBook(o.spans.Export)
	}
	return err
}

// Addr is where metrics and health are served, "" for nowhere.
func (o *Oversight) Addr() string {
	if o.server == nil {
		return ""
	}
	return o.server.Addr().String()
}

func (o *Oversight) live() []health.Reason {
	read := o.read.Load()
	if read == nil {
		return nil
	}
	r := (*read)()
	return health.Live(&r)
}

func (o *Oversight) ready() []health.Reason {
	read := o.read.Load()
	if read == nil {
		return []health.Reason{{Code: health.Starting, Text: "the process starts, and waits for its device or for NATS; its log says for what"}}
	}
	r := (*read)()
	return health.Ready(&r)
}

// Serving tells that the node serves.
func (o *Oversight) Serving(node *worker.Node) {
	read := node.Reading
	o.read.Store(&read)
	if o.metrics != nil {
		o.metrics.Attach(read)
	}
	if o.server != nil {
		o.viewer = &viewer{conn: node.Conn(), log: o.log}
		o.pages.Store(page.New(page.Config{Source: o.viewer, Explain: o.viewer.explain, Bus: node.Conn().Servers(), Log: o.log}))
	}
	o.notify(isReady, status("serves"))
}

// feed tells the service manager's watchdog that the process lives, while it does.
func (o *Oversight) feed(ctx context.Context, period time.Duration) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		if len(o.live()) == 0 {
			o.notify(isAlive)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// page serves the live view.
func (o *Oversight) page(w http.ResponseWriter, r *http.Request) {
	if pages := o.pages.Load(); pages != nil {
		pages.ServeHTTP(w, r)
		return
	}
	http.Error(w, "nobody is served yet, or no more; /readyz says why", http.StatusServiceUnavailable)
}

// Stopping tells that the node drains, and ends the live view, whose connection goes with the node. A process that begins
// anew in its place is not stopping to its service manager.
func (o *Oversight) Stopping(anew bool) {
	if pages := o.pages.Swap(nil); pages != nil {
		pages.Close()
		o.viewer.close()
	}
	if anew {
		o.notify(status("drains, to begin anew with other settings"))
		return
	}
	o.notify(isStopping, status("drains"))
}

func (o *Oversight) notify(states ...string) {
	if err := tellManager(states...); err != nil {
		o.log.Warn("the service manager cannot be told how this process is", "error", err)
	}
}

// closePatience is how long requests under way may take when the process ends.
const closePatience = time.Second

// Close sends the spans that wait, and ends what is served.
func (o *Oversight) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	if o.spans != nil {
		o.spans.Close(ctx)
	}
	if o.server != nil {
		o.server.Close(ctx)
	}
}
