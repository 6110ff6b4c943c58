package frontier

import (
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
)

// Needs is what a job takes on the device beside its graph.
type Needs struct {
	// Fixed is the device memory without hit buffers, in bytes.
	Fixed uint64
	// Full is the device memory with room for hits on all nodes, in bytes.
	Full uint64
	// Width is the widest workgroup that the kernels run well at.
	Width uint32
	// Nodes is the most nodes that a hit buffer can hold.
	Nodes uint32
}

// Needs tells what a job would take, whatever its budget. It fails if the job cannot run.
func (r *Graph) Needs(job Job) (Needs, error) {
	job.Budget, job.HitCapacity, job.Geometry = 0, 0, policy.Geometry{}
	if r.shape.nodes == 0 {
		return Needs{}, job.check(0)
	}
	p, err := r.plan(&job)
	if err != nil {
		return Needs{}, err
	}
	return Needs{Fixed: p.bytes - uint64(p.sizes[bindQueue]), Full: p.bytes, Width: p.geometry.Width, Nodes: p.capacity}, nil
}

// NeedsOn is Needs for a graph that is not on the device yet; it uploads nothing. The error
// wraps ErrTooLarge if the graph itself does not fit.
func NeedsOn(dev gpu.Device, g graph.Pair, job Job) (Needs, error) {
	if err := Fits(dev, uint64(g.Out.Nodes()), uint64(g.Out.Edges())); err != nil {
		return Needs{}, err
	}
	r := &Graph{dev: dev, traits: gpu.TraitsOf(dev), pair: g, shape: shapeOf(g)}
	if err := serves(r.traits); err != nil {
		return Needs{}, err
	}
	return r.Needs(job)
}

// Begin is the view of a job's first level.
func (r *Graph) Begin(job *Job) View {
	v := View{Nodes: r.shape.nodes, Edges: r.shape.edges, Previous: job.State.Topology}
	if job.active() != activeSources {
		v.FrontierNodes, v.FrontierEdges = v.Nodes, v.Edges
		return v
	}
	seen := make(map[uint32]bool, len(job.Sources))
	for _, s := range job.Sources {
		if s < v.Nodes && !seen[s] {
			seen[s] = true
			v.FrontierNodes++
			v.FrontierEdges += r.pair.Out.Degree(s)
		}
	}
	v.UnexploredEdges = v.Edges - v.FrontierEdges
	return v
}

// Situation is what all decisions of the job have in common, for those who make them again.
func (r *Graph) Situation(job *Job) Situation {
	return Situation{Nodes: r.shape.nodes, Edges: r.shape.edges, HotOpcodes: job.HotOpcodes, HotWindows: job.HotWindows,
		MemoryPressureBps: job.MemoryPressureBps, PressureKnown: job.PressureKnown}
}

// Ruled tells whether the policy decides the job's levels on the device.
func (j *Job) Ruled() bool {
	return j.Decide == nil && (j.Topology == policy.TopologyNone || j.Topology == policy.TopologyEmpty)
}

// WidthWithin is the widest workgroup that a job can have and that is no wider than asked,
// or the narrowest possible one.
func WidthWithin(asked uint32) uint32 {
	width := uint32(leastWidth)
	for width < mostWidth && 2*width <= asked {
		width *= 2
	}
	return width
}

// Release frees the device memory that the last job left for the next.
func (r *Graph) Release() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scratch == nil || r.closed {
		return nil
	}
	return r.dev.Do(func() error {
		r.scratch.delete(r.dev)
		r.scratch = nil
		return nil
	})
}

// Kept is the device memory that the last job left for the next, in bytes.
func (r *Graph) Kept() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scratch == nil || r.closed {
		return 0
	}
	bytes := uint64(r.scratch.seeds.size)
	for _, b := range r.scratch.buffers {
		bytes += uint64(b.size)
	}
	return bytes
}
