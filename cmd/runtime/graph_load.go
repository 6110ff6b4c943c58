package main

import (
	"context"
	"errors"
	"fmt"

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

// take keeps a part of a file. After the last part it loads the graph.
func (s *graphStore) take(ctx context.Context, key graphKey, r *telemetry.Resident) error {
	upload := uploadKey{key, "graph"}
	file, done, err := s.part(ctx, upload, r)
	r.Data = r.Data[:0]
	if file == nil {
		return err
	}
	defer done()
	select { // a file takes many times its size while it is read
	case s.reading <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	pair, _, err := graph.Read(file, graph.Options{Directed: r.Directed, Loops: r.Loops}, graph.Limits{Edges: maxGraphEdges, Nodes: maxGraphEdges, Bytes: maxGraphText})
	<-s.reading
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w: %w", natsio.ErrGraphRequest, err)
	}
	return s.load(ctx, upload, pair)
}

// load puts a graph on the device, where it replaces one of the same name.
func (s *graphStore) load(ctx context.Context, upload uploadKey, pair graph.Pair) error {
	key := upload.graphKey
	freed, err := s.admit(upload, pair.Bytes())
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
	if err := s.when(ctx, func() bool { return s.budget == 0 || s.used()+s.running() <= s.budget }); err != nil {
		return err
	}
	g := &storedGraph{pair: pair}
	var kernels *frontier.Kernels
	err = s.on(func(dev gpu.Device) error {
		s.mu.Lock()
		g.device, kernels = dev, s.kernels
		s.mu.Unlock()
		return s.release()
	})
	if err != nil {
		return err
	}
	g.resident, err = frontier.Load(g.device, pair, frontier.Options{Kernels: kernels, Turn: func(use func() error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return s.turn(g, use)
	}})
	if err != nil {
		return err
	}
	return s.place(ctx, upload, g)
}

// admit reserves the room of an uploaded graph on the device. freed is the size in bytes of
// the graph that it replaces, if that has to be freed first, else 0.
func (s *graphStore) admit(upload uploadKey, bytes uint64) (freed uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploads[upload]
	used, others := s.used(), len(s.graphs)
	for key, other := range s.uploads {
		if other.bytes > 0 && s.graphs[key.graphKey] == nil {
			others++
		}
	}
	g := s.graphs[upload.graphKey]
	old := g.bytes()
	if g != nil {
		others--
	}
	switch {
	case others >= maxGraphs:
		return 0, fmt.Errorf("%w: %d graphs are on the device, drop one", natsio.ErrGraphTooLarge, others)
	case s.budget > 0 && used-old+bytes > s.budget:
		return 0, fmt.Errorf("%w: it takes %d bytes, %d are taken and the worker's budget is %d", natsio.ErrGraphTooLarge, bytes, used-old, s.budget)
	}
	u.bytes = bytes
	if s.budget > 0 && used+bytes > s.budget {
		return old, nil
	}
	return 0, nil
}

// fits returns an error, before anything is uploaded, if the device has no room for the
// graph even after freed bytes were given back.
func (s *graphStore) fits(pair graph.Pair, freed uint64) error {
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
func (s *graphStore) place(ctx context.Context, upload uploadKey, g *storedGraph) error {
	key := upload.graphKey
	var old *storedGraph
	placed := false
	err := s.when(ctx, func() bool {
		if old = s.graphs[key]; old != nil && old.held {
			return false
		}
		if placed = g.device == s.device; placed {
			s.graphs[key] = g
			s.uploads[upload].bytes = old.bytes() // until they are free
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
