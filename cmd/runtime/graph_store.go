package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"ringmaster/megakernel"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/graph"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// Bounds of a worker's graphs.
const (
	maxGraphs     = 64
	maxGraphFile  = 256 << 20 // bytes of a file that comes over NATS
	maxGraphText  = 1 << 30   // bytes of it unpacked
	maxGraphEdges = 1 << 26   // edges and nodes that it may list

	// maxGraphRun is the longest run. Launches go on beside it, other requests about graphs wait.
	maxGraphRun = 5 * time.Minute

	// maxGraphLevels of a run: each is a row of its report and an entry of the decision log.
	// Road networks have some thousands.
	maxGraphLevels = 1 << 17
)

// graphStore holds the graphs of a worker's queues on its device. The device is
// borrowed from the ring for each upload and for each turn of a run; launches go on in between.
type graphStore struct {
	borrow  func(func(megakernel.Device) error) error
	budget  uint64        // bytes of device memory for graphs and jobs; 0: no bound
	advisor *graphAdvisor // is told what a queue's graphs take, and runs jobs
	repair  func()        // is called when the device was lost
	longest time.Duration // of a run; 0: no limit
	log     *slog.Logger

	mu      sync.Mutex // over all: requests come one at a time, and the device is gone only between them
	device  megakernel.Device
	kernels *frontier.Kernels
	graphs  map[graphKey]*storedGraph
	parts   graphUpload
	results uint64 // runs so far
}

type graphKey struct{ queue, name string }

type storedGraph struct {
	pair     graph.Pair
	resident *frontier.Resident
	result   []byte
	number   uint64 // of the result
}

// graphUpload is a file on its way. A worker takes one at a time; another one takes its place.
type graphUpload struct {
	key  graphKey
	data []byte
}

// Answer implements natsio.Graphs.
func (s *graphStore) Answer(ctx context.Context, queue string, r *telemetry.Resident) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := graphKey{queue, r.Name}
	err := s.answer(ctx, key, r)
	if megakernel.Lost(err) {
		s.forget()
		s.repair()
	}
	return err
}

func (s *graphStore) answer(ctx context.Context, key graphKey, r *telemetry.Resident) error {
	switch r.Ask {
	case telemetry.ResidentLoad:
		return s.take(key, r)
	case telemetry.ResidentList:
		return s.list(key.queue, r)
	}
	g := s.graphs[key]
	if g == nil {
		return fmt.Errorf("%w: queue %s has no graph %s on the device", natsio.ErrNoGraph, key.queue, key.name)
	}
	switch r.Ask {
	case telemetry.ResidentDrop:
		return s.drop(key)
	case telemetry.ResidentRun:
		return s.run(ctx, key, g, r)
	}
	if g.number != r.Result || r.Result == 0 || r.Offset > uint64(len(g.result)) {
		return fmt.Errorf("%w: graph %s has no result %d at %d; a graph keeps that of its last run", natsio.ErrNoGraph, key.name, r.Result, r.Offset)
	}
	end := min(r.Offset+telemetry.MaxGraphPart, uint64(len(g.result)))
	r.Data = append(r.Data[:0], g.result[r.Offset:end]...)
	return nil
}

// take keeps a part of a file, and loads the graph when it was the last.
func (s *graphStore) take(key graphKey, r *telemetry.Resident) error {
	if r.Offset == 0 {
		s.parts = graphUpload{key: key}
	}
	p := &s.parts
	switch {
	case r.Total > maxGraphFile:
		return fmt.Errorf("%w: a file of %d bytes; %d may come over NATS", natsio.ErrGraphTooLarge, r.Total, maxGraphFile)
	case p.key != key || r.Offset != uint64(len(p.data)):
		return fmt.Errorf("%w: the part at %d follows nothing; another upload took its place, begin again", natsio.ErrGraphRequest, r.Offset)
	case uint64(len(p.data)+len(r.Data)) > r.Total:
		return fmt.Errorf("%w: parts of %d bytes for a file of %d", natsio.ErrGraphRequest, len(p.data)+len(r.Data), r.Total)
	}
	p.data = append(p.data, r.Data...)
	r.Data = r.Data[:0]
	if uint64(len(p.data)) < r.Total {
		return nil
	}
	data := p.data
	s.parts = graphUpload{}
	pair, _, err := graph.Read(bytes.NewReader(data), graph.Options{Directed: r.Directed}, graph.Limits{Edges: maxGraphEdges, Nodes: maxGraphEdges, Bytes: maxGraphText})
	if err != nil {
		return fmt.Errorf("%w: %w", natsio.ErrGraphRequest, err)
	}
	return s.load(key, pair)
}

