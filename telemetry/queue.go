package telemetry

import "fmt"

// Queue reports the load of one queue. Gauges hold until the next value of
// the same incarnation; counters are cumulative within an incarnation.
type Queue struct {
	Has Presence

	QueueLen              uint32 // gauge, items
	RequestedWorkerGroups uint32 // gauge, workgroups; 0 asks the policy to choose
	// Device limits: a queue may only lower what its worker announced.
	MaxWorkgroupSizeX          uint32 // gauge, invocations
	MaxWorkgroupsPerDimension  uint32 // gauge, workgroups
	MaxInvocationsPerWorkgroup uint32 // gauge, invocations
	RequestedHitCapacity       uint32 // gauge, hits; 0 asks the policy to choose
	ExpectedHitsPerItem        uint32 // gauge, hits per item
	HotOpcodeCount             uint32 // gauge, opcodes
	HotWindowCount             uint32 // gauge, windows
	MaxPriorityAge             uint32 // gauge, ticks
	RequeueCount               uint64 // counter, slots
	ExecutedCount              uint64 // counter, slots
	TakeOver                   bool   // event: replaces a publisher that is live
	LatencyTargetMs            uint32 // gauge, ms, at most MaxLatencyTargetMs; 0: none
}

// Presence bits of Queue, in schema order.
const (
	HasQueueLen Presence = 1 << iota
	HasRequestedWorkerGroups
	HasMaxWorkgroupSizeX
	HasMaxWorkgroupsPerDimension
	HasMaxInvocationsPerWorkgroup
	HasRequestedHitCapacity
	HasExpectedHitsPerItem
	HasHotOpcodeCount
	HasHotWindowCount
	HasMaxPriorityAge
	HasRequeueCount
	HasExecutedCount
	HasQueueTakeOver
	HasLatencyTargetMs
	endQueue
)

// HasAllQueue are the presence bits of all fields.
const HasAllQueue = endQueue - 1

var queueSchema = newSchema(KindQueue, func(q *Queue) *Presence { return &q.Has },
	u32("queue_len", gauge, "items", func(q *Queue) *uint32 { return &q.QueueLen }),
	u32("requested_worker_groups", gauge, "workgroups", func(q *Queue) *uint32 { return &q.RequestedWorkerGroups }),
	u32("max_workgroup_size_x", gauge, "invocations", func(q *Queue) *uint32 { return &q.MaxWorkgroupSizeX }).from(1),
	u32("max_compute_workgroups_per_dimension", gauge, "workgroups", func(q *Queue) *uint32 { return &q.MaxWorkgroupsPerDimension }).from(1),
	u32("max_compute_invocations_per_workgroup", gauge, "invocations", func(q *Queue) *uint32 { return &q.MaxInvocationsPerWorkgroup }).from(1),
	u32("requested_hit_capacity", gauge, "hits", func(q *Queue) *uint32 { return &q.RequestedHitCapacity }),
	u32("expected_hits_per_item", gauge, "hits/item", func(q *Queue) *uint32 { return &q.ExpectedHitsPerItem }),
	u32("hot_opcode_count", gauge, "opcodes", func(q *Queue) *uint32 { return &q.HotOpcodeCount }),
	u32("hot_window_count", gauge, "windows", func(q *Queue) *uint32 { return &q.HotWindowCount }),
	u32("max_priority_age", gauge, "ticks", func(q *Queue) *uint32 { return &q.MaxPriorityAge }),
	u64("requeue_count", counter, "slots", func(q *Queue) *uint64 { return &q.RequeueCount }),
	u64("executed_count", counter, "slots", func(q *Queue) *uint64 { return &q.ExecutedCount }),
	flag("take_over", event, func(q *Queue) any { return &q.TakeOver }),
	u32("latency_target_ms", gauge, "ms", func(q *Queue) *uint32 { return &q.LatencyTargetMs }).to(MaxLatencyTargetMs),
)

// Merge overwrites what newer carries and keeps the rest: the state of a
// publisher after two of its records.
func (q *Queue) Merge(newer *Queue) { merge(queueSchema, q, newer) }

func (q *Queue) rows() rows { return queueSchema }

