package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/graph"
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

// graphStore holds the graphs of a worker's queues on its device. The device is borrowed
// from the ring for each turn of a run or an upload; the ring's launches go on in between.
// Requests are carried out concurrently, but only one run at a time, because graphs share
// their kernels. Whoever uses a graph's buffers holds the graph.
type graphStore struct {
	borrow  func(func(gpu.Device) error) error
	budget  uint64        // bytes of device memory for graphs and jobs; 0: no bound
	advisor *graphAdvisor // is told what a queue's graphs take, and runs jobs
	repair  func()        // is called when the device was lost
	longest time.Duration // of a run; 0: no limit
	joins   bool          // that come over NATS are run
	log     *slog.Logger
	reading chan struct{}                    // has the token of who reads a file
	host    func() (free uint64, known bool) // memory of the host

	mu      sync.Mutex // over what follows; nobody waits for the device with it
	changed chan struct{}
	device  gpu.Device
	kernels *frontier.Kernels
	graphs  map[graphKey]*storedGraph
	runs    []*graphRunning // in the order of their turns
	uploads map[uploadKey]*graphUpload
	late    map[uploadKey]bool // whose parts were dropped
	results uint64             // runs and facts so far
	facts   []keptFacts        // in the order in which they came
}

// newGraphStore makes a store ready for use; its settings are set already.
func newGraphStore(s *graphStore) *graphStore {
	s.reading, s.changed, s.host = make(chan struct{}, 1), make(chan struct{}), worker.HostMemory
	s.graphs, s.uploads, s.late = make(map[graphKey]*storedGraph), make(map[uploadKey]*graphUpload), make(map[uploadKey]bool)
	return s
}

type graphKey struct{ queue, name string }

// storedGraph is a graph on the device.
type storedGraph struct {
	pair     graph.Pair
	device   gpu.Device
	resident *frontier.Graph

	// The store's mutex guards what follows.
	held    bool   // by who uses resident
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
func (s *graphStore) when(ctx context.Context, ready func() bool) error {
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
func (s *graphStore) update(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
	s.change()
}

// change wakes those who wait for a change. Called with mu held.
func (s *graphStore) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// find finds a graph by its name.
func (s *graphStore) find(key graphKey) (*storedGraph, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.graphs[key]
	if g == nil || g.leaving {
		return nil, fmt.Errorf("%w: queue %s has no graph %s on the device", natsio.ErrNoGraph, key.queue, key.name)
	}
	return g, nil
}

// drop frees a graph, and ends the runs on it.
func (s *graphStore) drop(ctx context.Context, key graphKey) error {
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
func (s *graphStore) remove(ctx context.Context, key graphKey) error {
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
func (s *graphStore) free(g *storedGraph) error {
	return s.on(func(dev gpu.Device) error {
		if dev != g.device {
			return nil // lost with its device
		}
		return g.resident.Close()
	})
}

// on borrows the device. Graphs that were on another device are gone.
func (s *graphStore) on(fn func(dev gpu.Device) error) error {
	var lent gpu.Device
	err := s.borrow(func(dev gpu.Device) error {
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
func (s *graphStore) turn(g *storedGraph, use func() error) error {
	return s.on(func(dev gpu.Device) error {
		if dev != g.device {
			return errGraphLost
		}
		return use()
	})
}

// meet notices which device is in use.
func (s *graphStore) meet(dev gpu.Device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if dev != s.device {
		s.forget()
		s.device, s.kernels = dev, frontier.NewKernels(dev)
	}
}

// lose notes that a device is lost, and has it repaired.
func (s *graphStore) lose(dev gpu.Device) {
	s.mu.Lock()
	if dev == s.device {
		s.forget()
	}
	s.mu.Unlock()
	s.repair()
}

// forget drops the graphs that were lost with their device. Called with mu held.
func (s *graphStore) forget() {
	lost := s.graphs
	s.device, s.kernels, s.graphs = nil, nil, make(map[graphKey]*storedGraph)
	for key := range lost {
		s.log.Warn("graph lost with its device; load it again", "queue", key.queue, "graph", key.name)
		s.inform(key.queue)
	}
	s.change()
}

// release frees the buffers that jobs left for the next one, on graphs that nobody holds.
// The caller has the device.
func (s *graphStore) release() error {
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
		errs = append(errs, g.resident.Release())
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

// close frees the graphs, while the device is still there. If a request has not ended when
// the time for draining is over, what it uses is freed with the device: such a request may be
// waiting for the device, so whoever has the device must not wait for the request.
func (s *graphStore) close() error {
	s.mu.Lock()
	for key, u := range s.uploads {
		if u.timer.Stop(); !u.whole {
			delete(s.uploads, key)
		}
	}
	dev, kernels := s.device, s.kernels
	busy := len(s.runs) > 0 || len(s.uploads) > 0
	for _, g := range s.graphs {
		busy = busy || g.held
	}
	graphs := slices.Collect(maps.Values(s.graphs))
	s.mu.Unlock()
	if dev == nil || busy {
		return nil
	}
	return s.borrow(func(now gpu.Device) error {
		if now != dev {
			return nil
		}
		var errs []error
		for _, g := range graphs {
			errs = append(errs, g.resident.Close())
		}
		return errors.Join(append(errs, kernels.Close())...)
	})
}

// listedGraph is a row of the answer to a list.
type listedGraph struct {
	Name     string `json:"name"`
	Nodes    int    `json:"nodes"`
	Edges    uint64 `json:"edges"`
	Directed bool   `json:"directed"`
	Weighted bool   `json:"weighted"`
	Bytes    uint64 `json:"bytes"`
}

func (s *graphStore) listed(queue string) []listedGraph {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := []listedGraph{}
	for key, g := range s.graphs {
		if key.queue == queue && !g.leaving {
			rows = append(rows, listedGraph{key.name, g.pair.Out.Nodes(), g.pair.Edges(), g.pair.Directed(), g.pair.Out.Weights != nil, g.pair.Bytes()})
		}
	}
	slices.SortFunc(rows, func(a, b listedGraph) int { return strings.Compare(a.Name, b.Name) })
	return rows
}
