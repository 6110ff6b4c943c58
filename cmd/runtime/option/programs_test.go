package option

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/megakernel/kernelcache/disk"
)

func TestProgramCacheSaysWhatItHolds(t *testing.T) {
	at := filepath.Join(t.TempDir(), "programs")
	f := Programs{Dir: at}
	if got := f.State(); !strings.Contains(got, at+", made on first use") {
		t.Errorf("before: %s", got)
	}
	dir := f.Binaries(slog.New(slog.DiscardHandler))
	if dir == nil {
		t.Fatal("not opened")
	}
	defer dir.Close()
	if err := dir.Store(disk.Name{1}, disk.Binary{Data: make([]byte, 3000)}); err != nil {
		t.Fatal(err)
	}
	if got := f.State(); !strings.HasSuffix(got, at+", 1 programs, 4 KiB") {
		t.Errorf("with a program: %s", got)
	}
	f.None = true
	if got := f.State(); got != "program cache: off" || f.Binaries(slog.New(slog.DiscardHandler)) != nil {
		t.Errorf("off: %s", got)
	}
}

func TestProgramCacheThatOthersCanWriteToIsNotUsed(t *testing.T) {
	at := t.TempDir()
	if err := os.Chmod(at, 0o777); err != nil {
		t.Fatal(err)
	}
	f := Programs{Dir: at}
	var log bytes.Buffer
	if f.Binaries(slog.New(slog.NewTextHandler(&log, nil))) != nil || !strings.Contains(log.String(), "chmod go-w") {
		t.Errorf("opened, log %q", &log)
	}
	if got := f.State(); !strings.Contains(got, "not used") {
		t.Errorf("state: %s", got)
	}
}

func TestProgramCacheIsUnderTheUsersCacheDirectory(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/somewhere")
	if got := (&Programs{}).Place(); got != "/somewhere/ringmaster/programs" {
		t.Errorf("path %s", got)
	}
}