// load puts a graph on the device, in the place of one of the same name.
func (s *graphStore) load(key graphKey, pair graph.Pair) error {
	used, others := uint64(0), 0
	for other, g := range s.graphs {
		if other != key {
			used, others = used+g.pair.Bytes(), others+1
		}
	}
	switch {
	case others >= maxGraphs:
		return fmt.Errorf("%w: %d graphs are on the device, drop one", natsio.ErrGraphTooLarge, others)
	case s.budget > 0 && used+pair.Bytes() > s.budget:
		return fmt.Errorf("%w: it takes %d bytes, %d are taken and the worker's budget is %d", natsio.ErrGraphTooLarge, pair.Bytes(), used, s.budget)
	}
	err := s.on(func(dev megakernel.Device) error {
		if err := frontier.Fits(dev, uint64(pair.Out.Nodes()), uint64(pair.Out.Edges())); err != nil {
			return fmt.Errorf("%w: %w", natsio.ErrGraphTooLarge, err)
		}
		if old := s.graphs[key]; old != nil {
			delete(s.graphs, key)
			if err := old.resident.Close(); err != nil {
				return err
			}
		}
		if err := s.release(nil); err != nil {
			return err
		}
		resident, err := frontier.Load(dev, pair, frontier.Options{Kernels: s.kernels})
		if err == nil {
			s.graphs[key] = &storedGraph{pair: pair, resident: resident}
		}
		return err
	})
	s.tell(key.queue)
	return err
}

func (s *graphStore) drop(key graphKey) error {
	g := s.graphs[key]
	err := s.on(func(megakernel.Device) error {
		if s.graphs[key] != g {
			return nil // lost with its device
		}
		delete(s.graphs, key)
		return g.resident.Close()
	})
	s.tell(key.queue)
	return err
}

// on borrows the device. Graphs of another device than this are gone.
func (s *graphStore) on(fn func(dev megakernel.Device) error) error {
	return s.borrow(func(dev megakernel.Device) error {
		if dev != s.device {
			s.forget()
			s.device, s.kernels = dev, frontier.NewKernels(dev)
		}
		return fn(dev)
	})
}

// forget drops what was lost with its device.
func (s *graphStore) forget() {
	lost := s.graphs
	s.device, s.kernels, s.graphs = nil, nil, make(map[graphKey]*storedGraph)
	for key := range lost {
		s.log.Warn("graph lost with its device; load it again", "queue", key.queue, "graph", key.name)
		s.tell(key.queue)
	}
}

// tell has the queue's decisions know what its graphs take on the device.
func (s *graphStore) tell(queue string) { s.advisor.rest(queue, s.rest(queue)) }

// rest is the memory of a queue's graphs with what the last job left for the next.
func (s *graphStore) rest(queue string) graphMemory {
	m := s.memory(queue, s.left())
	for key, g := range s.graphs {
		if key.queue == queue {
			m.resident += g.resident.Kept()
		}
	}
	return m
}

// release gives back what jobs on other graphs left for the next, so that there is the room of one job
// beside the graphs. Called with the device.
func (s *graphStore) release(but *storedGraph) error {
	for key, g := range s.graphs {
		if g == but || g.resident.Kept() == 0 {
			continue
		}
		if err := g.resident.Release(); err != nil {
			return err
		}
		s.tell(key.queue)
	}
	return nil
}

// left is what the budget leaves beside all graphs, 0 if there is no budget.
func (s *graphStore) left() uint64 {
	if s.budget == 0 {
		return 0
	}
	used := uint64(0)
	for _, g := range s.graphs {
		used += g.pair.Bytes()
	}
	return max(s.budget, used+1) - used
}

// memory is that of a queue's graphs, and of jobs within what is left for them; 0 is no bound.
func (s *graphStore) memory(queue string, left uint64) graphMemory {
	m := graphMemory{}
	for key, g := range s.graphs {
		if key.queue == queue {
			m.resident += g.pair.Bytes()
		}
	}
	if left > 0 {
		m.budget = m.resident + left
	}
	return m
}

// close frees the graphs; the device is still there.
func (s *graphStore) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.device == nil {
		return nil
	}
	return s.borrow(func(dev megakernel.Device) error {
		if dev != s.device {
			return nil
		}
		var errs []error
		for _, g := range s.graphs {
			errs = append(errs, g.resident.Close())
		}
		return errors.Join(append(errs, s.kernels.Close())...)
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
	rows := []listedGraph{}
	for key, g := range s.graphs {
		if key.queue == queue {
			rows = append(rows, listedGraph{key.name, g.pair.Out.Nodes(), g.pair.Edges(), g.pair.Directed(), g.pair.Out.Weights != nil, g.pair.Bytes()})
		}
	}
	slices.SortFunc(rows, func(a, b listedGraph) int { return strings.Compare(a.Name, b.Name) })
	return rows
}
