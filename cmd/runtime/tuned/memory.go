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

	mu     sync.Mutex
	places map[place]*measured
	news   map[string]map[cache.Key]news // by kind of device
	moment uint64                        // counts what became known
	full   bool                          // a place more than there is room for was warned of
}

// New returns a memory that knows nothing yet.
func New(c Config) *Memory {
	return &Memory{dir: c.Dir, log: c.Log, places: make(map[place]*measured), news: make(map[string]map[cache.Key]news), moment: session.FirstMoment}
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

// measured is what was measured at a place, by this process or one before it.
type measured struct {
	file    *cache.Cache              // nil: none
	read    uint64                    // moment at which the file was found to be read, 0 before
	entries map[cache.Key]cache.Entry // without a file
}

// entry is what was measured under a key.
func (p *measured) entry(key cache.Key) (cache.Entry, bool) {
	if p.file != nil {
		return p.file.Get(key)
	}
	e, ok := p.entries[key]
	return e, ok
}

// news is what somebody with a kind of device said last, at a moment: a hint to all that have one.
type news struct {
	cache.Entry
	moment uint64
}

// Open begins to read what is known of a device here, so that it is there when its
// first launch is reported.
func (m *Memory) Open(device string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.place(place{kind: device})
}

// place is what was measured at a place, nil if there is no room. m.mu is held.
func (m *Memory) place(at place) *measured {
	if p := m.places[at]; p != nil || at.kind == "" {
		return p
	}
	if len(m.places) == maxPlaces {
		if !m.full {
			m.log.Warn("results for more kinds of devices, or more workers, are not remembered", "most", maxPlaces, "device", at)
			m.full = true
		}
		return nil
	}
	p := &measured{entries: make(map[cache.Key]cache.Entry)}
	if m.dir != "" {
		p.file = cache.Open(cache.Options{Dir: m.dir, Device: at.String(), Max: at.most(), Delay: cache.DefaultDelay, Log: m.log})
	}
	m.places[at] = p
	if m.news[at.kind] == nil {
		m.news[at.kind] = make(map[cache.Key]news)
		if m.bucket != nil {
			m.follow(at.kind)
		}
	}
	return p
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

// recall finds what is known. What was measured at a place comes first there; what is news
// is a hint for an exploration.
func (m *Memory) recall(at place, key cache.Key, after uint64) (cache.Entry, uint64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.place(at)
	if p == nil {
		return cache.Entry{}, 0, false
	}
	if p.file != nil && p.read == 0 {
		select {
		case <-p.file.Loaded():
			m.moment++
			p.read = m.moment
		default:
		}
	}
	own, known := p.entry(key)
	if known && after == 0 {
		return own, session.FirstMoment, true // which is before all news
	}
	if said, ok := m.news[at.kind][key]; ok && said.moment > after {
		return said.Entry, said.moment, true
	}
	return own, p.read, known && p.read > after
}

// remember keeps what was measured at a place, and tells all others with the same kind of device.
func (m *Memory) remember(at place, e cache.Entry) {
	m.mu.Lock()
	p := m.place(at)
	bucket := m.bucket
	if p != nil {
		if p.file == nil {
			keep(p.entries, e.Key, e, at.most())
		} else if err := p.file.Put(e); err != nil {
			m.log.Warn("a tuner's result is not remembered", "error", err)
		}
		m.tell(at.kind, e)
	}
	m.mu.Unlock()
	if p != nil && bucket != nil {
		m.share(bucket, at.kind, e)
	}
}

// learn takes over what another worker shared. It was checked.
func (m *Memory) learn(kind string, e cache.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tell(kind, e)
}

// tell makes news of what somebody measured. m.mu is held.
func (m *Memory) tell(kind string, e cache.Entry) {
	m.moment++
	keep(m.news[kind], e.Key, news{e, m.moment}, maxEntries)
}

// keep puts a value into a bounded map; any other makes room.
func keep[V any](in map[cache.Key]V, key cache.Key, value V, most int) {
	if _, known := in[key]; !known && len(in) >= most {
		for k := range in {
			delete(in, k)
			break
		}
	}
	in[key] = value
}

// Close writes what has changed. What cannot be written is lost, with a warning: the next
// process measures it again, so a worker that was told to stop has not failed.
func (m *Memory) Close(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	closed := make(chan error, len(m.places))
	n := 0
	for _, p := range m.places {
		if p.file != nil {
			n++
			go func() { closed <- p.file.Close() }()
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
			m.log.Warn("what the tuner learned last is lost", "directory", m.dir, "error", err)
		}
	}
}
