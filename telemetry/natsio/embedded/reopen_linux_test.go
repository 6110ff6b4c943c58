package embedded

import (
	"context"
	"log/slog"
	ossignal "os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

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

func TestFullDisk(t *testing.T) {
	const waits, opened = "takes nothing until it can", "the streams are open again"
	said := map[string]chan struct{}{waits: make(chan struct{}, 1), opened: make(chan struct{}, 1)}
	cfg := DefaultConfig()
	cfg.Logger = slog.New(lines(func(_ slog.Level, message string) {
		for part, c := range said {
			if strings.Contains(message, part) {
				select {
				case c <- struct{}{}:
				default:
				}
			}
		}
	}))
	s, err := start(cfg, time.Millisecond)
	must(t, err)
	defer s.Shutdown()
	ctx := testContext(t)
	wait := func(part string) {
		t.Helper()
		select {
		case <-said[part]:
		case <-ctx.Done():
			t.Fatalf("the log did not say %q", part)
		}
	}
	js := connect(t, s.URL())
	stream, err := js.CreateStream(ctx, work)
	must(t, err)
	_, err = js.Publish(ctx, "work.a", []byte("before"))
	must(t, err)

	makeRoom := fillDisk(t)
	refused, giveUp := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := js.Publish(refused, "work.a", []byte("while full"))
		ended <- err
	}()
	wait(waits)
	giveUp()
	if err := <-ended; err == nil {
		t.Error("a stream that cannot write took a message")
	}
	select {
	case <-said[opened]:
		t.Error("the streams are open while there is no room")
	default:
	}
	makeRoom()
	wait(opened)
	_, err = js.Publish(ctx, "work.a", []byte("after"))
	must(t, err)
	info, err := stream.Info(ctx)
	must(t, err)
	if got := info.State.Msgs; got != 2 {
		t.Errorf("%d messages are stored, want the one before and the one after", got)
	}
}
