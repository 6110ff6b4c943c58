package graphs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/decisions"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/kernelcache"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// Bounds of a worker's graphs.
const (
	maxGraphs    = 64
	maxGraphRuns = 16 // under way or waiting for their turn
	maxQueueRuns = 8  // of one queue among them

	// maxGraphRun is the longest run. All others wait meanwhile.
	maxGraphRun = 5 * time.Minute

	// maxGraphLevels is the most levels of a run: each is a row of its report and an entry of
	// the decision log. Road networks have some thousands.
	maxGraphLevels = 1 << 17
)

// Config says what a store works with.
type Config struct {
	Worker  string
	Policy  *policy.Config
	System  *actors.System                                          // whose queues decide
	Publish func(queue string, g *telemetry.Graph) telemetry.Header // tells everybody of a queue's graphs; numbers the record
	Log     *slog.Logger
	// Decisions is the log of decisions, nil for none.
	Decisions *decisions.Log
	// Borrow lends the device for a turn. Repair is called when the device was lost.
	Borrow func(func(dev gpu.Device) error) error
	Repair func()
	// Programs has the programs of jobs, on whichever device is lent. The store does not
	// close it.
	Programs *kernelcache.Store
	// Budget is the most bytes of device memory for graphs and jobs; 0 is no bound.
	Budget uint64
	// Files has the graph files that clients send.
	Files Files
}

// Files are graph files on their way to a worker, by names that their senders chose.
type Files interface {
	Graph(ctx context.Context, object string) (io.ReadCloser, error)
	DropGraph(ctx context.Context, object string) error
}

// Store holds the graphs of a worker's queues on its device. The device is borrowed
// from the ring for each turn of a run or an upload; the ring's launches go on in between.
// Requests are carried out concurrently, but only one run at a time, because graphs share
// their kernels. Whoever uses a graph's buffers holds the graph.
type Store struct {
	Config
	advisor *advisor // is told what a queue's graphs take, and has jobs decided
	longest time.Duration
	reading chan struct{}                    // has the token of who reads a file
	host    func() (free uint64, known bool) // memory of the host

	mu      sync.Mutex // over what follows; nobody waits for the device with it
	changed chan struct{}
	device  gpu.Device
	graphs  map[graphKey]*storedGraph
	runs    []*running          // in the order of their turns
	loading map[graphKey]uint64 // bytes that graphs take which are being loaded
	results uint64              // runs so far
}

// NewStore is a store without graphs.
func NewStore(cfg Config) *Store {
	return &Store{
		Config:  cfg,
		advisor: &advisor{system: cfg.System, worker: cfg.Worker, log: cfg.Decisions, patience: decisionPatience, publish: cfg.Publish},
		longest: maxGraphRun, reading: make(chan struct{}, 1), changed: make(chan struct{}), host: worker.HostMemory,
		graphs: make(map[graphKey]*storedGraph), loading: make(map[graphKey]uint64),
	}
}

type graphKey struct{ queue, name string }

// storedGraph is a graph on the device.
type storedGraph struct {
	pair   graph.Pair
	device gpu.Device
	graph  *frontier.Graph

	// The store's mutex guards what follows.
	held    bool   // by who uses graph
	leaving bool   // is freed as soon as nobody holds it
	kept    uint64 // bytes that the last job left for the next
	result  []byte
	number  uint64 // of the result
}

// bytes is the device memory that the graph takes, 0 for a nil graph.
func (g *storedGraph) bytes() uint64 {
	if g == nil {
		return 0
	}
	return g.pair.Bytes()
}

