package worker

import (
	"bytes"
	"os"
	"path/filepath"
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
			index := filepath.Join(dir, "mesa_shader_cache", "index")
			must(t, os.Mkdir(filepath.Dir(index), 0o700))
			must(t, before(index))
			had, _ := os.ReadFile(index)
			must(t, ReserveMesaIndex(dir))
			var stat syscall.Stat_t
			must(t, syscall.Stat(index, &stat))
			if taken := stat.Blocks * 512; stat.Size != mesaIndexBytes || taken < mesaIndexBytes {
				t.Errorf("%d bytes, %d of them on the disk, want %d", stat.Size, taken, mesaIndexBytes)
			}
			if has, err := os.ReadFile(index); err != nil || !bytes.HasPrefix(has, had) {
				t.Errorf("what was there has changed: %v", err)
			}
		})
	}
}
