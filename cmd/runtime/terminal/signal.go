package terminal

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// UntilSignal is a context that ends at SIGINT or SIGTERM. A second signal ends the process
// at once, wherever it is: a driver or a disk that hangs knows nothing of contexts.
func UntilSignal(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Hangups receives each SIGHUP until stop. A process whose log is a terminal ends with it, as others do, and receives none.
func Hangups(log io.Writer) (hangups <-chan os.Signal, stop func()) {
	if f, ok := log.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return nil, func() {}
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// Interruptible is a reader that ends with its context, whose error is then its own. Without it, a
// person who does not type, or an idle pipe, would keep a command from ending when it is told to. Nothing
// is read before it is asked for.
func Interruptible(ctx context.Context, in io.Reader) io.Reader {
	out, to := io.Pipe()
	begin := sync.OnceFunc(func() {
		context.AfterFunc(ctx, func() { to.CloseWithError(ctx.Err()) })
		go func() { // until the input ends, or the process
			_, err := io.Copy(to, in)
			to.CloseWithError(err)
		}()
	})
	return readerFunc(func(p []byte) (int, error) {
		begin()
		return out.Read(p)
	})
}

// readerFunc is an io.Reader.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