// Graph reports the frontier and the memory of one queue's graph.
type Graph struct {
	Has Presence

	NodeCount               uint32 // gauge, nodes
	EdgeCount               uint32 // gauge, edges
	FrontierDensityBps      uint16 // gauge, 0..10000
	FrontierOutDegreeSum    uint64 // gauge, edges
	FrontierNodes           uint32 // gauge, nodes
	UnexploredEdges         uint64 // gauge, edges
	ResidentDeviceBytes     uint64 // gauge, bytes
	DeviceMemoryBudgetBytes uint64 // gauge, bytes; 0 means no budget
	MemoryPressureBps       uint16 // gauge, 0..10000
	HitCount                uint64 // counter, nodes that jobs reached
	RequeuedHitCount        uint64 // counter, nodes that waited for room among the hits
	TakeOver                bool   // event: replaces a publisher that is live
}

// Presence bits of Graph, in schema order.
const (
	HasNodeCount Presence = 1 << iota
	HasEdgeCount
	HasFrontierDensityBps
	HasFrontierOutDegreeSum
	HasFrontierNodes
	HasUnexploredEdges
	HasResidentDeviceBytes
	HasDeviceMemoryBudgetBytes
	HasMemoryPressureBps
	HasHitCount
	HasRequeuedHitCount
	HasGraphTakeOver
	endGraph
)

// HasAllGraph are the presence bits of all fields.
const HasAllGraph = endGraph - 1

var graphSchema = newSchema(KindGraph, func(g *Graph) *Presence { return &g.Has },
	u32("graph_node_count", gauge, "nodes", func(g *Graph) *uint32 { return &g.NodeCount }),
	u32("graph_edge_count", gauge, "edges", func(g *Graph) *uint32 { return &g.EdgeCount }),
	bps("frontier_density_bps", gauge, func(g *Graph) *uint16 { return &g.FrontierDensityBps }),
	u64("frontier_out_degree_sum", gauge, "edges", func(g *Graph) *uint64 { return &g.FrontierOutDegreeSum }),
	u32("frontier_nodes", gauge, "nodes", func(g *Graph) *uint32 { return &g.FrontierNodes }),
	u64("unexplored_edges", gauge, "edges", func(g *Graph) *uint64 { return &g.UnexploredEdges }),
	u64("resident_device_bytes", gauge, "bytes", func(g *Graph) *uint64 { return &g.ResidentDeviceBytes }),
	u64("device_memory_budget_bytes", gauge, "bytes", func(g *Graph) *uint64 { return &g.DeviceMemoryBudgetBytes }),
	bps("memory_pressure_bps", gauge, func(g *Graph) *uint16 { return &g.MemoryPressureBps }),
	u64("hit_count", counter, "nodes", func(g *Graph) *uint64 { return &g.HitCount }),
	u64("requeued_hit_count", counter, "nodes", func(g *Graph) *uint64 { return &g.RequeuedHitCount }),
	flag("take_over", event, func(g *Graph) any { return &g.TakeOver }),
)

// Merge overwrites what newer carries and keeps the rest.
func (g *Graph) Merge(newer *Graph) { merge(graphSchema, g, newer) }

// validate: the frontier is a part of the graph, if the record tells both.
func (g *Graph) validate() error {
	if g.Has.Has(HasNodeCount|HasFrontierNodes) && g.FrontierNodes > g.NodeCount {
		return fmt.Errorf("frontier_nodes %d exceeds graph_node_count %d", g.FrontierNodes, g.NodeCount)
	}
	return nil
}

func (g *Graph) rows() rows { return graphSchema }

// Priority sets the scheduling priority of one queue among its siblings.
type Priority struct {
	Has Presence

	Priority    float64 // gauge, finite, 0..1e9; larger is sooner
	Coefficient float64 // gauge, 0..1: how freely the queue shares with its siblings
	TakeOver    bool    // event: replaces a publisher that is live
}

// Presence bits of Priority, in schema order.
const (
	HasPriority Presence = 1 << iota
	HasCoefficient
	HasPriorityTakeOver
	endPriority
)

// HasAllPriority are the presence bits of all fields.
const HasAllPriority = endPriority - 1

var prioritySchema = newSchema(KindPriority, func(p *Priority) *Presence { return &p.Has },
	f64("priority", gauge, "-", 1e9, func(p *Priority) any { return &p.Priority }),
	f64("coefficient", gauge, "-", 1, func(p *Priority) any { return &p.Coefficient }),
	flag("take_over", event, func(p *Priority) any { return &p.TakeOver }),
)

// Merge overwrites what newer carries and keeps the rest.
func (p *Priority) Merge(newer *Priority) { merge(prioritySchema, p, newer) }

func (p *Priority) rows() rows { return prioritySchema }
