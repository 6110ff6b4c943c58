package metrics

import (
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// started is when readings of these tests were made.
var started = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

// busy is a reading of a worker with so many queues, each of which has done more than the one before.
func busy(queues int) worker.Reading {
	r := worker.Reading{At: started, Worker: "gpu0", Device: "a GPU", BeatAt: started}
	r.Ring = &worker.RingUse{Pages: 64, FreePages: 16, InFlight: 2}
	r.Work = &natsio.WorkStats{Delivered: 9, Done: 5, Refused: 4, GivenUp: 1, Crowded: 1, Stored: 7, Pending: 3}
	r.Connection.State = "connected"
	r.RefusedByReason = map[string]uint64{"wrong_type": 3, "rate_limited": 4}
	r.Streams = []natsio.StreamUse{{Name: "RINGMASTER_WORK", Messages: 7, Bytes: 70, MaxBytes: 100}}
	r.Waiting = map[string]uint64{"q00001": 7}
	for i := range queues {
		q := actors.QueueStatus{Worker: "gpu0", Queue: fmt.Sprintf("q%05d", i), Decided: true, HeardAt: started.Add(-time.Duration(i) * time.Second), DecidedAt: started}
		q.Records, q.Launches, q.DeviceNs, q.SlotsPending = uint64(i), uint64(i), uint64(i)*1e9, 1
		q.Recommendation.WorkgroupSizeX, q.Recommendation.Groups = 256, 12
		q.Applied = telemetry.Geometry{WorkgroupSizeX: 128, Groups: 6}
		r.Queues = append(r.Queues, q)
	}
	return r
}

func metricsOf(most int, read func() worker.Reading) *Metrics {
	m := New(Config{Version: "test", MaxQueues: most, Log: slog.New(slog.DiscardHandler), Disk: func() (uint64, uint64, error) { return 10, 100, nil }})
	m.Attach(read)
	return m
}

// scrape is the text of a scrape.
func scrape(t testing.TB, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			name, _, _ := strings.Cut(line, " ")
			t.Errorf("want %q; there is\n%s", line, grep(text, strings.TrimSuffix(name, "}")))
		}
	}
}

func grep(text, word string) string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}

func TestAScrapeShowsWhatWasCounted(t *testing.T) {
	r := busy(3)
	m := metricsOf(10, func() worker.Reading { return r })
	m.Decided(30 * time.Microsecond)
	m.Waited(time.Millisecond)
	m.Launched(2 * time.Millisecond)
	m.Launched(0) // not measured
	m.Finished(time.Second)
	wantLines(t, scrape(t, m),
		`ringmaster_records_refused_total{reason="wrong_type"} 3`,
		`ringmaster_batches_ended_total{outcome="done"} 5`,
		`ringmaster_batches_ended_total{outcome="refused"} 2`,
		`ringmaster_batches_waiting 4`,
		`ringmaster_bus_connected 1`,
		`ringmaster_ring_free_pages 16`,
		`ringmaster_stream_limit_bytes{stream="RINGMASTER_WORK"} 100`,
		`ringmaster_store_free_bytes 10`,
		`ringmaster_queues_standing{state="in doubt"} 0`,
		`ringmaster_queue_input_age_seconds{queue="q00002",worker="gpu0"} 2`,
		`ringmaster_queue_stored_batches{queue="q00001",worker="gpu0"} 7`,
		`ringmaster_queue_recommended_workgroups{queue="q00000",worker="gpu0"} 12`,
		`ringmaster_queue_launched_workgroups{queue="q00000",worker="gpu0"} 6`,
		`ringmaster_decision_latency_seconds_bucket{le="5e-05"} 1`,
		`ringmaster_decision_latency_seconds_bucket{le="2e-05"} 0`,
		`ringmaster_launch_device_seconds_count 1`,
		`ringmaster_batch_duration_seconds_sum 1`,
	)
}

// What is not there makes no series, and no scrape fail: a process that decides only, before anything was decided.
func TestAScrapeOfLittle(t *testing.T) {
	r := worker.Reading{At: started, Queues: []actors.QueueStatus{{Worker: "w", Queue: "q"}}}
	text := scrape(t, metricsOf(10, func() worker.Reading { return r }))
	wantLines(t, text, `ringmaster_queue_records_total{queue="q",worker="w"} 0`, `ringmaster_ring_pages 0`)
	for _, absent := range []string{"_age_seconds", "recommended_", "launched_w", "batches_ended", "(rest)"} {
		if found := grep(text, absent); found != "" {
			t.Errorf("there is\n%s", found)
		}
	}
	if text := scrape(t, New(Config{Log: slog.New(slog.DiscardHandler)})); !strings.Contains(text, "ringmaster_build_info") {
		t.Error("no series before there is a node")
	}
}

