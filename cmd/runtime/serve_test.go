package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/cmd/runtime/terminal"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/client"
)

// served is a `ringmaster run` in this process.
type served struct {
	url  string
	stop func() int // ends it as SIGTERM does and returns its exit code
}

// serve starts `ringmaster run` with an embedded server on a free port.
func serve(t *testing.T, args ...string) served {
	t.Helper()
	return serveWith(t, append([]string{"--listen", "127.0.0.1:0", "--store", t.TempDir(), "--worker", "w1"}, args...)...)
}

// serveOn starts `ringmaster run` on a server that is there.
func serveOn(t *testing.T, url string, args ...string) served {
	t.Helper()
	return serveWith(t, append([]string{"--nats", url, "--worker", "w1"}, args...)...)
}

func serveWith(t *testing.T, args ...string) served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	messages, printed := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, append([]string{"run"}, args...), terminal.Stdio{In: strings.NewReader(""), Out: io.Discard, Err: printed})
		printed.Close()
	}()
	s := served{stop: sync.OnceValue(func() int { cancel(); return <-code })}
	t.Cleanup(func() { s.stop() }) // before its store is removed
	lines := bufio.NewScanner(messages)
	for lines.Scan() {
		if url := regexp.MustCompile(`nats://127\.0\.0\.1:\d+`).FindString(lines.Text()); url != "" && s.url == "" {
			s.url = url
		}
		if strings.Contains(lines.Text(), "serving") {
			go io.Copy(io.Discard, messages)
			return s
		}
	}
	t.Fatalf("run ended with exit code %d before it served", s.stop())
	return s
}

// publishUntilWatched publishes the lines again until the watchers, whose
// subscriptions may come later, have seen enough. One result of each fits in watched.
func publishUntilWatched(t *testing.T, url, lines string, watched chan outcome) outcome {
	t.Helper()
	for {
		published := ringmaster(t, t.Context(), lines, "publish", "--nats", url, "--worker", "w1", "--take-over")
		if len(watched) == cap(watched) || published.code == 2 {
			return published
		}
	}
}

