//go:build unix

package terminal

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe or a device that is named as the place of an output is written to; a command that runs as root
// would otherwise put a file in the place of /dev/null.
func TestOutputGoesIntoWhatIsNoFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Replaceable("--out", pipe); err != nil {
		t.Fatal(err)
	}
	// Open for both, it does not wait for a writer.
	f, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := ReplaceFile(pipe, func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("the pipe is %v now (%v)", info.Mode(), err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(f, got); err != nil || string(got) != "text" {
		t.Fatalf("the pipe has %q, %v", got, err)
	}
}

func TestOutputGoesBehindALink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceFile(link, func(w io.Writer) error { _, err := io.WriteString(w, "after"); return err }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Fatalf("the link is %v now (%v)", info.Mode(), err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "after" {
		t.Fatalf("behind the link is %q, %v", got, err)
	}
}

// A file that others may not read is not opened to them by being replaced, and a new one is as the user has files made.
func TestAnOutputIsReadableForWhomItWas(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	for name, was := range map[string]os.FileMode{"new": 0, "private": 0o600, "shared": 0o664} {
		file := filepath.Join(t.TempDir(), name)
		want := os.FileMode(0o600)
		if was != 0 {
			want = was
			if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chmod(file, was)); err != nil {
				t.Fatal(err)
			}
		}
		if err := ReplaceFile(file, func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want || info.Size() != 4 {
			t.Errorf("%s: %v, %v, want %v", name, info, err, want)
		}
	}
}

func TestDirectoryIsNoPlaceForAnOutput(t *testing.T) {
	if err := Replaceable("--out", t.TempDir()); err == nil {
		t.Fatal("a directory was taken")
	}
}
