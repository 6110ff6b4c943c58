package page

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/cmd/runtime/explain"
	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/telemetry"
)

// bus is a source of two queues, one of which nobody decides for any more.
type bus struct {
	mu   sync.Mutex
	view *fleetview.View
	now  time.Time
}

const evil = `<script>alert(1)</script>"><a href=x onclick=y>`

func newBus() *bus {
	began := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	b := &bus{view: fleetview.New(began, fleetview.Limits{}), now: began.Add(100 * time.Second)}
	decide := func(at time.Duration, number uint64, mode string) {
		b.view.Recommendation(began.Add(at), "gpu0", "jobs", &telemetry.Header{Incarnation: 7}, &telemetry.Recommendation{
			Decision: number, ValidForMs: 60_000, QueueLen: 300, Topology: "none", ExecutionMode: mode, LaunchMode: "wave", WorkgroupSizeX: 256, Groups: 12,
			Reasons: []telemetry.Reason{{Rule: "mode_queue_len", Value: 300, Threshold: 4096}},
		})
	}
	decide(10*time.Second, 4, "interpreter")
	decide(60*time.Second, 5, "jit")
	b.view.Recommendation(began, "gpu0", "dead", &telemetry.Header{Incarnation: 7}, &telemetry.Recommendation{Decision: 1, ValidForMs: 3000, Error: evil})
	b.view.Worker(b.now, "gpu0", &telemetry.Worker{Renderer: evil})
	for i := range 6 { // the device is busy for 300 of 1,000 ms
		b.view.Telemetry(b.now.Add(time.Duration(i-6)*time.Second), "gpu0", "jobs", &telemetry.Record{
			Header: telemetry.Header{Kind: telemetry.KindLaunch}, Launch: telemetry.Launch{Executed: 500, ElapsedNs: 300e6, TimeSource: telemetry.TimeQuery, Kernel: "k"}})
	}
	status, err := fleetview.ParseStatus([]byte(`{"ring":{"pages":1024,"pages_free":768,"launches_in_flight":2}}`))
	if err != nil {
		panic(err)
	}
	b.view.Runtime(b.now, fleetview.RuntimeSaid{ID: "1", Worker: "gpu0", Status: status})
	b.view.Look(b.now)
	return b
}

func (b *bus) Look() fleetview.Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.view.Look(b.now)
}

func (b *bus) Detail(worker, queue string) (fleetview.Detail, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.view.Detail(b.now, worker, queue)
}

func serve(t *testing.T) *httptest.Server { return serveOf(t, newBus()) }

func serveOf(t *testing.T, source fleetview.Source) *httptest.Server {
	t.Helper()
	explained := func(_ context.Context, worker, queue string, decision uint64) (explain.Explanation, error) {
		if queue != "jobs" {
			return explain.Explanation{}, errors.New("decision is not kept")
		}
		if decision == 0 {
			decision = 5
		}
		return explain.Explanation{Worker: worker, Queue: queue, Number: decision, State: "ok", Why: evil, Next: "nothing: the plan follows the load",
			Reasons: []fleetview.Reason{{Says: evil, Flips: "1,096 slots more"}}, Evidence: []explain.Evidence{{What: "waiting", Value: "300 slots", Source: evil}}}, nil
	}
	h := New(Config{Source: source, Explain: explained, Bus: "nats://host:4222", Log: slog.New(slog.DiscardHandler)})
	s := httptest.NewServer(h)
	t.Cleanup(func() { closed(t, s) })
	return s
}

// closed ends a server as its process does.
func closed(t *testing.T, s *httptest.Server) {
	t.Helper()
	h := s.Config.Handler.(*Handler)
	select {
	case <-h.closed:
	default:
		h.Close()
	}
	s.Close()
}

