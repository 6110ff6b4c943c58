package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A hole in a file that Mesa has mapped ends the process when it is written on a full disk.
func TestMesasTableHasNoHoles(t *testing.T) {
	for name, before := range map[string]func(index string) error{
		"new": func(string) error { return nil },
		"made by Mesa": func(index string) error {
			if err := os.WriteFile(index, []byte("12345678"), 0o600); err != nil {
				return err
			}
			return os.Truncate(index, mesaIndexBytes)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("MESA_SHADER_CACHE_DIR", dir)
			t.Setenv("MESA_SHADER_CACHE_DISABLE", "")
			index := filepath.Join(dir, "mesa_shader_cache", "index")
			if err := os.Mkdir(filepath.Dir(index), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := before(index); err != nil {
				t.Fatal(err)
			}
			had, _ := os.ReadFile(index)
			mesaCache(slog.New(slog.DiscardHandler))
			var stat syscall.Stat_t
			if err := syscall.Stat(index, &stat); err != nil {
				t.Fatal(err)
			}
			if taken := stat.Blocks * 512; stat.Size != mesaIndexBytes || taken < mesaIndexBytes {
				t.Errorf("%d bytes, %d of them on the disk, want %d", stat.Size, taken, mesaIndexBytes)
			}
			if has, err := os.ReadFile(index); err != nil || !bytes.HasPrefix(has, had) {
				t.Errorf("what was there has changed: %v", err)
			}
			if off := os.Getenv("MESA_SHADER_CACHE_DISABLE"); off != "" {
				t.Errorf("the cache is disabled: %s", off)
			}
		})
	}
}

func TestWhereMesasTableHasNoPlaceThereIsNoCache(t *testing.T) {
	t.Setenv("MESA_SHADER_CACHE_DIR", "")
	t.Setenv("MESA_SHADER_CACHE_DISABLE", "")
	inTheWay := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", inTheWay)
	var log strings.Builder
	mesaCache(slog.New(slog.NewTextHandler(&log, nil)))
	if os.Getenv("MESA_SHADER_CACHE_DISABLE") != "true" || !strings.Contains(log.String(), "not used") {
		t.Errorf("the cache is not disabled: %q", log.String())
	}
}
