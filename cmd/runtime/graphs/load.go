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
	if err := s.loads.take(ctx, key.queue); err != nil {
		return err
	}
	defer s.loads.next()
	pair, err := s.read(ctx, r)
	if err != nil {
		return err
	}
	err = s.put(ctx, key, pair)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loading = 0; err == nil {
		s.inform(key.queue)
	}
	return err
}

// read reads a graph file and deletes it.
func (s *Store) read(ctx context.Context, r *telemetry.GraphRequest) (pair graph.Pair, err error) {
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
		if err := s.drop(key, false); err != nil && !errors.Is(err, natsio.ErrNoGraph) {
			return err
		}
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
	return s.place(key, g)
}

// admit reserves the room of a graph on the device. freed is the size in bytes of
// the graph that it replaces, if that has to be freed first, else 0.
func (s *Store) admit(key graphKey, bytes uint64) (freed uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used, others, own, ownBytes := s.used(), len(s.graphs), 0, uint64(0)
	for k, g := range s.graphs {
		if k.queue == key.queue && k != key {
			own++
			ownBytes += g.bytes()
		}
	}
	g := s.graphs[key]
	old := g.bytes()
	if others -= own; g != nil {
		others--
	}
	switch {
	case others+own >= maxGraphs || own > 0 && own >= (maxGraphs-others)/4:
		return 0, fmt.Errorf("%w: %d graphs are on the device, %d of them of the queue, which may have a quarter of what the others leave of %d; drop one",
			natsio.ErrGraphTooLarge, others+own, own, maxGraphs)
	case s.Budget > 0 && ownBytes+bytes > (s.Budget-min(s.Budget, used-old-ownBytes))/2:
		return 0, fmt.Errorf("%w: it takes %d bytes, the queue's other graphs %d and those of others %d; a queue may have half of what the others leave of the worker's budget of %d",
			natsio.ErrGraphTooLarge, bytes, ownBytes, used-old-ownBytes, s.Budget)
	case s.Budget == 0 || used+s.running()+bytes <= s.Budget:
	case s.walked(key) || used-old+s.running()+bytes > s.Budget:
		return 0, errRoomTaken
	default:
		freed = old
	}
	s.loading = bytes
	return freed, nil
}

var errRoomTaken = fmt.Errorf("%w: a run has the memory that the graph takes; try again when it is over", natsio.ErrGraphBusy)

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

// place registers a graph that was put on the device, and frees the one that it replaces,
// unless a run walks it, which then frees it.
func (s *Store) place(key graphKey, g *storedGraph) error {
	s.mu.Lock()
	if g.device != s.device {
		s.mu.Unlock()
		return errGraphLost
	}
	old, walked := s.graphs[key], s.walked(key)
	s.graphs[key] = g
	if s.loading = 0; !walked {
		s.loading = old.bytes() // until they are free
	}
	s.mu.Unlock()
	if old == nil || walked {
		return nil
	}
	return s.free(old)
}
