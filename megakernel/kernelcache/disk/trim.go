package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Usage is what a directory holds.
type Usage struct {
	Entries int
	Bytes   int64
}

// entry is a file that counts.
type entry struct {
	name string
	size int64
	used time.Time
}

// Usage counts the directory's binaries.
func (d *Dir) Usage() (Usage, error) {
	var u Usage
	entries, err := d.list()
	for _, e := range entries {
		u.Entries++
		u.Bytes += e.size
	}
	return u, err
}

// Inspect opens a directory as Open does but makes nothing, and counts. The error
// wraps fs.ErrNotExist if there is no such directory.
func Inspect(path string) (Usage, error) {
	root, err := openSafe(path)
	if err != nil {
		return Usage{}, err
	}
	d := &Dir{root: root}
	defer d.Close()
	return d.Usage()
}

// list gives the directory's binaries.
func (d *Dir) list() ([]entry, error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("disk: %w", err)
	}
	defer dir.Close()
	files, err := dir.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("disk: %w", err)
	}
	var entries []entry
	for _, f := range files {
		info, err := f.Info()
		if err == nil && info.Mode().IsRegular() && isOurs(f.Name()) { // else gone again, or not ours
			entries = append(entries, entry{f.Name(), info.Size(), info.ModTime()})
		}
	}
	return entries, nil
}

// trim removes the least recently used binaries until the rest fits the bound. The file named
// keep stays.
func (d *Dir) trim(keep string) error {
	entries, err := d.list()
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(a.used.Compare(b.used), strings.Compare(a.name, b.name))
	})
	bytes := int64(0)
	for _, e := range entries {
		bytes += e.size
	}
	var errs []error
	for _, e := range entries {
		if bytes <= d.most {
			break
		}
		if e.name == keep {
			continue
		}
		// Another process may have been faster.
		if err := d.root.Remove(e.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("disk: %w", err))
		}
		bytes -= e.size
	}
	return errors.Join(errs...)
}
