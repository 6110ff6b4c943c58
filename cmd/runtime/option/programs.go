package option

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"

	"ringmaster/megakernel/kernelcache/disk"
)

// Programs say where compiled GPU programs are kept.
type Programs struct {
	Dir  string `name:"program-cache" placeholder:"DIR" env:"RINGMASTER_PROGRAM_CACHE" help:"Directory for compiled GPU programs; only this user may have access (default: under the user's cache directory)."`
	None bool   `name:"no-program-cache" env:"RINGMASTER_NO_PROGRAM_CACHE" help:"Keep no compiled GPU programs; compile them at every start."`
}

func (f *Programs) Place() string {
	if f.Dir != "" {
		return f.Dir
	}
	return filepath.Join(CacheDir(), "programs")
}

// Binaries opens the directory of compiled programs. Without
// a directory everything works, only more slowly, so a problem with it is logged and is
// no error.
func (f *Programs) Binaries(log *slog.Logger) *disk.Dir {
	if f.None {
		return nil
	}
	dir, err := disk.Open(f.Place())
	if err != nil {
		log.Warn("no program cache; every start compiles its kernels", "error", err)
		return nil
	}
	return dir
}

// State is doctor's line about the directory.
func (f *Programs) State() string {
	if f.None {
		return "program cache: off"
	}
	usage, err := disk.Inspect(f.Place())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("program cache: %s, made on first use", f.Place())
	case errors.Is(err, disk.ErrUnsafe):
		return fmt.Sprintf("program cache: not used: %v", err)
	case err != nil:
		return fmt.Sprintf("program cache: not readable: %v", err)
	}
	return fmt.Sprintf("program cache: %s, %d programs, %d KiB", f.Place(), usage.Entries, (usage.Bytes+1023)>>10)
}
