package main

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
	f := programFlags{ProgramCache: at}
	if got := f.programState(); !strings.Contains(got, at+", made on first use") {
		t.Errorf("before: %s", got)
	}
	dir := f.binaries(slog.New(slog.DiscardHandler))
	if dir == nil {
		t.Fatal("not opened")
	}
	defer dir.Close()
	if err := dir.Store(disk.Name{1}, disk.Binary{Data: make([]byte, 3000)}); err != nil {
		t.Fatal(err)
	}
	if got := f.programState(); !strings.HasSuffix(got, at+", 1 programs, 4 KiB") {
		t.Errorf("with a program: %s", got)
	}
	f.NoProgramCache = true
	if got := f.programState(); got != "program cache: off" || f.binaries(slog.New(slog.DiscardHandler)) != nil {
		t.Errorf("off: %s", got)
	}
}

func TestProgramCacheThatOthersCanWriteToIsNotUsed(t *testing.T) {
	at := t.TempDir()
	if err := os.Chmod(at, 0o777); err != nil {
		t.Fatal(err)
	}
	f := programFlags{ProgramCache: at}
	var log bytes.Buffer
	if f.binaries(slog.New(slog.NewTextHandler(&log, nil))) != nil || !strings.Contains(log.String(), "chmod go-w") {
		t.Errorf("opened, log %q", &log)
	}
	if got := f.programState(); !strings.Contains(got, "not used") {
		t.Errorf("state: %s", got)
	}
}

func TestProgramCacheIsUnderTheUsersCacheDirectory(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/somewhere")
	if got := (&programFlags{}).programDir(); got != "/somewhere/ringmaster/programs" {
		t.Errorf("path %s", got)
	}
}
