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
	maxGraphs       = 256 // of one queue a quarter of what the others leave, as of what follows
	maxGraphLoads   = 32  // waiting
	maxGraphRuns    = 32  // under way or waiting
	maxRunsUnderWay = 8   // one of a queue at most; each has buffers of its own on the device

	// maxGraphRun is the longest run. The other runs of its queue wait meanwhile.
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
// Of each queue there is one run at a time, and runs of different queues take turns. Beside them
// there is one load, because reading a file takes many times its size.
//
// A graph is found as long as it is in the map. The run that walks it alone uses its
// buffers: whoever takes it out of the map meanwhile leaves it to the run to free it.
// Buffers of other graphs are freed by whoever has the device.
type Store struct {
	Config
	advisor *advisor                         // is told what a queue's graphs take, and has jobs decided
	host    func() (free uint64, known bool) // memory of the host
	turns   chan struct{}                    // has the token of the run that has the device, or waits for it
	loads   *line

	mu        sync.Mutex // over what follows; nobody waits for the device with it
	device    gpu.Device
	graphs    map[graphKey]*storedGraph
	entered   map[string]int      // runs that wait or are under way, by queue
	line      []*waitingRun       // those that wait, in order of arrival
	runs      map[string]*running // those under way, by queue
	begunRuns uint64              // so far
	lastRun   map[string]uint64   // the number of the last one, by queue that has entered
	loading   uint64              // bytes of the graph that is being loaded
	results   uint64              // so far
}

// newStore is a store without graphs.
func newStore(cfg Config) *Store {
	return &Store{
		Config:  cfg,
		advisor: &advisor{system: cfg.System, worker: cfg.Worker, log: cfg.Decisions, patience: decisionPatience, publish: cfg.Publish},
		host:    worker.HostMemory, turns: make(chan struct{}, 1), loads: newLine(),
		graphs: make(map[graphKey]*storedGraph), entered: make(map[string]int),
		runs: make(map[string]*running), lastRun: make(map[string]uint64),
	}
}

type graphKey struct{ queue, name string }

// storedGraph is a graph on the device.
type storedGraph struct {
	pair   graph.Pair
	device gpu.Device
	graph  *frontier.Graph

	// The store's mutex guards what follows.
	kept   uint64 // bytes that the last job left for the next
	result []byte
	number uint64 // of the result
}

// bytes is the device memory that the graph takes, 0 for a nil graph.
func (g *storedGraph) bytes() uint64 {
	if g == nil {
		return 0
	}
	return g.pair.Bytes()
}

// find finds a graph by its name.
func (s *Store) find(key graphKey) (*storedGraph, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.graphs[key]
	if g == nil {
		return nil, noGraph(key)
	}
	return g, nil
}

// drop frees a graph. If a run walks it, endRun says whether the run is ended, which then frees
// the graph, or the graph stays.
func (s *Store) drop(key graphKey, endRun bool) error {
	s.mu.Lock()
	g, walked := s.graphs[key], s.walked(key)
	if !walked || endRun {
		delete(s.graphs, key)
	}
	if walked && endRun {
		s.runs[key.queue].stop(errGraphDropped)
	}
	s.mu.Unlock()
	switch {
	case g == nil:
		return noGraph(key)
	case walked && endRun:
		return nil
	case walked:
		return errRoomTaken
	}
	err := s.free(g)
	s.tell(key.queue)
	return err
}

// walked reports whether a run is under way on a graph that can be found. Called with mu held.
func (s *Store) walked(key graphKey) bool {
	run := s.runs[key.queue]
	return run != nil && run.graph != nil && run.graph == s.graphs[key]
}

func noGraph(key graphKey) error {
	return fmt.Errorf("%w: queue %s has no graph %s on the device", natsio.ErrNoGraph, key.queue, key.name)
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
}

// release frees the buffers that jobs left for the next one, on graphs that no run walks.
// The caller has the device.
func (s *Store) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for key, g := range s.graphs {
		if g.kept > 0 && !s.walked(key) {
			errs = append(errs, g.graph.Release())
			g.kept = 0
			s.inform(key.queue)
		}
	}
	return errors.Join(errs...)
}

// Close frees the graphs, while the device is still there. If a request has not ended when
// the time for draining is over, what it uses is freed with the device: such a request may be
// waiting for the device, so whoever has the device must not wait for the request.
func (s *Store) Close() error {
	s.mu.Lock()
	dev := s.device
	busy := len(s.runs) > 0 || s.loading > 0
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
		if key.queue == queue {
			rows = append(rows, Listed{key.name, g.pair.Out.Nodes(), g.pair.Edges(), g.pair.Directed(), g.pair.Out.Weights != nil, g.pair.Bytes()})
		}
	}
	slices.SortFunc(rows, func(a, b Listed) int { return strings.Compare(a.Name, b.Name) })
	return rows
}
