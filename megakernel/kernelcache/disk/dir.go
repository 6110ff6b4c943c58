package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
)

// ErrUnsafe says that somebody other than this process's user could put
// binaries into the directory. Nothing is read from it.
var ErrUnsafe = errors.New("program cache directory is not safe")

// ErrTooLarge says that a binary with its header exceeds 16 MiB and is not stored.
var ErrTooLarge = errors.New("program binary is too large to keep")

// Binaries seen so far have 5 KiB to 2 MiB.
const (
	maxEntry = 16 << 20  // bytes of one file, header included; nothing larger is read or written
	maxBytes = 256 << 20 // of all files; the least recently used go first
)

// Dir is an open directory of program binaries.
type Dir struct {
	path string
	root *os.Root
	mu   sync.Mutex // one writer at a time, so that trimming sees what was stored

	// These differ in tests only.
	most    int64                                               // maxBytes
	replace func(root *os.Root, name string, data []byte) error // replaceFile
}

// Open makes the directory with mode 0700 if it is missing and checks that it is its owner's
// alone. It stays the directory it was, also if its path is renamed later.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("disk: program cache: %w", err)
	}
	root, err := openSafe(path)
	if err != nil {
		return nil, err
	}
	return &Dir{path: path, root: root, most: maxBytes, replace: replaceFile}, nil
}

// openSafe opens an existing directory and refuses one that others may write to.
func openSafe(path string) (*os.Root, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("disk: program cache: %w", err)
	}
	// What was opened is examined, not the path, which may lead elsewhere by now.
	info, err := root.Stat(".")
	if err == nil {
		err = checkSafe(path, info)
	}
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("disk: program cache: %w", err)
	}
	return root, nil
}

// Close ends the use of the directory.
func (d *Dir) Close() error { return d.root.Close() }

// Path is where the directory was opened.
func (d *Dir) Path() string { return d.path }

// Load reads a binary. The error wraps fs.ErrNotExist if there is none and
// ErrDamaged if there is one that must not be used.
func (d *Dir) Load(name Name) (Binary, error) {
	file := fileName(name)
	data, err := d.read(file)
	if err != nil {
		return Binary{}, fmt.Errorf("disk: %s: %w", file, err)
	}
	b, err := decode(name, data)
	if err != nil {
		return Binary{}, fmt.Errorf("disk: %s: %w", file, err)
	}
	// The time of last use decides what is trimmed; in a directory that
	// cannot be written to, nothing is trimmed either.
	now := time.Now()
	_ = d.root.Chtimes(file, now, now)
	return b, nil
}

// read gives a regular file of at most maxEntry bytes.
func (d *Dir) read(file string) ([]byte, error) {
	info, err := d.root.Lstat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is no regular file", ErrDamaged)
	}
	f, err := d.root.OpenFile(file, os.O_RDONLY|openPlain, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if size := info.Size(); !info.Mode().IsRegular() || size > maxEntry {
		return nil, fmt.Errorf("%w: %d bytes, the cap is %d", ErrDamaged, size, maxEntry)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%w: it shrank while it was read: %w", ErrDamaged, err)
	}
	return data, nil
}

// Store writes a binary, atomically, and removes what is over the bounds. After
// an error the file is as it was.
func (d *Dir) Store(name Name, b Binary) error {
	if size := int64(len(b.Data)) + headerSize; size > maxEntry {
		return fmt.Errorf("disk: %s: %d bytes, the cap is %d: %w", fileName(name), size, maxEntry, ErrTooLarge)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.replace(d.root, fileName(name), encode(name, b)); err != nil {
		return fmt.Errorf("disk: %s: %w", fileName(name), err)
	}
	return d.trim(fileName(name))
}

// Remove deletes a binary; that there is none is no error.
func (d *Dir) Remove(name Name) error {
	// A directory or a link in the place of a file has to go as well.
	if err := d.root.RemoveAll(fileName(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("disk: %w", err)
	}
	return nil
}

const suffix = ".prog"

func fileName(name Name) string { return name.String() + suffix }

// isOurs tells binaries, and what killed writers left of them (a dot, the file's name, digits),
// from what else may lie in the directory, which is neither counted nor removed.
func isOurs(file string) bool {
	file = strings.TrimRight(strings.TrimPrefix(file, "."), "0123456789")
	hexadecimal, ok := strings.CutSuffix(file, suffix)
	return ok && len(hexadecimal) == 2*len(Name{}) && strings.Trim(hexadecimal, "0123456789abcdef") == ""
}