// when waits until ready returns true or ctx ends. ready is called with mu held. The call
// that returns true may change what mu guards, and is the last.
func (s *Store) when(ctx context.Context, ready func() bool) error {
	for {
		s.mu.Lock()
		if ready() {
			s.change()
			s.mu.Unlock()
			return nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// update changes what mu guards, and wakes those who wait for a change.
func (s *Store) update(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
	s.change()
}

// change wakes those who wait for a change. Called with mu held.
func (s *Store) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// find finds a graph by its name.
func (s *Store) find(key graphKey) (*storedGraph, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.graphs[key]
	if g == nil || g.leaving {
		return nil, fmt.Errorf("%w: queue %s has no graph %s on the device", natsio.ErrNoGraph, key.queue, key.name)
	}
	return g, nil
}

// drop frees a graph, and ends the runs on it.
func (s *Store) drop(ctx context.Context, key graphKey) error {
	g, err := s.find(key)
	if err != nil {
		return err
	}
	s.update(func() {
		g.leaving = true
		for _, r := range s.runs {
			if r.key == key {
				r.stop(errGraphDropped)
			}
		}
	})
	return s.remove(ctx, key)
}

// remove frees a graph as soon as nobody holds it.
func (s *Store) remove(ctx context.Context, key graphKey) error {
	s.mu.Lock()
	g := s.graphs[key]
	if g != nil {
		g.leaving = true
	}
	s.mu.Unlock()
	mine := false
	err := s.when(ctx, func() bool {
		if g == nil || s.graphs[key] != g {
			return true // gone
		}
		mine = !g.held
		g.held = true
		return mine
	})
	if err != nil {
		s.update(func() { g.leaving = false })
		return err
	}
	if !mine {
		return nil
	}
	err = s.free(g)
	s.update(func() {
		if s.graphs[key] == g {
			delete(s.graphs, key)
		}
	})
	s.tell(key.queue)
	return err
}

// free gives the device memory of a graph back.
func (s *Store) free(g *storedGraph) error {
	return s.on(func(dev gpu.Device) error {
		if dev != g.device {
			return nil // lost with its device
		}
		return g.graph.Close()
	})
}

// on borrows the device. Graphs that were on another device are gone.
func (s *Store) on(fn func(dev gpu.Device) error) error {
	var lent gpu.Device
	err := s.Borrow(func(dev gpu.Device) error {
		lent = dev
		s.meet(dev)
		return fn(dev)
	})
	if lent != nil && gpu.Lost(err) {
		s.lose(lent)
	}
	return err
}

// turn borrows the device for one turn of a run or an upload; the ring's launches go
// between the turns.
func (s *Store) turn(g *storedGraph, use func() error) error {
	return s.on(func(dev gpu.Device) error {
		if dev != g.device {
			return errGraphLost
		}
		return use()
	})
}

// meet notices which device is in use.
func (s *Store) meet(dev gpu.Device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if dev != s.device {
		s.forget()
		s.device = dev
	}
}

// lose notes that a device is lost, and has it repaired.
func (s *Store) lose(dev gpu.Device) {
	s.mu.Lock()
	if dev == s.device {
		s.forget()
	}
	s.mu.Unlock()
	s.Repair()
}

// forget drops the graphs that were lost with their device. Called with mu held.
func (s *Store) forget() {
	lost := s.graphs
	s.device, s.graphs = nil, make(map[graphKey]*storedGraph)
	for key := range lost {
		s.Log.Warn("graph lost with its device; load it again", "queue", key.queue, "graph", key.name)
		s.inform(key.queue)
	}
	s.change()
}

// release frees the buffers that jobs left for the next one, on graphs that nobody holds.
// The caller has the device.
func (s *Store) release() error {
	var idle []*storedGraph
	queues := make(map[string]bool)
	s.update(func() {
		for key, g := range s.graphs {
			if !g.held && g.kept > 0 {
				g.held = true
				idle, queues[key.queue] = append(idle, g), true
			}
		}
	})
	var errs []error
	for _, g := range idle {
		errs = append(errs, g.graph.Release())
	}
	s.update(func() {
		for _, g := range idle {
			g.held, g.kept = false, 0
		}
		for queue := range queues {
			s.inform(queue)
		}
	})
	return errors.Join(errs...)
}

// Close frees the graphs, while the device is still there. If a request has not ended when
// the time for draining is over, what it uses is freed with the device: such a request may be
// waiting for the device, so whoever has the device must not wait for the request.
func (s *Store) Close() error {
	s.mu.Lock()
	dev := s.device
	busy := len(s.runs) > 0 || len(s.loading) > 0
	for _, g := range s.graphs {
		busy = busy || g.held
	}
	graphs := slices.Collect(maps.Values(s.graphs))
	s.mu.Unlock()
	if dev == nil || busy {
		return nil
	}
	return s.Borrow(func(now gpu.Device) error {
		if now != dev {
			return nil
		}
		var errs []error
		for _, g := range graphs {
			errs = append(errs, g.graph.Close())
		}
		return errors.Join(errs...)
	})
}

// Listed is a row of the answer to a list.
type Listed struct {
	Name     string `json:"name"`
	Nodes    int    `json:"nodes"`
	Edges    uint64 `json:"edges"`
	Directed bool   `json:"directed"`
	Weighted bool   `json:"weighted"`
	Bytes    uint64 `json:"bytes"`
}

func (s *Store) listed(queue string) []Listed {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := []Listed{}
	for key, g := range s.graphs {
		if key.queue == queue && !g.leaving {
			rows = append(rows, Listed{key.name, g.pair.Out.Nodes(), g.pair.Edges(), g.pair.Directed(), g.pair.Out.Weights != nil, g.pair.Bytes()})
		}
	}
	slices.SortFunc(rows, func(a, b Listed) int { return strings.Compare(a.Name, b.Name) })
	return rows
}
