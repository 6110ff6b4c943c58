package graphs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/graph"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// Bounds of a file that arrives over NATS, beside its size.
const (
	maxGraphText  = 1 << 30 // bytes of it unpacked
	maxGraphEdges = 1 << 26 // edges and nodes that it may list
)

// dropPatience is how long deleting a file that was read may take. It expires anyway.
const dropPatience = 5 * time.Second

// load loads a graph from the file that a client has sent, and deletes the file. A graph of the same name is replaced.
func (s *Store) load(ctx context.Context, key graphKey, r *telemetry.GraphRequest) error {
	if err := s.reserve(key); err != nil {
		return err
	}
	defer s.update(func() { delete(s.loading, key) })
	pair, err := s.read(ctx, r)
	if err != nil {
		return err
	}
	return s.put(ctx, key, pair)
}

// reserve notes that a graph is being loaded.
func (s *Store) reserve(key graphKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.loading[key]; there {
		return fmt.Errorf("%w: a file for graph %s of queue %s is being loaded", natsio.ErrGraphBusy, key.name, key.queue)
	}
	s.loading[key] = 0
	return nil
}

// read reads a graph file and deletes it. One file is read at a time: it takes many times its size meanwhile.
func (s *Store) read(ctx context.Context, r *telemetry.GraphRequest) (pair graph.Pair, err error) {
	select {
	case s.reading <- struct{}{}:
	case <-ctx.Done():
		return pair, context.Cause(ctx)
	}
	defer func() { <-s.reading }()
	file, err := s.Files.Graph(ctx, r.Object)
	if err != nil {
		return pair, err
	}
	defer func() {
		_ = file.Close() // whatever was wrong with it, reading has said
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropPatience)
		defer cancel()
		if failed := s.Files.DropGraph(ctx, r.Object); failed != nil {
			s.Log.Warn("a graph file that was read stays in the object store until it expires", "object", r.Object, "error", failed)
		}
	}()
	pair, _, err = graph.Read(file, graph.Options{Directed: r.Directed, Loops: r.Loops}, graph.Limits{Edges: maxGraphEdges, Nodes: maxGraphEdges, Bytes: maxGraphText})
	if err == nil {
		_, err = io.Copy(io.Discard, file) // whose end says that it is what was sent
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return pair, context.Cause(ctx)
	case err != nil:
		return pair, fmt.Errorf("%w: %w", natsio.ErrGraphRequest, err)
	}
	return pair, nil
}

// put puts a graph on the device, where it replaces one of the same name.
func (s *Store) put(ctx context.Context, key graphKey, pair graph.Pair) error {
	freed, err := s.admit(key, pair.Bytes())
	if err != nil {
		return err
	}
	if err := s.fits(pair, freed); err != nil {
		return err
	}
	if freed > 0 {
		if err := s.remove(ctx, key); err != nil {
			return err
		}
	}
	if err := s.when(ctx, func() bool { return s.Budget == 0 || s.used()+s.running() <= s.Budget }); err != nil {
		return err
	}
	g := &storedGraph{pair: pair}
	err = s.on(func(dev gpu.Device) error {
		s.mu.Lock()
		g.device = dev
		s.mu.Unlock()
		return s.release()
	})
	if err != nil {
		return err
	}
	g.graph, err = frontier.Load(g.device, pair, frontier.Options{Programs: s.Programs, Turn: func(use func() error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return s.turn(g, use)
	}})
	if err != nil {
		return err
	}
	return s.place(ctx, key, g)
}

// admit reserves the room of a graph on the device. freed is the size in bytes of
// the graph that it replaces, if that has to be freed first, else 0.
func (s *Store) admit(key graphKey, bytes uint64) (freed uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used, others := s.used(), len(s.graphs)
	for other, bytes := range s.loading {
		if bytes > 0 && s.graphs[other] == nil {
			others++
		}
	}
	g := s.graphs[key]
	old := g.bytes()
	if g != nil {
		others--
	}
	switch {
	case others >= maxGraphs:
		return 0, fmt.Errorf("%w: %d graphs are on the device, drop one", natsio.ErrGraphTooLarge, others)
	case s.Budget > 0 && used-old+bytes > s.Budget:
		return 0, fmt.Errorf("%w: it takes %d bytes, %d are taken and the worker's budget is %d", natsio.ErrGraphTooLarge, bytes, used-old, s.Budget)
	}
	s.loading[key] = bytes
	if s.Budget > 0 && used+bytes > s.Budget {
		return old, nil
	}
	return 0, nil
}

// fits returns an error, before anything is uploaded, if the device has no room for the
// graph even after freed bytes were given back.
func (s *Store) fits(pair graph.Pair, freed uint64) error {
	return s.on(func(dev gpu.Device) error {
		if err := frontier.Fits(dev, uint64(pair.Out.Nodes()), uint64(pair.Out.Edges())); err != nil {
			return fmt.Errorf("%w: %w", natsio.ErrGraphTooLarge, err)
		}
		if err := s.release(); err != nil {
			return err
		}
		m, known := worker.DeviceMemory(dev)
		m.Available += freed
		if err := worker.FitsDevice(pair.Bytes(), m, known); err != nil {
			return fmt.Errorf("%w: %w", natsio.ErrGraphTooLarge, err)
		}
		free, told := s.host()
		if err := worker.FitsHost(pair.Bytes(), known, free+freed, told); err != nil {
			return fmt.Errorf("%w: %w", natsio.ErrGraphTooLarge, err)
		}
		return nil
	})
}

// place registers a graph that was put on the device, and frees the one that it replaces.
func (s *Store) place(ctx context.Context, key graphKey, g *storedGraph) error {
	var old *storedGraph
	placed := false
	err := s.when(ctx, func() bool {
		if old = s.graphs[key]; old != nil && old.held {
			return false
		}
		if placed = g.device == s.device; placed {
			s.graphs[key] = g
			s.loading[key] = old.bytes() // until they are free
		}
		return true
	})
	if err == nil && !placed {
		err = errGraphLost
	}
	if err != nil {
		return errors.Join(err, s.free(g))
	}
	if old != nil {
		err = s.free(old)
	}
	s.tell(key.queue)
	return err
}
