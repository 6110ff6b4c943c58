package natsio

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry/natsio/natstest"
)

func TestContextAndCredentials(t *testing.T) {
	s := newServer(t)
	file := filepath.Join(t.TempDir(), "lab.json")
	must(t, os.WriteFile(file, []byte(`{"url":"`+s.URL()+`"}`), 0o600))
	cfg := fastConfig("")
	cfg.Context = file
	dial(t, cfg)
	cfg.Context = file + ".missing"
	if _, err := Connect(cfg); err == nil {
		t.Error("a context that does not exist was accepted")
	}
	cfg = fastConfig(s.URL())
	cfg.Creds = file + ".missing"
	if _, err := Connect(cfg); err == nil {
		t.Error("a credentials file that does not exist was accepted")
	}
}

func TestConfigProblemsAreAllReported(t *testing.T) {
	var cfg Config
	err := cfg.Validate()
	for _, want := range []string{"no server", "incarnation", "reconnect pauses", "no logger"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error does not name %q:\n%v", want, err)
		}
	}
	good := fastConfig("nats://127.0.0.1:4222")
	if err := good.Validate(); err != nil {
		t.Errorf("a good configuration: %v", err)
	}
	for name, change := range map[string]func(*Config){
		"two servers":      func(c *Config) { c.Context = "lab" },
		"creds alone":      func(c *Config) { c.URL, c.Context, c.Creds = "", "lab", "x" },
		"wildcard prefix":  func(c *Config) { c.Subjects.Prefix = "a.>" },
		"unknown encoding": func(c *Config) { c.Encoding = 9 },
		"reversed backoff": func(c *Config) { c.ReconnectMax = c.ReconnectMin / 2 },
	} {
		c := good
		change(&c)
		if c.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if new(WorkConfig).Validate() == nil {
		t.Error("a zero configuration is accepted")
	}
}

// startStrict is a server whose user w may publish telemetry of gpu0 and subscribe to
// inboxes, and do nothing else. It returns the configuration of that user.
func startStrict(t *testing.T) Config {
	t.Helper()
	server := natstest.Start(t)
	server.Kill()
	conf := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(conf, []byte(`authorization { users = [ { user: w, password: w, permissions: {
		publish: { allow: ["ringmaster.v1.telemetry.gpu0.>"] }, subscribe: { allow: ["_INBOX.>"] } } } ] }`), 0o600); err != nil {
		t.Fatal(err)
	}
	server.Args = append(server.Args, "-c", conf)
	server.Start()
	return fastConfig(strings.Replace(server.URL, "//", "//w:w@", 1))
}

func TestPermissionErrorsAreCountedAndReadable(t *testing.T) {
	cfg := startStrict(t)
	logger, lines := newLog()
	cfg.Logger = logger
	c := dial(t, cfg)
	must(t, publishTelemetry(c, "gpu1", "a", queueRecord(1, "")))
	lines.wait(t, "the NATS server refuses a subject to this user")
	st := c.Status()
	if st.PermissionErrors != 1 || st.LastError == nil || !strings.Contains(st.LastError.Error(), "telemetry.gpu1") {
		t.Errorf("status %+v, want one permission error that names the subject", st)
	}
	if strings.Contains(st.URL, "w:w") {
		t.Errorf("URL %q shows the password", st.URL)
	}
}