func get(t *testing.T, s *httptest.Server, path string, wantCode int, want ...string) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Config.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if w.Code != wantCode {
		t.Errorf("%s: %d, want %d", path, w.Code, wantCode)
	}
	text := w.Body.String()
	for _, words := range want {
		if !strings.Contains(text, words) {
			t.Errorf("no %q on %s:\n%s", words, path, text)
		}
	}
	if strings.Contains(text, "<script>alert") || strings.Contains(text, "<a href=x") {
		t.Errorf("%s has the markup of others:\n%s", path, text)
	}
	if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("%s may load %q", path, policy)
	}
	return text
}

func TestThePagesSayWhatIsWrongFirst(t *testing.T) {
	s := serve(t)
	text := get(t, s, "/", 200, "1 of 2 queues wrong", "EXPIRED", `href="/queue/gpu0/jobs"`, `href="/worker/gpu0"`, "&lt;script&gt;", "nats://host:4222")
	if strings.Index(text, "gpu0.dead") > strings.Index(text, "gpu0.jobs") {
		t.Error("what is wrong is not first")
	}
	get(t, s, "/worker/gpu0", 200, "gpu0.jobs", "busy for 30 %", "EXPIRED", "256 of 1,024 pages hold slots, 2 launches under way", "device time by queue")
	get(t, s, "/queue/gpu0/jobs", 200, "decision 5,", "nothing: the plan follows the load", "1,096 slots more", "interpreter 256×12", "decision=4", "<svg")
	get(t, s, "/queue/gpu0/jobs?decision=4", 200, "decision 4,")
	get(t, s, "/queue/gpu0/dead", 200, "no explanation: decision is not kept")
	for _, path := range []string{"/queue/gpu0/nothing", "/worker/nobody", "/queue/gpu0/jobs?decision=x"} {
		get(t, s, path, 404, "nothing is known of")
	}
	get(t, s, "/style.css", 200, "prefers-color-scheme: dark", ".wrong")
	get(t, s, "/live.js", 200, "EventSource")
}

// A click on a band leads to the explanation of the decision with which the state began.
func TestABandLeadsToItsDecision(t *testing.T) {
	text := get(t, serve(t), "/queue/gpu0/jobs", 200)
	for _, want := range []string{`<a href="/queue/gpu0/jobs?decision=4"><rect`, `<a href="/queue/gpu0/jobs?decision=5"><rect`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// Every look at a queue's page waits for its explanation. Where that takes longer than it is kept, the next looks have it
// all the same.
func TestASlowExplanationIsKeptAsLongAsAQuickOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := 0
		h := New(Config{Explain: func(ctx context.Context, _, _ string, _ uint64) (explain.Explanation, error) {
			times++
			<-ctx.Done()
			return explain.Explanation{}, ctx.Err()
		}})
		for range 3 {
			if a := h.explained(t.Context(), asked{"gpu0", "jobs", 0}); !errors.Is(a.err, context.DeadlineExceeded) || a.is != nil {
				t.Errorf("%+v", a)
			}
		}
		if times != 1 {
			t.Errorf("the bus was asked %d times", times)
		}
	})
}

func TestEventsFollowAPageAndEndWithIt(t *testing.T) {
	s := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	var answers []*http.Response
	for i := range mostStreams + 1 {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/events?of=/queue/gpu0/jobs", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		answers = append(answers, answer)
		if code := answer.StatusCode; code != 200 && i < mostStreams || code != 503 && i == mostStreams {
			t.Fatalf("browser %d: %d", i, code)
		}
	}
	lines := bufio.NewScanner(answers[0].Body)
	found := false
	for events := 0; events < 1 && lines.Scan(); {
		if lines.Text() == "" {
			events++
		}
		found = found || strings.Contains(lines.Text(), "gpu0")
	}
	if !found {
		t.Error("the event does not have the page")
	}
	cancel()
	for range mostStreams { // a browser that has gone and keeps its place would keep one of these waiting
		s.Config.Handler.(*Handler).streams <- struct{}{}
	}
}
