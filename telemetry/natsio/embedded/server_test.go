package embedded

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"ringmaster/telemetry/natsio/natstest"
)

// patience bounds every wait of the tests. It is no part of what they prove.
const patience = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var must = natstest.Must

func closeAndWait(nc *nats.Conn) {
	closed := make(chan struct{})
	nc.SetClosedHandler(func(*nats.Conn) { close(closed) })
	nc.Close()
	<-closed
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

var work = jetstream.StreamConfig{Name: "WORK", Subjects: []string{"work.>"}, Retention: jetstream.WorkQueuePolicy}

func TestStart(t *testing.T) {
	t.Run("refuses a taken port and says what to do", func(t *testing.T) {
		first, err := Start(DefaultConfig())
		must(t, err)
		defer first.Shutdown()
		u, err := url.Parse(first.URL())
		must(t, err)
		cfg := DefaultConfig()
		cfg.Port, err = strconv.Atoi(u.Port())
		must(t, err)
		if _, err := Start(cfg); !errors.Is(err, ErrPortTaken) || !strings.Contains(err.Error(), "choose another port") {
			t.Errorf("%v, want ErrPortTaken and a way out", err)
		}
	})
	t.Run("stays on loopback", func(t *testing.T) {
		for _, host := range []string{"0.0.0.0", "", "::", "192.0.2.1", "example.org"} {
			cfg := DefaultConfig()
			cfg.Host = host
			if _, err := Start(cfg); !errors.Is(err, ErrNotLoopback) {
				t.Errorf("host %q: %v, want ErrNotLoopback", host, err)
			}
		}
	})
	t.Run("leaves loopback if told to", func(t *testing.T) {
		cfg := DefaultConfig()
		cfg.Host, cfg.Insecure = "0.0.0.0", true
		s, err := Start(cfg)
		must(t, err)
		s.Shutdown()
	})
	t.Run("refuses the zero configuration", func(t *testing.T) {
		if _, err := Start(Config{}); err == nil {
			t.Error("accepted")
		}
	})
	t.Run("refuses a store that is a file", func(t *testing.T) {
		cfg := DefaultConfig()
		cfg.StoreDir = filepath.Join(t.TempDir(), "file")
		must(t, os.WriteFile(cfg.StoreDir, []byte("x"), 0o600))
		if _, err := Start(cfg); err == nil || !strings.Contains(err.Error(), "JetStream") {
			t.Errorf("%v, want an error about JetStream's directory", err)
		}
	})
	t.Run("logs routine lines at debug level", func(t *testing.T) {
		levels := make(chan slog.Level, 1)
		cfg := DefaultConfig()
		cfg.Logger = slog.New(lines(func(level slog.Level, message string) {
			if strings.Contains(message, "Server is ready") {
				levels <- level
			}
		}))
		s, err := Start(cfg)
		must(t, err)
		s.Shutdown()
		if level := <-levels; level != slog.LevelDebug {
			t.Errorf("level %v", level)
		}
	})
}

func TestStreamsOutliveTheServerInItsStoreDirectory(t *testing.T) {
	cfg := DefaultConfig()
	cfg.StoreDir = t.TempDir()
	for round := range 2 {
		s, err := Start(cfg)
		must(t, err)
		nc, err := nats.Connect(s.URL())
		must(t, err)
		js, err := jetstream.New(nc)
		must(t, err)
		_, err = js.CreateOrUpdateStream(testContext(t), work)
		must(t, err)
		ack, err := js.Publish(testContext(t), "work.a", nil, jetstream.WithMsgID("b1"))
		if err != nil || ack.Duplicate != (round == 1) {
			t.Errorf("round %d: %+v, %v", round, ack, err)
		}
		closeAndWait(nc)
		s.Shutdown()
		s.Shutdown()
	}
}

func TestShutdownRemovesTheTemporaryStore(t *testing.T) {
	s, err := Start(DefaultConfig())
	must(t, err)
	dir := s.scratch
	s.Shutdown()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

// lines is a log that hands every line to a function.
type lines func(level slog.Level, message string)

func (l lines) Enabled(context.Context, slog.Level) bool { return true }
func (l lines) Handle(_ context.Context, r slog.Record) error {
	l(r.Level, r.Message)
	return nil
}
func (l lines) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l lines) WithGroup(string) slog.Handler      { return l }

// After a process that was killed one line says what the server found, in the place of the server's own for each stream.
func TestStreamsThatWereNotClosedAreTold(t *testing.T) {
	// serve stores n messages, and returns what was said; running is called before the server ends.
	serve := func(store string, n int, running func()) string {
		t.Helper()
		var said bytes.Buffer
		cfg := DefaultConfig()
		cfg.StoreDir, cfg.Logger = store, slog.New(slog.NewTextHandler(&said, nil))
		s, err := Start(cfg)
		must(t, err)
		nc, err := nats.Connect(s.URL())
		must(t, err)
		js, err := jetstream.New(nc)
		must(t, err)
		_, err = js.CreateOrUpdateStream(testContext(t), work)
		must(t, err)
		for range n {
			_, err = js.Publish(testContext(t), "work.a", []byte("x"))
			must(t, err)
		}
		running()
		closeAndWait(nc)
		s.Shutdown()
		return said.String()
	}
	closed, killed := t.TempDir(), t.TempDir()
	serve(closed, 3, func() {})
	if said := serve(closed, 4, func() { must(t, os.CopyFS(killed, os.DirFS(closed))) }); said != "" {
		t.Errorf("streams that were closed: %s", said)
	}
	const want = `level=INFO msg="the last process did not close its streams; the server has checked them" streams="WORK: 7"`
	if said := serve(killed, 0, func() {}); strings.Count(said, "\n") != 1 || !strings.Contains(said, want) {
		t.Errorf("%s, want %s", said, want)
	}
}