// What is refused again and again is one line of the log, as is what is refused at inboxes, whose names are new each time.
func TestARefusalIsLoggedOnce(t *testing.T) {
	cfg := startStrict(t)
	var lines atomic.Int64
	cfg.Logger = slog.New(slog.NewTextHandler(writerFunc(func(line []byte) (int, error) {
		if strings.Contains(string(line), "refuses a subject") {
			lines.Add(1)
		}
		return len(line), nil
	}), nil))
	c := dial(t, cfg)
	for i := range 20 {
		for _, queue := range []string{"a", "b"} {
			if err := publishTelemetry(c, "gpu1", queue, queueRecord(uint32(i+1), "")); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.nc.Publish(nats.NewInbox(), nil); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, c)
	c.Denied() // when it returns, every refusal has been told of
	if n := lines.Load(); n != 3 {
		t.Errorf("%d lines of 60 refusals, want one for each queue and one for all inboxes", n)
	}
	if st := c.Status(); st.PermissionErrors != 60 {
		t.Errorf("%d refusals are counted of 60", st.PermissionErrors)
	}
}

// TestEveryDenialIsKnownAfterAFlush holds up the telling of errors at the first of three,
// as a busy machine does.
func TestEveryDenialIsKnownAfterAFlush(t *testing.T) {
	cfg := startStrict(t)
	held := make(chan struct{})
	cfg.Logger = slog.New(slog.NewTextHandler(writerFunc(func(line []byte) (int, error) {
		if strings.Contains(string(line), "refuses a subject") {
			<-held
		}
		return len(line), nil
	}), nil))
	c := dial(t, cfg)
	release := sync.OnceFunc(func() { close(held) })
	t.Cleanup(release) // before the connection is closed
	for _, queue := range []string{"a", "b", "c"} {
		must(t, publishTelemetry(c, "gpu1", queue, queueRecord(1, "")))
	}
	flush(t, c)
	if c.events.catchUp(c.nc) == nil {
		t.Error("Denied does not wait for what has not been told")
	}
	release()
	if denied := c.Denied(); len(denied) != 3 {
		t.Errorf("denied: %v, want three subjects", denied)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestFloodOfErrorsIsLoggedALittleAndCountedWhole(t *testing.T) {
	var e events
	logger, lines := newLog()
	e.init(logger)
	for range 10000 {
		e.asyncError(nil, nil, errors.New("boom"))
	}
	if n := len(lines.lines); n > 20 || n == 0 {
		t.Errorf("%d lines for 10000 errors", n)
	}
	if n := e.other.Load(); n != 10000 {
		t.Errorf("%d counted, want 10000", n)
	}
}

func TestSlowSinkLosesMessagesVisibly(t *testing.T) {
	d := openDoor(t)
	must(t, d.ingest.Stop(testContext(t)))
	slow := &testSink{calls: make(chan taken)} // blocks until somebody receives
	in, err := d.runtime.Serve(slow, DefaultIngestConfig())
	must(t, err)
	flush(t, d.runtime)
	record := queueRecord(1, "")
	for range pendingMessages + 100 {
		d.publish(t, "a", record)
	}
	flush(t, d.client)
	flush(t, d.runtime) // its answer comes after the last record
	if s := in.Stats(); s.Dropped < 80 {
		t.Errorf("stats %+v, want at least 80 of the last 100 dropped", s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() {
		for {
			select {
			case <-slow.calls:
			case <-ctx.Done():
				return
			}
		}
	}()
	must(t, in.Stop(ctx))
	if d.runtime.Status().SlowConsumers == 0 {
		t.Error("status counts no slow consumer")
	}
}

func TestProbe(t *testing.T) {
	ctx := testContext(t)
	s := newServer(t)
	r, err := Probe(ctx, fastConfig(s.URL()))
	if err != nil || !r.Reachable || !r.JetStream || r.WorkStream || r.RTT <= 0 || r.MaxPayload != 1<<20 || r.ServerVersion == "" || len(r.Missing) != 0 {
		t.Errorf("report %+v, %v, want nothing missing", r, err)
	}
	must(t, dial(t, fastConfig(s.URL())).EnsureWorkStream(ctx))
	if r, err := Probe(ctx, fastConfig(s.URL())); err != nil || !r.WorkStream {
		t.Errorf("report %+v, %v, want the work stream", r, err)
	}
	r, err = Probe(ctx, fastConfig(fmt.Sprintf("nats://user:secret@127.0.0.1:%d", natstest.ReservePort(t))))
	if err != nil || r.Reachable || len(r.Missing) != 1 || !strings.Contains(r.Missing[0], "nats-server -js") || strings.Contains(r.Missing[0], "secret") {
		t.Errorf("report %+v, %v, want one sentence that says what to start", r, err)
	}
	if _, err := Probe(ctx, Config{}); err == nil {
		t.Error("a configuration without a server was probed")
	}
}

func TestProbeNamesMissingJetStream(t *testing.T) {
	server := natstest.Start(t)
	server.Kill()
	server.Args = server.Args[:4] // address and port only
	server.Start()
	r, err := Probe(testContext(t), fastConfig(server.URL))
	if err != nil || !r.Reachable || r.JetStream || len(r.Missing) != 1 || !strings.Contains(r.Missing[0], "-js") {
		t.Errorf("report %+v, %v, want JetStream missing", r, err)
	}
}

func TestVersionsAreComparedByNumber(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"2.9.0", "2.11.0", true}, {"2.11.0", "2.11.0", false}, {"2.15.2", "2.11.0", false}, {"2.11.0-RC.1", "2.11.1", true}, {"dev", "2.11.0", false}} {
		if got := older(c.a, c.b); got != c.want {
			t.Errorf("%s older than %s: %v", c.a, c.b, got)
		}
	}
}

func TestCloseIsVisible(t *testing.T) {
	c, err := Connect(fastConfig(newServer(t).URL()))
	must(t, err)
	c.Close()
	receive(t, readiness(c.Closed()))
	if s := c.Status(); s.State != StateClosed {
		t.Errorf("state %v after Close", s.State)
	}
	if err := c.WaitState(testContext(t), StateConnected); !errors.Is(err, ErrClosed) {
		t.Errorf("waiting for a closed connection: %v, want ErrClosed", err)
	}
	if err := publishTelemetry(c, "gpu0", "a", nil); err == nil {
		t.Error("a closed connection took a payload")
	}
}

func TestARefusedLoginIsNamed(t *testing.T) {
	server := natstest.Start(t)
	server.Kill()
	conf := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(conf, []byte(`authorization { users = [ { user: w, password: w } ] }`), 0o600))
	server.Args = append(server.Args, "-c", conf)
	server.Start()
	logger, lines := newLog()
	cfg := fastConfig(strings.Replace(server.URL, "//", "//w:wrong@", 1))
	cfg.Logger = logger
	c, err := Connect(cfg)
	must(t, err)
	t.Cleanup(func() { c.Close(); <-c.Closed() })
	first := receive(t, lines.lines) // and not that no server answers
	if !strings.Contains(first, "refuses this login") || !strings.Contains(first, "nats=nats://w:xxxxx@") {
		t.Errorf("%s", first)
	}
	if err := c.loginRefused(); !errors.Is(err, ErrLogin) {
		t.Errorf("%v, want ErrLogin", err)
	}
}
