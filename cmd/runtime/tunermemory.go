package main

import (
	"context"
	"log/slog"
	"sync"

	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/session"
)

// Bounds of what is remembered beside the files, where there are none.
const (
	maxTunedDevices = 16   // kinds of devices
	maxTunedEntries = 4096 // of one of them
)

// sharer passes results to the other workers with the same kind of device.
type sharer interface {
	// follow begins to hand over what others share for a device.
	follow(device string, found func(cache.Entry))
	// share sends an entry. It does not wait for the server.
	share(device string, e cache.Entry)
}

// tunerMemory is what tuners begin from: a file for each kind of device, and
// what other workers share. It implements session.Memory and never waits for
// the disk or the server.
type tunerMemory struct {
	dir    string // "": no files
	shared sharer // nil: nobody to share with
	log    *slog.Logger

	mu      sync.Mutex
	devices map[string]*deviceMemory
	moment  uint64 // counts what became known
	full    bool   // a device more than there is room for was warned of
}

// deviceMemory is what is known of one kind of device.
type deviceMemory struct {
	file    *cache.Cache // nil: none
	read    uint64       // moment at which the file was found to be read, 0 before
	own     map[cache.Key]cache.Entry
	foreign map[cache.Key]cache.Entry
	moments map[cache.Key]uint64
}

func newTunerMemory(dir string, shared sharer, log *slog.Logger) *tunerMemory {
	return &tunerMemory{dir: dir, shared: shared, log: log, devices: make(map[string]*deviceMemory), moment: session.FirstMoment}
}

// open begins to read what is known of a device, so that it is there when its
// first launch is reported.
func (m *tunerMemory) open(device string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.device(device)
}

// device is the memory of a kind of device, nil if there is no room. m.mu is held.
func (m *tunerMemory) device(name string) *deviceMemory {
	if d := m.devices[name]; d != nil || name == "" {
		return d
	}
	if len(m.devices) == maxTunedDevices {
		if !m.full {
			m.log.Warn("results for more kinds of devices are not remembered", "most", maxTunedDevices, "device", name)
			m.full = true
		}
		return nil
	}
	d := &deviceMemory{
		own: make(map[cache.Key]cache.Entry), foreign: make(map[cache.Key]cache.Entry), moments: make(map[cache.Key]uint64),
	}
	if m.dir != "" {
		d.file = cache.Open(cache.Options{Dir: m.dir, Device: name, Max: cache.DefaultMax, Delay: cache.DefaultDelay, Log: m.log})
	}
	m.devices[name] = d
	if m.shared != nil {
		m.shared.follow(name, func(e cache.Entry) { m.learn(name, e) })
	}
	return d
}

// Recall implements session.Memory. What was measured here comes first; what
// others know is a hint for an exploration.
func (m *tunerMemory) Recall(device string, key cache.Key, after uint64) (e cache.Entry, moment uint64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.device(device)
	if d == nil {
		return cache.Entry{}, 0, false
	}
	if d.file != nil && d.read == 0 {
		select {
		case <-d.file.Loaded():
			m.moment++
			d.read = m.moment
		default:
		}
	}
	own, known := d.ownEntry(key)
	foreign, also := d.foreign[key]
	newest := max(d.read, d.moments[key], session.FirstMoment+1)
	switch {
	case after == 0 && known:
		// What others know may follow: FirstMoment is before all of it.
		return own, session.FirstMoment, true
	case newest <= after:
		return cache.Entry{}, 0, false
	case also:
		return foreign, newest, true
	case known:
		return own, newest, true
	}
	return cache.Entry{}, 0, false
}

// ownEntry is what this process, or one before it, measured.
func (d *deviceMemory) ownEntry(key cache.Key) (cache.Entry, bool) {
	if d.file != nil {
		return d.file.Get(key)
	}
	e, ok := d.own[key]
	return e, ok
}

// Remember implements session.Memory.
func (m *tunerMemory) Remember(device string, e cache.Entry) {
	m.mu.Lock()
	d := m.device(device)
	if d != nil {
		m.note(d, e.Key)
		if d.file == nil {
			keep(d.own, e)
		} else if err := d.file.Put(e); err != nil {
			m.log.Warn("a tuner's result is not remembered", "reason", err)
		}
	}
	m.mu.Unlock()
	if d != nil && m.shared != nil {
		m.shared.share(device, e)
	}
}

// learn takes over what another worker shared. It was checked.
func (m *tunerMemory) learn(device string, e cache.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.devices[device]; d != nil {
		m.note(d, e.Key)
		keep(d.foreign, e)
	}
}

func (m *tunerMemory) note(d *deviceMemory, key cache.Key) {
	m.moment++
	if len(d.moments) >= 2*maxTunedEntries {
		clear(d.moments) // an entry known before counts as old news
	}
	d.moments[key] = m.moment
}

// keep puts an entry into a bounded map; any other makes room.
func keep(in map[cache.Key]cache.Entry, e cache.Entry) {
	if _, known := in[e.Key]; !known && len(in) >= maxTunedEntries {
		for k := range in {
			delete(in, k)
			break
		}
	}
	in[e.Key] = e
}

// close writes what has changed. What cannot be written is lost, with a warning: the next
// process measures it again, so a worker that was told to stop has not failed.
func (m *tunerMemory) close(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	closed := make(chan error, len(m.devices))
	n := 0
	for _, d := range m.devices {
		if d.file != nil {
			n++
			go func() { closed <- d.file.Close() }()
		}
	}
	for range n {
		var err error
		select {
		case err = <-closed:
		case <-ctx.Done():
			m.log.Warn("what the tuner learned last is lost: it was not written in time", "directory", m.dir)
			return
		}
		if err != nil {
			m.log.Warn("what the tuner learned last is lost", "directory", m.dir, "reason", err)
		}
	}
}
