package natsio

import (
	"context"
	"log/slog"
	ossignal "os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringmaster/telemetry"
)

// lines is a log that hands every line to a function.
type lines func(message string)

func (l lines) Enabled(context.Context, slog.Level) bool { return true }
func (l lines) Handle(_ context.Context, r slog.Record) error {
	l(r.Message)
	return nil
}
func (l lines) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l lines) WithGroup(string) slog.Handler      { return l }

// fillDisk lets no file of this process grow any more until the returned function is called.
func fillDisk(t *testing.T) (makeRoom func()) {
	t.Helper()
	ossignal.Ignore(syscall.SIGXFSZ) // so that a write fails instead
	var was syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1, Max: was.Max}))
	makeRoom = func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		makeRoom()
		ossignal.Reset(syscall.SIGXFSZ)
	})
	return makeRoom
}

func TestAnEmbeddedServerOpensAStreamThatCouldNotWriteAgain(t *testing.T) {
	const waits, opened = "takes nothing until it can", "the streams are open again"
	said := map[string]chan struct{}{waits: make(chan struct{}, 1), opened: make(chan struct{}, 1)}
	cfg := DefaultServerConfig()
	cfg.Logger = slog.New(lines(func(message string) {
		for part, c := range said {
			if strings.Contains(message, part) {
				select {
				case c <- struct{}{}:
				default:
				}
			}
		}
	}))
	s, err := startServer(cfg, time.Millisecond)
	must(t, err)
	defer s.Shutdown()
	c, ctx := dial(t, fastConfig(s.URL())), testContext(t)
	wait := func(part string) {
		t.Helper()
		select {
		case <-said[part]:
		case <-ctx.Done():
			t.Fatalf("the log did not say %q", part)
		}
	}
	publish := func(ctx context.Context, id string) error {
		_, err := c.PublishWork(ctx, "gpu0", "a", telemetry.Header{Incarnation: 9, Seq: 1}, batchOf(id, 1), telemetry.FormMap)
		return err
	}
	must(t, c.EnsureWorkStream(ctx))
	must(t, publish(ctx, "b0"))

	makeRoom := fillDisk(t)
	refused, giveUp := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- publish(refused, "b1") }()
	wait(waits)
	giveUp()
	if err := <-ended; err == nil {
		t.Error("a stream that cannot write took a batch")
	}
	select {
	case <-said[opened]:
		t.Error("the streams are open while there is no room")
	default:
	}
	makeRoom()
	wait(opened)
	must(t, publish(ctx, "b2"))
	stream, err := c.js.Stream(ctx, c.WorkStream())
	must(t, err)
	if got := stream.CachedInfo().State.Msgs; got != 2 {
		t.Errorf("%d batches are stored, want the one before and the one after", got)
	}
}

func TestStreamsThatGoOnFailingAreOpenedEverLessOften(t *testing.T) {
	p := mendPace{least: mendPause}
	now := time.Unix(1e9, 0)
	for i, want := range []time.Duration{mendPause, 2 * mendPause, 4 * mendPause, 8 * mendPause, 16 * mendPause, 32 * mendPause, mendLongest, mendLongest} {
		if got := p.next(now); got != want {
			t.Errorf("failure %d: a pause of %v, want %v", i, got, want)
		}
		p.mended = now.Add(p.pause)
		now = p.mended.Add(time.Second)
	}
	if got := p.next(now.Add(2 * mendLongest)); got != mendPause {
		t.Errorf("long after: a pause of %v", got)
	}
}
