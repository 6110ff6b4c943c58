package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"ringmaster/cmd/runtime/text"

	"golang.org/x/term"
)

// screen shows a block of lines that is redrawn in place on a terminal. Anywhere
// else it prints only the lines given to note.
type screen struct {
	out      io.Writer
	terminal bool
	width    int
	drawn    int
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out, width: 120}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.terminal = true
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			s.width = w
		}
	}
	return s
}

// draw replaces the block. Lines are cut at the terminal's width, because a
// wrapped line would make the block taller than the count of its lines.
func (s *screen) draw(block string) {
	if !s.terminal {
		return
	}
	var b bytes.Buffer
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	s.drawn = 0
	for line := range strings.Lines(block) {
		runes := []rune(strings.TrimRight(line, "\n"))
		b.WriteString(string(runes[:min(len(runes), s.width)]))
		b.WriteString("\x1b[K\n")
		s.drawn++
	}
	b.WriteString("\x1b[J")
	s.out.Write(b.Bytes())
}

// note prints a line that stays. The next block is drawn below it.
func (s *screen) note(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", args...)
	s.drawn = 0
}

// bar is a progress bar of the given number of cells.
func bar(done float64, cells int) string {
	done = min(max(done, 0), 1)
	full := int(done * float64(cells))
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", cells-full) + "]"
}

// Short names of what most commands print with.
var (
	table      = text.Table
	plain      = text.Plain
	plainLines = text.PlainLines
)

func grouped[T ~int | ~int64 | ~uint32 | ~uint64](n T) string { return text.Grouped(n) }

// untilSignal is a context that ends at SIGINT or SIGTERM. A second signal ends the process
// at once, wherever it is: a driver or a disk that hangs knows nothing of contexts.
func untilSignal(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// interruptible is a reader that ends with its context, whose error is then its own. Without it, a
// person who does not type, or an idle pipe, would keep a command from ending when it is told to. Nothing
// is read before it is asked for.
func interruptible(ctx context.Context, in io.Reader) io.Reader {
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

// outPlace is where a file of a name goes. What is there and is no file, a device or a pipe, is
// written to and never replaced; behind a symbolic link it is what the link leads to.
func outPlace(name string) (path string, direct bool, err error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return name, false, nil // a link that leads nowhere is replaced
	case err != nil:
		return "", false, err
	case info.IsDir():
		return "", false, errors.New("is a directory")
	case !info.Mode().IsRegular():
		return name, true, nil
	}
	path, err = filepath.EvalSymlinks(name)
	return path, false, err
}

// replaceable tells, before anything takes its time, whether a file can be put in a place; "" is none.
func replaceable(name string) error {
	if name == "" {
		return nil
	}
	path, direct, err := outPlace(name)
	if err == nil && !direct {
		var f *os.File
		if f, err = os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"); err == nil {
			return errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err == nil {
		return nil
	}
	var file *os.PathError
	if errors.As(err, &file) {
		err = file.Err // the path is that of a file nobody asked for
	}
	return fmt.Errorf("--out %s: %w", name, err)
}

// replaceFile writes a file beside its place and moves it there when it is whole.
func replaceFile(name string, write func(io.Writer) error) error {
	path, direct, err := outPlace(name)
	if err != nil {
		return fmt.Errorf("--out %s: %w", name, err)
	}
	if direct {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(buffered(f, write), f.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already if all went well
	if err = buffered(f, write); err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func buffered(to io.Writer, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(to, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}
