package tuned

import (
	"context"
	"log/slog"
	"sync"

	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/session"
)

// Bounds of what is remembered beside the files, where there are none.
const (
	maxPlaces   = 320  // kinds of devices, each here or at a worker elsewhere: more than there may be workers
	maxEntries  = 4096 // of a kind of device here
	maxOfWorker = 256  // of a worker elsewhere
)

// Config says where results are kept.
type Config struct {
	Dir string // of a file for each kind of device; "": nothing outlives the process
	Log *slog.Logger
}

// Memory is what tuners begin from: a file for each kind of device here and for each
// worker elsewhere, and what other workers share. It never waits for the disk or the
// server. Its methods may be called from any goroutine.
type Memory struct {
	dir    string
	log    *slog.Logger
	bucket Bucket   // nil: nobody to share with
	warned sync.Map // kinds of devices of which something unsound in the bucket was warned of

	mu      sync.Mutex
	devices map[place]*deviceMemory
	moment  uint64 // counts what became known
	full    bool   // a device more than there is room for was warned of
}

// New returns a memory that knows nothing yet.
func New(c Config) *Memory {
	return &Memory{dir: c.Dir, log: c.Log, devices: make(map[place]*deviceMemory), moment: session.FirstMoment}
}

// place is a kind of device, and the worker elsewhere that reports on it; "" for this process.
// Anybody can report launches under a name of his own and say that they were on any device. What a
// worker says is measurements to its own tuners and a hint to all others.
type place struct{ kind, worker string }

// String names the file.
func (p place) String() string {
	if p.worker == "" {
		return p.kind
	}
	return p.kind + "; worker " + p.worker
}

// most is how many entries are kept.
func (p place) most() int {
	if p.worker == "" {
		return maxEntries
	}
	return maxOfWorker
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

// Open begins to read what is known of a device here, so that it is there when its
// first launch is reported.
func (m *Memory) Open(device string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.device(place{kind: device})
}

// device is the memory of a place, nil if there is no room. m.mu is held.
func (m *Memory) device(at place) *deviceMemory {
	if d := m.devices[at]; d != nil || at.kind == "" {
		return d
	}
	if len(m.devices) == maxPlaces {
		if !m.full {
			m.log.Warn("results for more kinds of devices, or more workers, are not remembered", "most", maxPlaces, "device", at)
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
	if m.bucket != nil && !followed {
		m.follow(at.kind)
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
func (m *Memory) Recall(device string, key cache.Key, after uint64) (cache.Entry, uint64, bool) {
	return m.recall(place{kind: device}, key, after)
}

// Remember implements session.Memory for what is measured here.
func (m *Memory) Remember(device string, e cache.Entry) {
	m.remember(place{kind: device}, e)
}

// Elsewhere is the memory for the tuners of a worker that is not local.
func (m *Memory) Elsewhere(worker string) session.Memory { return elsewhere{m, worker} }

// elsewhere is the memory for the tuners of a worker that is not of this process.
type elsewhere struct {
	memory *Memory
	worker string
}

func (e elsewhere) Recall(device string, key cache.Key, after uint64) (cache.Entry, uint64, bool) {
	return e.memory.recall(place{device, e.worker}, key, after)
}

func (e elsewhere) Remember(device string, known cache.Entry) {
	e.memory.remember(place{device, e.worker}, known)
}

// recall finds what is known. What was measured at a place comes first there; what others
// know is a hint for an exploration.
func (m *Memory) recall(at place, key cache.Key, after uint64) (e cache.Entry, moment uint64, ok bool) {
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
func (m *Memory) remember(at place, e cache.Entry) {
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
	bucket := m.bucket
	m.mu.Unlock()
	if d != nil && bucket != nil {
		m.share(bucket, at.kind, e)
	}
}

// learn takes over what another worker shared. It was checked.
func (m *Memory) learn(kind string, e cache.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hint(kind, e, nil)
}

// hint tells all places with a kind of device what somebody else measured. m.mu is held.
func (m *Memory) hint(kind string, e cache.Entry, except *deviceMemory) {
	for at, d := range m.devices {
		if at.kind == kind && d != except {
			m.note(d, e.Key)
			d.keep(d.foreign, e)
		}
	}
}

func (m *Memory) note(d *deviceMemory, key cache.Key) {
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
func (m *Memory) Close(ctx context.Context) {
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
