package disk

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/google/renameio/v2"
)

// openPlain keeps opening from following a link or from waiting at a pipe.
const openPlain = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// checkSafe refuses a directory in which somebody else can put files.
func checkSafe(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%s has mode %04o and others may write to it, but drivers execute what lies there; "+
			"'chmod go-w %s' after looking at its files, or choose another directory: %w", path, mode, path, ErrUnsafe)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d and this process runs as user %d, but drivers execute what lies there; "+
			"choose a directory of this user: %w", path, stat.Uid, os.Geteuid(), ErrUnsafe)
	}
	return nil
}

// replaceFile makes a file appear whole, in the place of the file that had its name.
func replaceFile(root *os.Root, name string, data []byte) error {
	f, err := renameio.NewPendingFile(name, renameio.WithRoot(root), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
