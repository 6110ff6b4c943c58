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
	entries, err := d.list(nil)
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

// staleTemp is the age from which a temporary file is what a killed process
// left behind. A write takes milliseconds.
const staleTemp = time.Hour

// list gives the directory's binaries and reports temporary files to temp.
func (d *Dir) list(temp func(e entry)) ([]entry, error) {
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
		if err != nil || !info.Mode().IsRegular() {
			continue // gone again, or not ours
		}
		e := entry{f.Name(), info.Size(), info.ModTime()}
		switch {
		case isFileName(e.name):
			entries = append(entries, e)
		case temp != nil && isTempName(e.name):
			temp(e)
		}
	}
	return entries, nil
}

// isTempName recognises the names under which renameio writes: a dot, the file's
// name, digits.
func isTempName(file string) bool {
	const length = 1 + 2*len(Name{}) + len(suffix)
	return len(file) > length && file[0] == '.' && isFileName(file[1:length]) && strings.Trim(file[length:], "0123456789") == ""
}

// trim removes the least recently used binaries until the rest fits the bounds,
// and temporary files that were left behind. The file named keep stays.
func (d *Dir) trim(keep string) error {
	now := time.Now()
	var errs []error
	remove := func(e entry) {
		// Another process may have been faster.
		if err := d.root.Remove(e.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("disk: %w", err))
		}
	}
	entries, err := d.list(func(e entry) {
		if now.Sub(e.used) > staleTemp {
			remove(e)
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(a.used.Compare(b.used), strings.Compare(a.name, b.name))
	})
	count, bytes := len(entries), int64(0)
	for _, e := range entries {
		bytes += e.size
	}
	for _, e := range entries {
		if bytes <= d.cfg.MaxBytes && count <= d.cfg.MaxEntries {
			break
		}
		if e.name == keep {
			continue
		}
		remove(e)
		bytes -= e.size
		count--
	}
	return errors.Join(errs...)
}