func TestRunWithoutGPUDecidesForAnnouncedWorkers(t *testing.T) {
	s := serve(t, "--decide-only")
	watched := make(chan outcome, 1)
	go func() {
		watched <- ringmaster(t, t.Context(), "", "watch", "--nats", s.url, "--json", "--count", "1", "--queue", "q")
	}()
	publishUntilWatched(t, s.url, `{"kind":"queue","queue":"q","queue_len":64}`+"\n", watched)
	got := <-watched
	if !strings.Contains(got.stdout, "nobody announced this worker") {
		t.Errorf("a worker that nobody announced has a plan: %s", got.stdout)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

func TestPublishedLinesAnnounceAWorkerAndItsQueueHasAPlan(t *testing.T) {
	s := serve(t, "--decide-only")
	plan := firstPlan(t, s.url, "w2", "q")
	const lines = `{"kind":"worker","max_workgroup_size_x":64,"max_compute_workgroups_per_dimension":65535,"max_compute_invocations_per_workgroup":1024}
{"kind":"queue","queue_len":640}
{"kind":"worker","max_workgroup_size_x":0}
{"kind":"recommendation","decision":1}
`
	published := ringmaster(t, t.Context(), lines, "publish", "--nats", s.url, "--worker", "w2", "--queue", "q")
	for _, want := range []string{"published 2 records, refused 2 lines", "line 3: ", "line 4: "} {
		if !strings.Contains(published.err, want) {
			t.Errorf("publish printed %q, which lacks %q", published.err, want)
		}
	}
	if published.code != 1 {
		t.Errorf("publish ended with exit code %d", published.code)
	}
	// The two subjects are read independently: the queue may be decided before
	// its limits are known, and is then decided again.
	if p := plan(); p.QueueLen != 640 || p.WorkgroupSizeX == 0 || p.WorkgroupSizeX > 64 {
		t.Errorf("plan %+v, want one for 640 items within the announced width of 64", p)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

// firstPlan follows a queue once the runtime is heard, and returns a function
// that waits for the first recommendation without an error.
func firstPlan(t *testing.T, url, worker, queue string) func() telemetry.Recommendation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientPatience)
	t.Cleanup(cancel)
	conn := bustest.Dial(t, url)
	var err error
	for !errors.Is(err, natsio.ErrNoRecommendation) { // the runtime has subscribed when it says so
		if _, _, err = client.Snapshot(ctx, conn, worker, queue); ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	subscriber, err := client.NewSubscriber(conn, worker, queue, client.SubscriberConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return func() telemetry.Recommendation {
		t.Helper()
		defer subscriber.Close()
		for why := "nothing decided"; ; {
			update, err := subscriber.Next(ctx)
			if err != nil {
				t.Fatalf("%s/%s: %s: %v", worker, queue, why, err)
			}
			if update.Usable() {
				return update.Recommendation
			}
			why = update.Recommendation.Error
		}
	}
}

func TestClientsSayWhenNoServerAnswers(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"watch", "--count", "1"}, {"publish"}, {"submit", "--queue", "q", "--slots", "nop"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel() // it waits most of its time
			got := ringmaster(t, t.Context(), "", append(args, "--nats", "nats://127.0.0.1:1")...)
			if got.code != 1 || !strings.Contains(got.err, "no NATS server answers") {
				t.Errorf("exit code %d, %q", got.code, got.err)
			}
		})
	}
}

func TestRunIsAVisibleService(t *testing.T) {
	s := serve(t, "--decide-only", "--max-queues", "1")
	answer, err := askStatus(s.url)
	if err != nil {
		t.Fatal(err)
	}
	var status map[string]any
	if err := json.Unmarshal(answer, &status); err != nil || status["decisions"] == nil || status["connection"] == nil || status["deciders"] == nil {
		t.Errorf("status %s: %v", answer, err)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

func TestDoctorsExitCodeSaysWhatIsMissing(t *testing.T) {
	t.Setenv("DISPLAY", "")
	none := ringmaster(t, t.Context(), "", "doctor", "--gl", "glfw", "--nats", "nats://127.0.0.1:1")
	if none.code != doctorNoGL|doctorNoNATS || strings.Count(none.stdout, "missing:") < 2 {
		t.Errorf("exit code %d, %s", none.code, none.stdout)
	}
	bus := ringmaster(t, t.Context(), "", "doctor", "--no-gpu")
	if bus.code != 0 || !strings.Contains(bus.stdout, "JetStream: there") || !strings.Contains(bus.stdout, "decisions: stored in RINGMASTER_DECIDED") {
		t.Errorf("exit code %d, %s", bus.code, bus.stdout)
	}
	url := serverOf(t)
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Request("$JS.API.STREAM.CREATE.RINGMASTER_DECIDED", []byte(`{"name":"RINGMASTER_DECIDED","subjects":["x"]}`), clientPatience); err != nil {
		t.Fatal(err)
	}
	other := ringmaster(t, t.Context(), "", "doctor", "--no-gpu", "--nats", url)
	if other.code != doctorNoNATS || !strings.Contains(other.stdout, "missing: decisions cannot be stored") || !strings.Contains(other.stdout, "RINGMASTER_DECIDED is over [x]") {
		t.Errorf("exit code %d, %s", other.code, other.stdout)
	}
}

// askStatus asks the runtimes of a server how they are, and returns the first answer.
func askStatus(url string) ([]byte, error) {
	conn, err := nats.Connect(url)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	answer, err := conn.Request("ringmaster.v1.status", nil, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return answer.Data, nil
}

// serverOf starts a NATS server for a test.
func serverOf(t *testing.T) (url string) {
	t.Helper()
	server, err := startServer("127.0.0.1", -1, t.TempDir(), quietLog)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	return server.URL()
}
