package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"

	"ringmaster/megakernel/kernelcache/disk"
)

// programFlags say where compiled GPU programs are kept.
type programFlags struct {
	ProgramCache   string `placeholder:"DIR" env:"RINGMASTER_PROGRAM_CACHE" help:"Directory for compiled GPU programs; only this user may have access (default: under the user's cache directory)."`
	NoProgramCache bool   `env:"RINGMASTER_NO_PROGRAM_CACHE" help:"Keep no compiled GPU programs; compile them at every start."`
}

func (f *programFlags) programDir() string {
	if f.ProgramCache != "" {
		return f.ProgramCache
	}
	return filepath.Join(cacheDir(), "programs")
}

// binaries opens the directory of compiled programs. Without
// a directory everything works, only more slowly, so a problem with it is logged and is
// no error.
func (f *programFlags) binaries(log *slog.Logger) *disk.Dir {
	if f.NoProgramCache {
		return nil
	}
	dir, err := disk.Open(disk.DefaultConfig(f.programDir()))
	if err != nil {
		log.Warn("no program cache; every start compiles its kernels", "err", err)
		return nil
	}
	return dir
}

// programState is doctor's line about the directory.
func (f *programFlags) programState() string {
	if f.NoProgramCache {
		return "program cache: off"
	}
	usage, err := disk.Inspect(f.programDir())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("program cache: %s, made on first use", f.programDir())
	case errors.Is(err, disk.ErrUnsafe):
		return fmt.Sprintf("program cache: not used: %v", err)
	case err != nil:
		return fmt.Sprintf("program cache: not readable: %v", err)
	}
	return fmt.Sprintf("program cache: %s, %d programs, %d KiB", f.programDir(), usage.Entries, (usage.Bytes+1023)>>10)
}
