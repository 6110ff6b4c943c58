package cache

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options of a cache.
type Options struct {
	Dir    string        // directory of the file, made if it does not exist
	Device string        // identity of the device and its driver; names the file and is checked in it
	Max    int           // entries kept
	Delay  time.Duration // from a change to the write that includes it
	Log    *slog.Logger
}

// DefaultMax and DefaultDelay are what a worker uses.
const (
	DefaultMax   = 4096
	DefaultDelay = 2 * time.Second
)

// Cache is the tuner's memory of one device. Its methods may be called from
// any goroutine; only Flush and Close wait for the disk.
type Cache struct {
	opt    Options
	path   string
	loaded chan struct{} // closed when the file was read
	change chan struct{} // says that something has to be written
	stop   chan struct{}
	done   chan struct{}

	disk sync.Mutex // held by whoever reads or writes the file

	mu      sync.Mutex
	entries map[Key]*stored
	clock   uint64
	dirty   bool
	failed  bool // the last write failed
}

// Open begins to read the file of a device and returns at once. Close the
// cache to have its last changes written.
func Open(opt Options) *Cache {
	opt.Max = max(opt.Max, 1)
	c := &Cache{
		opt:     opt,
		path:    filepath.Join(opt.Dir, fileName(opt.Device)),
		loaded:  make(chan struct{}),
		change:  make(chan struct{}, 1),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
		entries: make(map[Key]*stored),
	}
	go c.run()
	return c
}

// fileName is the name of a device's file: what is readable of its identity,
// and a hash of all of it.
func fileName(device string) string {
	readable := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, device)
	for strings.Contains(readable, "--") {
		readable = strings.ReplaceAll(readable, "--", "-")
	}
	sum := sha256.Sum256([]byte(device))
	return fmt.Sprintf("%.40s-%x.toml", strings.Trim(readable, "-"), sum[:8])
}

// Path is the file.
func (c *Cache) Path() string { return c.path }

// Loaded is closed when the file has been read, or could not be.
func (c *Cache) Loaded() <-chan struct{} { return c.loaded }

// Get finds an entry and counts as its use. Entries of the file are only found once
// it has been read.
func (c *Cache) Get(key Key) (Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.entries[key]
	if s == nil {
		return Entry{}, false
	}
	s.used = c.tick()
	return s.clone(), true
}

// Put keeps an entry in place of what was known about its key. An error says why
// the entry is refused; what was known then stays.
func (c *Cache) Put(e Entry) error {
	if err := e.Check(); err != nil {
		return fmt.Errorf("key %v: %w", e.Key, err)
	}
	e = e.clone()
	c.mu.Lock()
	c.entries[e.Key] = &stored{Entry: e, used: c.tick(), changed: true}
	c.trim()
	c.dirty = true
	c.mu.Unlock()
	select {
	case c.change <- struct{}{}:
	default:
	}
	return nil
}

// Len is the number of entries in memory.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// tick advances the clock of use. Called with mu held.
func (c *Cache) tick() uint64 {
	c.clock++
	return c.clock
}

// trim drops what has not been used for the longest. Called with mu held.
func (c *Cache) trim() {
	over := len(c.entries) - c.opt.Max
	if over <= 0 {
		return
	}
	for _, s := range c.byUse()[:over] {
		delete(c.entries, s.Key)
	}
}

// byUse are the entries, the longest unused first. Called with mu held.
func (c *Cache) byUse() []*stored {
	all := make([]*stored, 0, len(c.entries))
	for _, s := range c.entries {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *stored) int {
		return cmp.Or(cmp.Compare(a.used, b.used), slices.Compare(a.Key[:], b.Key[:]))
	})
	return all
}

// run reads the file and then writes it after changes.
func (c *Cache) run() {
	defer close(c.done)
	c.load()
	close(c.loaded)
	for {
		select {
		case <-c.stop:
			return
		case <-c.change:
		}
		wait := time.NewTimer(c.opt.Delay)
		select {
		case <-c.stop:
			wait.Stop()
			return
		case <-wait.C:
		}
		c.write()
	}
}

// Flush writes the file, also if nothing has changed, and waits for it: before a long measurement
// it says whether its result could be kept.
func (c *Cache) Flush(ctx context.Context) error {
	select {
	case <-c.loaded:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	c.dirty = true
	c.mu.Unlock()
	return c.write()
}

// Close writes what has changed and ends the background work. The cache stays
// readable.
func (c *Cache) Close() error {
	close(c.stop)
	<-c.done
	return c.write()
}
