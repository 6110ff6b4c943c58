package frontier

import (
	"errors"
	"fmt"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/userop"
)

// Unreached is the value, in a breadth-first or shortest-path job, of a node at which
// nothing arrived.
const Unreached = 1<<32 - 1

// Semiring says what travels along an edge and how a node joins what arrives.
type Semiring uint8

// The semirings.
const (
	// BFS: a node's value is its distance in edges from the nearest source.
	BFS Semiring = iota
	// ShortestPath: the smallest sum of edge weights from a source, at most Unreached.
	ShortestPath
	// Components: the smallest node that reaches this one. On an undirected graph
	// it names the node's component. Every node is a source.
	Components
	// Reach: the union of the sources' bits that reach a node, or 0.
	Reach
	// User is the Job's own Join.
	User
	// Flow is bit-vector dataflow whose join is a union: what leaves a node is its Gen,
	// and what arrived there except its Kill. Every node is active at first. The value
	// of a node is what arrived.
	Flow

	semirings = iota
)

var semiringNames = [semirings]string{"bfs", "sssp", "components", "reach", "user", "flow"}

func (s Semiring) String() string {
	if int(s) < len(semiringNames) {
		return semiringNames[s]
	}
	return fmt.Sprintf("semiring(%d)", uint8(s))
}

// Errors of jobs.
var (
	// ErrTooLarge says that a graph does not fit the device; nothing was uploaded.
	ErrTooLarge = errors.New("graph is too large for the device")
	// ErrJob says that a job asks for something impossible.
	ErrJob = errors.New("job is malformed")
	// ErrJoin says that the driver refuses the body of a join.
	ErrJoin = errors.New("join cannot be compiled")
	// ErrBudget says that no hit buffer fits the job's memory budget.
	ErrBudget = errors.New("job does not fit the memory budget")
	// ErrClosed says that the graph was closed.
	ErrClosed = errors.New("graph is closed")
	// ErrStuck says that a workgroup waited too long for others that had been running at
	// the same time: the device must not suspend any of them.
	ErrStuck = errors.New("workgroups waited too long for each other")
	// ErrLevels says that a job was ended at Job.MaxLevels before it was done.
	ErrLevels = errors.New("job has more levels than allowed")
)

// Job is one propagation over a resident graph. The zero value of every field except
// Sources is usable.
type Job struct {
	Semiring Semiring
	// Join says what travels and how it is joined; with User only. It must be monotone: a
	// better value of a node must not give a worse one at the next, or the outcome depends
	// on the order of arrivals.
	Join *userop.Join
	// From, if not nil, are values that leave the nodes instead of the job's own; with User
	// only. Those that are not the join's identity travel, for one level: a node's value
	// becomes its seed joined with what arrives. If From is the outcome of the same job and
	// solves its equations, the result is From again.
	From []uint32
	// Gen and Kill are the facts that each node generates and kills; with Flow only, nil
	// means none.
	Gen, Kill []uint32
	// Sources are nodes, in any order; repeats count once. Components ignores them. Without
	// sources nothing happens, except for Components and Flow.
	Sources []uint32
	// Seeds are the sources' values; nil means 0, and for Reach the bit of the
	// source's position modulo 32, and for User the join's seed. For Flow they are
	// facts that arrive from outside.
	Seeds []uint32

	// Topology other than none or empty is used on every level instead of the policy's.
	Topology policy.Topology
	// Config is the policy's configuration; nil means policy.Standard. State is the
	// policy's state before the first level.
	Config *policy.Config
	State  policy.TopologyState
	// HotOpcodes and HotWindows are the counts that promote a dense walk to a fused one.
	HotOpcodes, HotWindows uint32
	// MemoryPressureBps is the worker's memory pressure, 0..10,000, if PressureKnown.
	MemoryPressureBps uint16
	PressureKnown     bool

	// Geometry has the width of all dispatches, a power of two from 32 to 1,024, and the most
	// workgroups of a push; Run chooses what is zero. A job has neither chunk nor depth.
	Geometry policy.Geometry
	// HitCapacity is the size of a hit buffer in nodes; 0 means one for every node.
	HitCapacity uint32
	// Budget is the most bytes of device memory that the job may use beside the
	// graph; 0 means no bound. A hit capacity that does not fit it is reduced.
	Budget uint64
	// MaxLevels ends a job with ErrLevels; 0 means no bound, and for User 32 levels per
	// node, because a join around a cycle may go on improving for longer than anyone waits.
	MaxLevels uint32

	// Discard leaves Result.Values nil and the values on the device.
	Discard bool

	// Decide, if not nil, is called on the host before every level, and chooses its topology
	// and the most workgroups of its pushes; 0 means those of Geometry. It must not call
	// methods of the graph.
	Decide func(View) (policy.Topology, uint32, error)
	// Observe, if not nil, is called whenever the host has looked at the device, with the
	// levels that were done since the look before. The device waits meanwhile. It must not
	// call methods of the graph or keep the slice.
	Observe func([]Level)
	// Turn, if not nil, brackets each use of the device. It calls its argument and returns
	// its error, or returns an error of its own without the call, which ends the job. Between
	// the turns others can use the device.
	Turn func(use func() error) error
	// Timed measures each level with timestamps, if the device has them. It costs some
	// microseconds per level and keeps levels out of the persistent kernel.
	Timed bool
}

// View is what a level's topology is decided from.
type View struct {
	Level           uint32 // 0 for the sources
	Nodes, Edges    uint32 // of the graph; edges are out-edges
	FrontierNodes   uint32 // never 0
	FrontierEdges   uint32 // out-edges of the frontier
	UnexploredEdges uint32 // out-edges of the nodes not reached so far
	Previous        policy.Topology
}

// Level is what one level did.
type Level struct {
	View
	Raw        policy.Topology // what the rule asks for before hysteresis
	Topology   policy.Topology // how it ran
	Reason     policy.Reason   // of a decision by the policy's rule; zero for a forced topology
	Persistent bool            // inside the kernel of many levels
	Passes     uint32          // over the frontier: at least 1, more where hits were requeued
	Requeued   uint32          // frontier nodes that waited for a later pass, counted each time
	Hits       uint32          // nodes of the next frontier
	Examined   uint32          // edges looked at
	Time       time.Duration   // with Job.Timed, else 0
}

// Result is the outcome of a job.
type Result struct {
	// Values has one value for each node.
	Values []uint32
	Levels []Level
	// Reached is how many nodes have another value than the semiring's identity.
	Reached uint32
	// EdgesTraversed are the out-edges of the reached nodes, and EdgesExamined those
	// looked at, which is fewer when levels pull and more when values are corrected.
	EdgesTraversed, EdgesExamined uint64
	// Time is from the first dispatch to the last outcome. The values are then on the
	// device; their transfer is not included.
	Time time.Duration
	// Visits is how often the host looked at the device meanwhile.
	Visits uint32
	// Rounds is how many rounds of a decision and its kernels were enqueued, idle ones included.
	Rounds uint32
	// HitCapacity and Geometry are what was used; Bytes is the device memory beside the
	// graph.
	HitCapacity uint32
	Geometry    policy.Geometry
	Bytes       uint64
}
