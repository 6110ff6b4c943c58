package decisions

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// minBytes makes each half hold at least one batch, so that the bound is kept.
const minBytes = 1 << 20

// logFile is a log in a file. It only grows; at half of its
// bound it is renamed to FILE.1, which replaces the previous one, and a new file begins.
// Writes are not synced to the disk: the log survives a crash of the process, not
// one of the machine.
type logFile struct {
	path   string
	half   int64
	file   *os.File
	size   int64
	header bool // the next write begins with a header
}

// rotatedName is where the older half of a log is.
func rotatedName(path string) string { return path + ".1" }

// openFile opens a log to append to it. Only one process at a time can.
func openFile(path string, bytes int64) (*logFile, error) {
	f := &logFile{path: path, half: bytes / 2}
	if err := f.open(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *logFile) open() error {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("decision log: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err == nil {
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == syscall.EWOULDBLOCK {
			err = errors.New("another process writes to it")
		}
	}
	if err != nil {
		file.Close()
		return fmt.Errorf("decision log: %s: %w", f.path, err)
	}
	f.file, f.size, f.header = file, info.Size(), true
	return nil
}

func (f *logFile) write(log []byte, body int) error {
	if f.file != nil && f.size > 0 && f.size+int64(len(log)) > f.half {
		if err := f.rotate(); err != nil {
			return err
		}
	}
	if f.file == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	switch {
	case !f.header:
		log = log[body:]
	case f.size > 0:
		log = append([]byte{'\n'}, log...) // the last writer may have ended within a line
	}
	n, err := f.file.Write(log)
	f.size += int64(n)
	f.header = err != nil
	if err != nil {
		return fmt.Errorf("decision log: %w", err)
	}
	return nil
}

func (f *logFile) rotate() error {
	if err := f.close(); err != nil {
		return err
	}
	if err := os.Rename(f.path, rotatedName(f.path)); err != nil {
		return fmt.Errorf("decision log: %w", err)
	}
	return nil
}

func (f *logFile) close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	if err != nil {
		return fmt.Errorf("decision log: %w", err)
	}
	return nil
}
