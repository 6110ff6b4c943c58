package metrics

import (
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ringmaster/cmd/runtime/worker"
)

// DefaultQueues is how many queues have series of their own unless somebody asks for another number.
const DefaultQueues = 200

// Config says what is shown.
type Config struct {
	Version   string
	MaxQueues int // with series of their own
	// Disk tells the free and all bytes of the file system that has the embedded server's streams. Nil: there is none.
	Disk func() (free, all uint64, err error)
	Log  *slog.Logger
}

// Metrics are a node's. It is the Meter of the node's actors.
type Metrics struct {
	registry *prometheus.Registry
	read     atomic.Pointer[func() worker.Reading]
	disk     func() (free, all uint64, err error)
	log      *slog.Logger

	mu     sync.Mutex
	queues *selection

	latency, wait, launch, batch prometheus.Histogram
}

// New returns metrics that say of no node yet; see Attach.
func New(cfg Config) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), disk: cfg.Disk, log: cfg.Log, queues: newSelection(cfg.MaxQueues),
		latency: histogram("ringmaster_decision_latency_seconds", "From the first record that a decision answers, taken in here, to the recommendation: stored, where decisions are stored, and handed to the bus."),
		wait:    histogram("ringmaster_launch_wait_seconds", "How long the first slots that a launch could take had waited when it began."),
		launch:  histogram("ringmaster_launch_device_seconds", "For how long a launch had the device, as far as that was measured. Launches of workers elsewhere are among them."),
		batch:   histogram("ringmaster_batch_duration_seconds", "From the stream's storing a batch to the acknowledgement of its done record, by the clocks of the server and of this host."),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "ringmaster_build_info", Help: "1; the labels say what was built.",
		ConstLabels: prometheus.Labels{"version": cfg.Version, "go": runtime.Version()},
	})
	info.Set(1)
	m.registry.MustRegister(info, m.latency, m.wait, m.launch, m.batch, m,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// histogram is classic for those who scrape text, and native for those who ask for it. A native bucket is at most
// a tenth wide; there are at most 100 of them.
func histogram(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	})
}

// buckets are the classic ones, in seconds: three in ten times as long, from a round of the resident kernel to a batch
// that waited for its worker.
var buckets = []float64{10e-6, 20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60, 600}

// Attach has scrapes read a node.
func (m *Metrics) Attach(read func() worker.Reading) { m.read.Store(&read) }

// Decided observes the latency of a decision.
func (m *Metrics) Decided(d time.Duration) { m.latency.Observe(d.Seconds()) }

// Waited observes how long slots waited for their launch.
func (m *Metrics) Waited(d time.Duration) { m.wait.Observe(d.Seconds()) }

// Launched observes a launch. One whose time was not measured says nothing.
func (m *Metrics) Launched(d time.Duration) {
	if d > 0 {
		m.launch.Observe(d.Seconds())
	}
}

// Finished observes a batch.
func (m *Metrics) Finished(d time.Duration) { m.batch.Observe(d.Seconds()) }

// maxScrapes bounds the scrapes that are answered at a time; others are told to come again.
const maxScrapes = 4

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: promLog{m.log}, ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: maxScrapes,
		Registry: nil, EnableOpenMetrics: true,
	})
}

// promLog has the library's complaints in the log.
type promLog struct{ log *slog.Logger }

// Println is what the library calls.
func (l promLog) Println(v ...any) {
	for _, one := range v {
		if err, ok := one.(error); ok {
			l.log.Warn("a scrape failed", "error", err)
			return
		}
	}
	l.log.Warn("a scrape failed")
}

// Describe tells nothing beforehand: what is there depends on the node.
func (m *Metrics) Describe(chan<- *prometheus.Desc) {}

// Collect reads the node.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	read := m.read.Load()
	if read == nil {
		return
	}
	r := (*read)()
	for i := range families {
		f := &families[i]
		f.send(to, f.of(&r))
	}
	for i := range labelled {
		l := &labelled[i]
		l.of(&r, func(label string, value float64) { l.send(to, value, label) })
	}
	if m.disk != nil {
		if free, all, err := m.disk(); err == nil {
			diskFree.send(to, float64(free))
			diskSize.send(to, float64(all))
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queues.send(to, &r)
}
