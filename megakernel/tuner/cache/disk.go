package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/google/renameio/v2"
)

// warnings bounds how many dropped entries are described one by one.
const warnings = 8

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
		c.opt.Log.Warn("tuner cache is not used", "file", c.path, "reason", err, "kept", c.bare)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.merge(entries)
	c.trim()
}

// read parses the file and notes whether it must be kept. Called with disk held.
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
		c.keep = true
		return nil, fmt.Errorf("more than %d bytes: %w", MaxFileBytes, ErrFile)
	}
	entries, bad, err := parse(data, c.opt.Device)
	if err != nil {
		c.bare = c.bare || errors.Is(err, ErrNewer)
		c.keep = true
		return nil, err
	}
	if !c.keep { // else it was read before
		c.complain(bad)
	}
	c.keep = c.keep || len(bad) > 0
	return entries, nil
}

// complain describes the first of the dropped entries.
func (c *Cache) complain(bad []damage) {
	for i, d := range bad {
		if i == warnings {
			c.opt.Log.Warn("tuner cache: more entries dropped", "file", c.path, "count", len(bad)-i)
			break
		}
		log := c.opt.Log.With("file", c.path)
		if d.line != 0 {
			log = log.With("line", d.line)
		}
		log.Warn("tuner cache: entry dropped", "reason", d.reason)
	}
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

// probeBytes are written to see whether a file could be.
const probeBytes = 64 << 10

// Check says beforehand why nothing that is put would be written: ErrNewer, or that the directory
// or its disk takes nothing. It waits for the disk.
func (c *Cache) Check() error {
	<-c.loaded
	c.disk.Lock()
	defer c.disk.Unlock()
	if c.bare {
		return c.newer()
	}
	err := os.MkdirAll(c.opt.Dir, 0o700)
	if err == nil {
		err = locked(c.path+".lock", func() error {
			f, err := renameio.NewPendingFile(c.path)
			if err != nil {
				return err
			}
			_, err = f.Write(make([]byte, probeBytes))
			return errors.Join(err, f.Cleanup())
		})
	}
	if err != nil {
		return fmt.Errorf("tuner cache: %w", err)
	}
	return nil
}

func (c *Cache) newer() error { return fmt.Errorf("%s: %w", c.path, ErrNewer) }

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
	if c.bare {
		return nil
	}
	err := os.MkdirAll(c.opt.Dir, 0o700)
	if err == nil {
		err = locked(c.path+".lock", c.replace)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirty = c.dirty || err != nil && !c.bare
	if err != nil && !c.failed {
		c.opt.Log.Warn("tuner cache is not written; tuning goes on in memory", "file", c.path, "reason", err)
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
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !c.keep {
		return err // it is there and cannot be read: replacing it could lose something
	}
	if c.bare {
		c.opt.Log.Warn("tuner cache is not written", "file", c.path, "reason", err)
		return nil
	}
	if c.keep {
		if err := c.keepAside(); err != nil {
			return err
		}
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

// keepAside copies the file to the first free of a few names beside it. When all are
// taken, such damage is nothing new, and the last copy is replaced.
func (c *Cache) keepAside() error {
	data, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		c.keep = false
		return nil
	}
	if err != nil {
		return err
	}
	const names = 9
	for i := 1; i <= names; i++ {
		name := fmt.Sprintf("%s.kept-%d", c.path, i)
		old, err := os.ReadFile(name)
		if err == nil && !bytes.Equal(old, data) && i < names {
			continue
		}
		if err := renameio.WriteFile(name, data, 0o600); err != nil {
			return fmt.Errorf("keep the damaged file: %w", err)
		}
		c.opt.Log.Warn("tuner cache: the damaged file is kept aside", slog.String("file", name))
		c.keep = false
		return nil
	}
	return nil
}
