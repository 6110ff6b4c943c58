package cache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"
)

// load reads the file into memory. Whatever is wrong with it is logged and never an
// error: tuning then begins cold.
func (c *Cache) load() {
	c.disk.Lock()
	defer c.disk.Unlock()
	entries, err := c.read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		c.opt.Log.Warn("tuner cache is not used", "file", c.path, "error", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.merge(entries)
	c.trim()
}

// errUnsound says that the file was read and is of no use.
var errUnsound = errors.New("the file is unsound")

// read parses the file. Called with disk held.
func (c *Cache) read() ([]stored, error) {
	f, err := os.Open(c.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFileBytes {
		return nil, fmt.Errorf("%w: more than %d bytes", errUnsound, MaxFileBytes)
	}
	entries, err := parse(data, c.opt.Device)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnsound, err)
	}
	return entries, nil
}

// merge takes over what the file says, except of keys that were put since the
// last write. Called with mu held.
func (c *Cache) merge(entries []stored) {
	for i := range entries {
		e := &entries[i]
		c.clock = max(c.clock, e.used)
		own := c.entries[e.Key]
		if own != nil && own.changed {
			continue
		}
		if own != nil {
			e.used = max(e.used, own.used)
		}
		c.entries[e.Key] = e
	}
}

// write replaces the file if something changed. On a failure the change is
// kept for the next write.
func (c *Cache) write() error {
	c.mu.Lock()
	dirty := c.dirty
	c.dirty = false
	c.mu.Unlock()
	if !dirty {
		return nil
	}
	c.disk.Lock()
	defer c.disk.Unlock()
	err := os.MkdirAll(c.opt.Dir, 0o700)
	if err == nil {
		err = locked(c.path+".lock", c.replace)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirty = c.dirty || err != nil
	if err != nil && !c.failed {
		c.opt.Log.Warn("tuner cache is not written; tuning goes on in memory", "file", c.path, "error", err)
	}
	c.failed = err != nil
	if err != nil {
		return fmt.Errorf("tuner cache: %w", err)
	}
	return nil
}

// replace merges what other processes wrote since and writes the file anew.
// Called with disk and the lock held.
func (c *Cache) replace() error {
	entries, err := c.read()
	switch {
	case errors.Is(err, ErrNewer):
		return err // it stays what it is
	case errors.Is(err, errUnsound):
		if err := os.Rename(c.path, c.path+".kept"); err != nil {
			return err
		}
		c.opt.Log.Warn("tuner cache: a file that cannot be used is kept aside", "file", c.path+".kept", "error", err)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err // it is there and cannot be read: replacing it could lose something
	}
	c.mu.Lock()
	c.merge(entries)
	c.trim()
	all, data := c.cut()
	for _, e := range all {
		e.changed = false
	}
	c.mu.Unlock()
	if err := renameio.WriteFile(c.path, data, 0o600); err != nil {
		c.mu.Lock()
		for _, e := range all {
			e.changed = true
		}
		c.mu.Unlock()
		return err
	}
	return nil
}

// cut returns the file's contents and the entries in it. Entries that would make
// the file too large to be read again are dropped, the longest unused first. Called
// with mu held.
func (c *Cache) cut() (all []*stored, data []byte) {
	all = c.byUse()
	for {
		data = format(c.opt.Device, all)
		if len(data) <= MaxFileBytes || len(all) == 0 {
			return all, data
		}
		over := len(all)*(len(data)-MaxFileBytes)/len(data) + 1
		for _, e := range all[:over] {
			delete(c.entries, e.Key)
		}
		all = all[over:]
	}
}
