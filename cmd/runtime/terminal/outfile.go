package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

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

// Replaceable tells, before anything takes its time, whether a file can be put in the place that a flag names; "" is none.
func Replaceable(flag, name string) error {
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
	return fmt.Errorf("%s %s: %w", flag, name, err)
}

// ReplaceFlagged is ReplaceFile for the value of a flag, which an error names; "" is none.
func ReplaceFlagged(flag, name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	if err := ReplaceFile(name, write); err != nil {
		return fmt.Errorf("%s %w", flag, err)
	}
	return nil
}

// ReplaceFile writes a file beside its place and moves it there when it is whole. Who may read it is as it was, and for a
// new file as the process creates files.
func ReplaceFile(name string, write func(io.Writer) error) error {
	path, direct, err := outPlace(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if direct {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(buffered(f, write), f.Close())
	}
	f, err := os.OpenFile(fmt.Sprintf("%s.%x", path, rand.Uint64()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already if all went well
	if was, no := os.Stat(path); no == nil {
		err = f.Chmod(was.Mode().Perm())
	}
	if err == nil {
		err = buffered(f, write)
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
