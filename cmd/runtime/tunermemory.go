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
	maxTunedPlaces  = 320  // kinds of devices, each here or at a worker elsewhere: more than there may be workers
	maxTunedEntries = 4096 // of a kind of device here
	maxTunedOfOther = 256  // of a worker elsewhere
)

// sharer passes results to the other workers with the same kind of device.
type sharer interface {
	// follow begins to hand over what others share for a device.
	follow(device string, found func(cache.Entry))
	// share sends an entry. It does not wait for the server.
	share(device string, e cache.Entry)
}

// tunerMemory is what tuners begin from: a file for each kind of device here and for each worker
// elsewhere, and what other workers share. It never waits for
// the disk or the server.
type tunerMemory struct {
	dir    string // "": no files
	shared sharer // nil: nobody to share with
	log    *slog.Logger

	mu      sync.Mutex
	devices map[tunedPlace]*deviceMemory
	moment  uint64 // counts what became known
	full    bool   // a device more than there is room for was warned of
}

// tunedPlace is a kind of device, and the worker elsewhere that reports on it; "" for this process.
// Anybody can report launches under a name of his own and say that they were on any device. What a
// worker says is measurements to its own tuners and a hint to all others.
type tunedPlace struct{ kind, worker string }

// String names the file.
func (p tunedPlace) String() string {
	if p.worker == "" {
		return p.kind
	}
	return p.kind + "; worker " + p.worker
}

// most is how many entries are kept.
func (p tunedPlace) most() int {
	if p.worker == "" {
		return maxTunedEntries
	}
	return maxTunedOfOther
}

// deviceMemory is what is known of a place.
type deviceMemory struct {
	most    int          // entries of own and of foreign
	file    *cache.Cache // nil: none
	read    uint64       // moment at which the file was found to be read, 0 before
	own     map[cache.Key]cache.Entry
	foreign map[cache.Key]cache.Entry
	moments map[cache.Key]uint64
}

func newTunerMemory(dir string, shared sharer, log *slog.Logger) *tunerMemory {
	return &tunerMemory{dir: dir, shared: shared, log: log, devices: make(map[tunedPlace]*deviceMemory), moment: session.FirstMoment}
}

// Open begins to read what is known of a device here, so that it is there when its
// first launch is reported.
func (m *tunerMemory) Open(device string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.device(tunedPlace{kind: device})
}

// device is the memory of a place, nil if there is no room. m.mu is held.
func (m *tunerMemory) device(at tunedPlace) *deviceMemory {
	if d := m.devices[at]; d != nil || at.kind == "" {
		return d
	}
	if len(m.devices) == maxTunedPlaces {
		if !m.full {
			m.log.Warn("results for more kinds of devices, or more workers, are not remembered", "most", maxTunedPlaces, "device", at)
			m.full = true
		}
		return nil
	}
	d := &deviceMemory{
		most: at.most(), own: make(map[cache.Key]cache.Entry), foreign: make(map[cache.Key]cache.Entry), moments: make(map[cache.Key]uint64),
	}
	if m.dir != "" {
		d.file = cache.Open(cache.Options{Dir: m.dir, Device: at.String(), Max: d.most, Delay: cache.DefaultDelay, Log: m.log})
	}
	followed := false
	for other, beside := range m.devices {
		if other.kind == at.kind {
			d.inherit(beside)
			followed = true
			break
		}
	}
	m.devices[at] = d
	if m.shared != nil && !followed {
		m.shared.follow(at.kind, func(e cache.Entry) { m.learn(at.kind, e) })
	}
	return d
}

// inherit takes over the hints of another place with the same kind of device.
func (d *deviceMemory) inherit(from *deviceMemory) {
	for key, e := range from.foreign {
		if len(d.foreign) == d.most {
			return
		}
		d.foreign[key], d.moments[key] = e, from.moments[key]
	}
}

// Recall implements session.Memory for what is measured here.
func (m *tunerMemory) Recall(device string, key cache.Key, after uint64) (cache.Entry, uint64, bool) {
	return m.recall(tunedPlace{kind: device}, key, after)
}

// Remember implements session.Memory for what is measured here.
func (m *tunerMemory) Remember(device string, e cache.Entry) {
	m.remember(tunedPlace{kind: device}, e)
}

// Elsewhere is the memory for the tuners of a worker that is not local.
func (m *tunerMemory) Elsewhere(worker string) session.Memory { return elsewhere{m, worker} }

// elsewhere is the memory for the tuners of a worker that is not of this process.
type elsewhere struct {
	memory *tunerMemory
	worker string
}

func (e elsewhere) Recall(device string, key cache.Key, after uint64) (cache.Entry, uint64, bool) {
	return e.memory.recall(tunedPlace{device, e.worker}, key, after)
}

func (e elsewhere) Remember(device string, known cache.Entry) {
	e.memory.remember(tunedPlace{device, e.worker}, known)
}

// recall finds what is known. What was measured at a place comes first there; what others
// know is a hint for an exploration.
func (m *tunerMemory) recall(at tunedPlace, key cache.Key, after uint64) (e cache.Entry, moment uint64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.device(at)
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

// remember keeps what was measured at a place, and tells the other places with the same kind of
// device.
func (m *tunerMemory) remember(at tunedPlace, e cache.Entry) {
	m.mu.Lock()
	d := m.device(at)
	if d != nil {
		m.note(d, e.Key)
		if d.file == nil {
			d.keep(d.own, e)
		} else if err := d.file.Put(e); err != nil {
			m.log.Warn("a tuner's result is not remembered", "reason", err)
		}
		m.hint(at.kind, e, d)
	}
	m.mu.Unlock()
	if d != nil && m.shared != nil {
		m.shared.share(at.kind, e)
	}
}

// learn takes over what another worker shared. It was checked.
func (m *tunerMemory) learn(kind string, e cache.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hint(kind, e, nil)
}

// hint tells all places with a kind of device what somebody else measured. m.mu is held.
func (m *tunerMemory) hint(kind string, e cache.Entry, except *deviceMemory) {
	for at, d := range m.devices {
		if at.kind == kind && d != except {
			m.note(d, e.Key)
			d.keep(d.foreign, e)
		}
	}
}

func (m *tunerMemory) note(d *deviceMemory, key cache.Key) {
	m.moment++
	if len(d.moments) >= 2*d.most {
		clear(d.moments) // an entry known before counts as old news
	}
	d.moments[key] = m.moment
}

// keep puts an entry into a bounded map; any other makes room.
func (d *deviceMemory) keep(in map[cache.Key]cache.Entry, e cache.Entry) {
	if _, known := in[e.Key]; !known && len(in) >= d.most {
		for k := range in {
			delete(in, k)
			break
		}
	}
	in[e.Key] = e
}

// Close writes what has changed. What cannot be written is lost, with a warning: the next
// process measures it again, so a worker that was told to stop has not failed.
func (m *tunerMemory) Close(ctx context.Context) {
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
