//go:build !unix

package disk

import (
	"fmt"
	"io/fs"
	"os"
)

const openPlain = 0

// checkSafe refuses every directory: who may write to it is not known here.
func checkSafe(path string, _ fs.FileInfo) error {
	return fmt.Errorf("%s: on this system it cannot be checked who may write to it: %w", path, ErrUnsafe)
}

// replaceFile is never reached, since no directory is safe.
func replaceFile(*os.Root, string, []byte) error { return ErrUnsafe }