// TestTheRestOnlyGrows: queues change places between those with series and the rest, come and are forgotten.
func TestTheRestOnlyGrows(t *testing.T) {
	r := busy(4)
	m := metricsOf(2, func() worker.Reading { return r })
	text := scrape(t, m)
	wantLines(t, text,
		`ringmaster_queue_records_total{queue="q00003",worker="gpu0"} 3`,
		`ringmaster_queue_records_total{queue="(rest)",worker="(rest)"} 1`,
		`ringmaster_queue_pending_slots{queue="(rest)",worker="(rest)"} 2`,
		`ringmaster_queue_input_age_seconds{queue="(rest)",worker="(rest)"} 1`)
	if found := grep(text, "q00001") + grep(text, `recommended_width{queue="(rest)"`); found != "" {
		t.Errorf("there is\n%s", found)
	}
	r = busy(4)
	r.Queues[0].Records, r.Queues[1].Records = 5, 2 // less than twice what those with series have
	wantLines(t, scrape(t, m), `ringmaster_queue_records_total{queue="(rest)",worker="(rest)"} 7`)
	r.Queues[0].Records = 100 // changes places with the one that has least
	wantLines(t, scrape(t, m),
		`ringmaster_queue_records_total{queue="q00000",worker="gpu0"} 100`,
		`ringmaster_queue_records_total{queue="(rest)",worker="(rest)"} 7`)
	r.Queues[2].Records += 5 // is one of the rest now
	wantLines(t, scrape(t, m), `ringmaster_queue_records_total{queue="(rest)",worker="(rest)"} 12`)
	r.Queues = r.Queues[:1]
	wantLines(t, scrape(t, m), `ringmaster_queue_records_total{queue="(rest)",worker="(rest)"} 12`)
}

func TestAStoppedQueueIsShown(t *testing.T) {
	r := busy(10)
	r.Queues[0].Halted = true
	text := scrape(t, metricsOf(1, func() worker.Reading { return r }))
	wantLines(t, text, `ringmaster_queue_stopped{queue="q00000",worker="gpu0"} 1`, `ringmaster_queues_halted 1`)
}

func TestReasonsAreBounded(t *testing.T) {
	r := busy(0)
	for i := range 1000 {
		r.RefusedByReason[fmt.Sprint("z", i)] = 1
	}
	text := scrape(t, metricsOf(1, func() worker.Reading { return r }))
	wantLines(t, text, `ringmaster_records_refused_total{reason="other"} 962`)
	if n := strings.Count(text, "ringmaster_records_refused_total{"); n != maxReasons+1 {
		t.Errorf("%d reasons, want %d", n, maxReasons+1)
	}
}

// TestHistogramsAreNativeToo: who scrapes protobuf finds the native buckets beside the classic ones.
func TestHistogramsAreNativeToo(t *testing.T) {
	m := metricsOf(1, func() worker.Reading { return busy(0) })
	m.Decided(time.Millisecond)
	var out dto.Metric
	if err := m.latency.(prometheus.Metric).Write(&out); err != nil {
		t.Fatal(err)
	}
	if h := out.Histogram; h.Schema == nil || len(h.PositiveSpan) == 0 || len(h.Bucket) != len(buckets) {
		t.Errorf("native %v, %d classic buckets", h.PositiveSpan, len(h.Bucket))
	}
}

// TestNamesAreAsPrometheusWantsThem has promtool read a whole scrape.
func TestNamesAreAsPrometheusWantsThem(t *testing.T) {
	text := scrape(t, metricsOf(1, func() worker.Reading { return busy(3) }))
	promtool(t, text, "check", "metrics")
}

// TestAScrapeOf1000QueuesIsBounded: by default 200 of them have series of their own.
func TestAScrapeOf1000QueuesIsBounded(t *testing.T) {
	text := scrape(t, metricsOf(DefaultQueues, func() worker.Reading { return busy(1000) }))
	if n, want := strings.Count(text, "\nringmaster_queue_records_total{"), DefaultQueues+1; n != want {
		t.Errorf("%d series of a name, want %d", n, want)
	}
}

func BenchmarkScrape(b *testing.B) {
	for _, shown := range []int{DefaultQueues, 1000} {
		b.Run(fmt.Sprintf("of1000/shown%d", shown), func(b *testing.B) {
			r := busy(1000)
			m := metricsOf(shown, func() worker.Reading { return r })
			h, request := m.Handler(), httptest.NewRequest("GET", "/metrics", nil)
			request.Header.Set("Accept-Encoding", "gzip") // as Prometheus asks
			for b.Loop() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, request)
				_, _ = io.Copy(io.Discard, w.Body)
			}
		})
	}
}

func BenchmarkObserve(b *testing.B) {
	m := metricsOf(1, func() worker.Reading { return busy(0) })
	b.RunParallel(func(pb *testing.PB) {
		for d := time.Microsecond; pb.Next(); d = d*3%time.Second + 1 {
			m.Decided(d)
		}
	})
}
