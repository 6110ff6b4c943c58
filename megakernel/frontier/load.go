package frontier

import (
	"fmt"
	"slices"
	"sync"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/kernelcache"
)

// Options of Load.
type Options struct {
	// Programs has the programs of jobs built on the same device, and keeps them. Several
	// graphs, and others, may share it.
	Programs *kernelcache.Store
	// Turn, if not nil, brackets each use of the device like Job.Turn; an error of its own
	// ends the upload. A turn makes one buffer or writes sliceBytes to one.
	Turn func(use func() error) error
}

// Graph is a graph on a device. Its methods may be called from any
// goroutine; jobs run one at a time.
type Graph struct {
	dev    gpu.Device
	traits gpu.Traits
	store  *kernelcache.Store // of programs
	pair   graph.Pair
	shape  shape

	mu      sync.Mutex
	closed  bool
	buffers map[int]buffer // of the graph, by binding point
	scratch *scratch       // of the last job
}

// shape is what a job needs to know about the graph.
type shape struct {
	nodes, edges uint32
	weighted     bool
	steepest     uint32 // largest out-degree
	tiles        uint32 // most tiles of a level
}

type buffer struct {
	id   gpu.Buffer
	size int // bytes
}

// Load checks a graph and uploads it. An undirected graph (Out == In) is uploaded once.
// The error wraps ErrTooLarge if the graph does not fit the device's largest storage
// block, and graph.ErrMalformed if it contradicts itself; in both cases nothing was done
// on the device. The graph keeps the offsets, which the caller must not change.
func Load(dev gpu.Device, g graph.Pair, o Options) (*Graph, error) {
	traits := gpu.TraitsOf(dev)
	if err := check(traits.StorageBlockBytes, g); err != nil {
		return nil, err
	}
	r := &Graph{dev: dev, traits: traits, store: o.Programs, pair: g, buffers: make(map[int]buffer)}
	if err := serves(r.traits); err != nil {
		return nil, err
	}
	r.shape = shapeOf(g)
	if r.shape.nodes == 0 {
		return r, nil
	}
	turn := func(use func() error) error { return dev.Do(use) }
	if o.Turn != nil {
		turn = func(use func() error) error { return o.Turn(func() error { return dev.Do(use) }) }
	}
	if err := r.upload(turn); err != nil {
		err = fmt.Errorf("upload of %d nodes and %d edges: %w", r.shape.nodes, r.shape.edges, err)
		_ = r.Close() // in no turn: a deletion is in nobody's way, and the upload's error says more
		return nil, err
	}
	return r, nil
}

// Fits returns an error that wraps ErrTooLarge if a graph of so many nodes and edges (and
// as many in-edges) cannot be loaded on a device together with its values.
func Fits(dev gpu.Device, nodes, edges uint64) error {
	return fits(dev.StorageBlockLimit(), nodes, edges)
}

func fits(limit int64, nodes, edges uint64) error {
	for _, block := range []struct {
		what  string
		words uint64
	}{{"offsets", nodes + 1}, {"targets", edges}, {"values", nodes}} {
		if block.words > uint64(limit)/4 {
			return fmt.Errorf("%s of a graph of %d nodes and %d edges take %d bytes, the device's largest storage block is %d: %w",
				block.what, nodes, edges, 4*block.words, limit, ErrTooLarge)
		}
	}
	return nil
}

func check(limit int64, g graph.Pair) error {
	if g.Out == nil || g.In == nil {
		return fmt.Errorf("a graph needs its out-edges and its in-edges: %w", graph.ErrMalformed)
	}
	if err := fits(limit, uint64(g.Out.Nodes()), uint64(g.Out.Edges())); err != nil {
		return err
	}
	if err := g.Out.Check(); err != nil {
		return fmt.Errorf("out-edges: %w", err)
	}
	if !g.Directed() {
		return nil
	}
	if err := g.In.Check(); err != nil {
		return fmt.Errorf("in-edges: %w", err)
	}
	if g.In.Nodes() != g.Out.Nodes() || g.In.Edges() != g.Out.Edges() || (g.In.Weights == nil) != (g.Out.Weights == nil) {
		return fmt.Errorf("%d nodes and %d edges forward, %d and %d backward: %w",
			g.Out.Nodes(), g.Out.Edges(), g.In.Nodes(), g.In.Edges(), graph.ErrMalformed)
	}
	return nil
}

func shapeOf(g graph.Pair) shape {
	s := shape{nodes: uint32(g.Out.Nodes()), edges: uint32(g.Out.Edges()), weighted: g.Out.Weights != nil}
	for v := range s.nodes {
		degree := g.Out.Degree(v)
		s.steepest = max(s.steepest, degree)
		if degree >= leastHeavy {
			s.tiles += (degree-1)/tileEdges + 1
		}
	}
	return s
}

// sliceBytes is what a turn of an upload writes. That takes a millisecond on an H200 and a
// few on a software renderer.
const sliceBytes = 8 << 20

// upload makes the graph's buffers and fills them. Each use of the device is a turn of its own.
func (r *Graph) upload(turn func(func() error) error) error {
	put := func(binding int, words []uint32) error {
		b := buffer{size: max(4*len(words), 4)}
		err := turn(func() (err error) {
			b.id, err = r.dev.NewBuffer(b.size)
			return err
		})
		if err != nil {
			return err
		}
		r.buffers[binding] = b
		offset := 0
		for part := range slices.Chunk(gpu.Bytes(words), sliceBytes) {
			err := turn(func() error {
				r.dev.WriteBuffer(b.id, offset, part)
				r.dev.Finish()
				return r.dev.Check()
			})
			if err != nil {
				return err
			}
			offset += len(part)
		}
		return nil
	}
	for _, side := range []struct {
		graph                     *graph.Graph
		offsets, targets, weights int
	}{{r.pair.Out, bindOutOffsets, bindOutTargets, bindOutWeights}, {r.pair.In, bindInOffsets, bindInTargets, bindInWeights}} {
		if side.offsets == bindInOffsets && !r.pair.Directed() {
			r.buffers[bindInOffsets] = r.buffers[bindOutOffsets]
			r.buffers[bindInTargets] = r.buffers[bindOutTargets]
			r.buffers[bindInWeights] = r.buffers[bindOutWeights]
			break
		}
		if err := put(side.offsets, side.graph.Offsets); err != nil {
			return err
		}
		if err := put(side.targets, side.graph.Targets); err != nil {
			return err
		}
		if err := put(side.weights, side.graph.Weights); err != nil {
			return err
		}
	}
	return nil
}

// Nodes is the number of nodes.
func (r *Graph) Nodes() uint32 { return r.shape.nodes }

// Close frees the device memory, once a running job has ended. After a loss of the device
// it does nothing.
func (r *Graph) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	err := r.dev.Do(func() error {
		for _, b := range r.buffers {
			r.dev.DeleteBuffer(b.id)
		}
		r.scratch.delete(r.dev)
		return nil
	})
	if gpu.Lost(err) {
		return nil
	}
	return err
}
