package telemetry

import "math"

// The schema: one row for every field of the wire, in array order. Keys, array
// positions, presence bits, ranges, the encoder and the decoder all come from
// these rows, and a test holds the tables of the package comment to them.

const (
	maxU16 = math.MaxUint16
	maxU32 = math.MaxUint32
	maxU64 = math.MaxUint64
	maxI64 = math.MaxInt64
	maxBps = 10_000
)

// Array positions of the header. The body follows at bodyStart.
const (
	posKind = iota
	posMinor
	posIncarnation
	posSeq
	posSentNs
	posQueue
	bodyStart
)

// The schemas below are made of it, so all of them stand behind it in this
// file: the compiler does not see that they depend on it.
var headerFields = []field[Header]{
	posKind:        enum("kind", event, kindNames, func(h *Header) any { return (*uint8)(&h.Kind) }).from(1).req(),
	posMinor:       u32("minor", event, "-", func(h *Header) *uint32 { return &h.Minor }),
	posIncarnation: u64("incarnation", event, "-", func(h *Header) *uint64 { return &h.Incarnation }).from(1).req(),
	posSeq:         u64("seq", event, "records", func(h *Header) *uint64 { return &h.Seq }).from(1).req(),
	posSentNs:      i64("sent_ns", event, "ns", func(h *Header) *int64 { return &h.SentNs }),
	posQueue:       token("queue", event, func(h *Header) any { return &h.Queue }),
}

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
)

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
)

var prioritySchema = newSchema(KindPriority, func(p *Priority) *Presence { return &p.Has },
	f64("priority", gauge, "-", 1e9, func(p *Priority) any { return &p.Priority }),
	f64("coefficient", gauge, "-", 1, func(p *Priority) any { return &p.Coefficient }),
)

var launchSchema = newSchema(KindLaunch, func(l *Launch) *Presence { return &l.Has },
	u64("launch", event, "-", func(l *Launch) *uint64 { return &l.Launch }).from(1).req(),
	u64("decision", event, "-", func(l *Launch) *uint64 { return &l.Decision }),
	enum("status", event, launchStatusNames, func(l *Launch) any { return (*uint8)(&l.Status) }).req(),
	text("error", event, func(l *Launch) any { return &l.Error }),
	u32("applied_workgroup_size_x", event, "invocations", func(l *Launch) *uint32 { return &l.Applied.WorkgroupSizeX }),
	u32("applied_groups", event, "workgroups", func(l *Launch) *uint32 { return &l.Applied.Groups }),
	u32("applied_claim_chunk", event, "slots", func(l *Launch) *uint32 { return &l.Applied.ClaimChunk }),
	u32("recommended_workgroup_size_x", event, "invocations", func(l *Launch) *uint32 { return &l.Recommended.WorkgroupSizeX }),
	u32("recommended_groups", event, "workgroups", func(l *Launch) *uint32 { return &l.Recommended.Groups }),
	u32("recommended_claim_chunk", event, "slots", func(l *Launch) *uint32 { return &l.Recommended.ClaimChunk }),
	text("not_applied", event, func(l *Launch) any { return &l.NotApplied }),
	u64("elapsed_ns", event, "ns", func(l *Launch) *uint64 { return &l.ElapsedNs }),
	enum("time_source", event, timeSourceNames, func(l *Launch) any { return (*uint8)(&l.TimeSource) }),
	u64("idle_ns", event, "ns", func(l *Launch) *uint64 { return &l.IdleNs }),
	u64("wall_ns", event, "ns", func(l *Launch) *uint64 { return &l.WallNs }),
	u64("executed", event, "slots", func(l *Launch) *uint64 { return &l.Executed }),
	u64("faulted", event, "slots", func(l *Launch) *uint64 { return &l.Faulted }),
	u64("requeued", event, "slots", func(l *Launch) *uint64 { return &l.Requeued }),
	u64("hits", event, "hits", func(l *Launch) *uint64 { return &l.Hits }),
	list[Launch]("opcode_counts", event, typeU32s, "slots", 0, MaxOpcodes, func(l *Launch) any { return &l.OpcodeCounts }),
	list[Launch]("fingerprint", event, typeBytes, "-", 0, FingerprintSize, func(l *Launch) any { return &l.Fingerprint }),
	enum("mode", event, launchModeNames, func(l *Launch) any { return (*uint8)(&l.Mode) }),
	text("kernel", event, func(l *Launch) any { return &l.Kernel }),
	u32("in_flight", event, "launches", func(l *Launch) *uint32 { return &l.InFlight }),
	u32("applied_batch_depth", event, "slots", func(l *Launch) *uint32 { return &l.AppliedDepth }),
)

var workerSchema = newSchema(KindWorker, func(w *Worker) *Presence { return &w.Has },
	u32("max_workgroup_size_x", gauge, "invocations", func(w *Worker) *uint32 { return &w.MaxWorkgroupSizeX }).from(1),
	u32("max_compute_workgroups_per_dimension", gauge, "workgroups", func(w *Worker) *uint32 { return &w.MaxWorkgroupsPerDimension }).from(1),
	u32("max_compute_invocations_per_workgroup", gauge, "invocations", func(w *Worker) *uint32 { return &w.MaxInvocationsPerWorkgroup }).from(1),
	u32("subgroup_size", gauge, "invocations", func(w *Worker) *uint32 { return &w.SubgroupSize }),
	text("vendor", gauge, func(w *Worker) any { return &w.Vendor }),
	text("renderer", gauge, func(w *Worker) any { return &w.Renderer }),
	text("driver", gauge, func(w *Worker) any { return &w.Driver }),
	text("device_uuid", gauge, func(w *Worker) any { return &w.DeviceUUID }),
	u64("device_memory_budget_bytes", gauge, "bytes", func(w *Worker) *uint64 { return &w.MemoryBudgetBytes }),
	list[Worker]("capabilities", gauge, typeTexts, "-", 0, MaxCapabilities, func(w *Worker) any { return &w.Capabilities }),
	list[Worker]("opcodes", gauge, typeOpcodes, "-", 0, MaxUserOpcodes, func(w *Worker) any { return &w.Opcodes }),
)

var recommendationSchema = newSchema(KindRecommendation, nil,
	u64("decision", event, "-", func(r *Recommendation) *uint64 { return &r.Decision }).req(),
	u64("answered_incarnation", event, "-", func(r *Recommendation) *uint64 { return &r.AnsweredIncarnation }),
	u64("answered_seq", event, "records", func(r *Recommendation) *uint64 { return &r.AnsweredSeq }),
	i64("answered_sent_ns", event, "ns", func(r *Recommendation) *int64 { return &r.AnsweredSentNs }),
	text("error", event, func(r *Recommendation) any { return &r.Error }),
	u32("workgroup_size_x", gauge, "invocations", func(r *Recommendation) *uint32 { return &r.WorkgroupSizeX }),
	u32("groups", gauge, "workgroups", func(r *Recommendation) *uint32 { return &r.Groups }),
	u32("claim_chunk", gauge, "slots", func(r *Recommendation) *uint32 { return &r.ClaimChunk }),
	u32("batch_depth", gauge, "slots", func(r *Recommendation) *uint32 { return &r.BatchDepth }),
	text("launch_mode", gauge, func(r *Recommendation) any { return &r.LaunchMode }).to(MaxToken),
	u32("slot_count", gauge, "slots", func(r *Recommendation) *uint32 { return &r.SlotCount }),
	list[Recommendation]("dispatch_grid", gauge, typeGrid, "workgroups", 3, 3, func(r *Recommendation) any { return &r.DispatchGrid }),
	u32("worker_groups", gauge, "workgroups", func(r *Recommendation) *uint32 { return &r.WorkerGroups }),
	u32("hit_capacity", gauge, "hits", func(r *Recommendation) *uint32 { return &r.HitCapacity }),
	text("pressure", gauge, func(r *Recommendation) any { return &r.Pressure }).to(MaxToken),
	text("execution_mode", gauge, func(r *Recommendation) any { return &r.ExecutionMode }).to(MaxToken),
	text("topology", gauge, func(r *Recommendation) any { return &r.Topology }).to(MaxToken),
	flag("promote_hot_opcodes", gauge, func(r *Recommendation) any { return &r.PromoteHotOpcodes }),
	flag("promote_hot_windows", gauge, func(r *Recommendation) any { return &r.PromoteHotWindows }),
	flag("age_priority_work", gauge, func(r *Recommendation) any { return &r.AgePriorityWork }),
	u64("estimated_peak_bytes", gauge, "bytes", func(r *Recommendation) *uint64 { return &r.EstimatedPeakBytes }),
	u64("device_memory_budget_bytes", gauge, "bytes", func(r *Recommendation) *uint64 { return &r.MemoryBudgetBytes }),
	u32("queue_len", gauge, "items", func(r *Recommendation) *uint32 { return &r.QueueLen }),
	bps("frontier_density_bps", gauge, func(r *Recommendation) *uint16 { return &r.FrontierDensityBps }),
	bps("memory_pressure_bps", gauge, func(r *Recommendation) *uint16 { return &r.MemoryPressureBps }),
	flag("switch_held", event, func(r *Recommendation) any { return &r.SwitchHeld }),
	flag("changed", event, func(r *Recommendation) any { return &r.Changed }),
	flag("heartbeat", event, func(r *Recommendation) any { return &r.Heartbeat }),
	flag("committed_on_publish", gauge, func(r *Recommendation) any { return &r.CommittedOnPublish }),
	u32("valid_for_ms", event, "ms", func(r *Recommendation) *uint32 { return &r.ValidForMs }),
	list[Recommendation]("reasons", event, typeReasons, "-", 0, MaxReasons, func(r *Recommendation) any { return &r.Reasons }),
	flag("hit_capacity_reduced", gauge, func(r *Recommendation) any { return &r.HitCapacityReduced }),
	u32("in_flight", gauge, "launches", func(r *Recommendation) *uint32 { return &r.InFlight }),
)

var workSchema = newSchema(KindWork, func(w *Work) *Presence { return &w.Has },
	token("batch", event, func(w *Work) any { return &w.Batch }).req(),
	list[Work]("slots", event, typeSlots, "-", 1, MaxBatchSlots, func(w *Work) any { return &w.Slots }).req(),
	flag("want_results", event, func(w *Work) any { return &w.WantResults }),
	u64("epoch", event, "-", func(w *Work) *uint64 { return &w.Epoch }),
	u32("deadline_ms", event, "ms", func(w *Work) *uint32 { return &w.DeadlineMs }),
)

var doneSchema = newSchema(KindDone, nil,
	token("batch", event, func(d *Done) any { return &d.Batch }).req(),
	u32("executed", event, "slots", func(d *Done) *uint32 { return &d.Executed }).to(MaxBatchSlots).req(),
	u32("faulted", event, "slots", func(d *Done) *uint32 { return &d.Faulted }).to(MaxBatchSlots).req(),
	list[Done]("faults", event, typeFaults, "-", 0, MaxFaults, func(d *Done) any { return &d.Faults }),
	list[Done]("results", event, typeU32s, "-", 0, MaxBatchSlots, func(d *Done) any { return &d.Results }),
	i64("work_sent_ns", event, "ns", func(d *Done) *int64 { return &d.WorkSentNs }),
	u32("dropped", event, "slots", func(d *Done) *uint32 { return &d.Dropped }).to(MaxBatchSlots),
	text("error", event, func(d *Done) any { return &d.Error }),
	list[Done]("prints", event, typeU32s, "-", 0, MaxPrints*PrintWords, func(d *Done) any { return &d.Prints }),
	u32("printed", event, "slots", func(d *Done) *uint32 { return &d.Printed }).to(MaxBatchSlots),
)

var rejectedSchema = newSchema(KindRejected, nil,
	text("subject", event, func(r *Rejected) any { return &r.Subject }),
	text("reason", event, func(r *Rejected) any { return &r.Reason }).to(MaxToken).req(),
	text("detail", event, func(r *Rejected) any { return &r.Detail }).to(MaxDetail),
	u32("bytes", event, "bytes", func(r *Rejected) *uint32 { return &r.Bytes }),
	u64("suppressed", event, "records", func(r *Rejected) *uint64 { return &r.Suppressed }),
)

var heapSchema = newSchema(KindHeap, nil,
	enum("op", event, heapOpNames, func(h *Heap) any { return (*uint8)(&h.Op) }).req(),
	u32("offset", event, "words", func(h *Heap) *uint32 { return &h.Offset }),
	u32("count", event, "words", func(h *Heap) *uint32 { return &h.Count }).to(MaxHeapWords),
	list[Heap]("data", event, typeBytes, "-", 0, MaxHeapWords*wordBytes, func(h *Heap) any { return &h.Data }),
	u64("epoch", event, "-", func(h *Heap) *uint64 { return &h.Epoch }),
)

var residentSchema = newSchema(KindResident, nil,
	enum("ask", event, residentAskNames, func(r *Resident) any { return (*uint8)(&r.Ask) }).req(),
	text("name", event, func(r *Resident) any { return &r.Name }).to(MaxToken),
	u64("offset", event, "bytes", func(r *Resident) *uint64 { return &r.Offset }),
	u64("total", event, "bytes", func(r *Resident) *uint64 { return &r.Total }),
	list[Resident]("data", event, typeBytes, "-", 0, MaxGraphPart, func(r *Resident) any { return &r.Data }),
	flag("directed", event, func(r *Resident) any { return &r.Directed }),
	text("algorithm", event, func(r *Resident) any { return &r.Algorithm }).to(MaxToken),
	text("topology", event, func(r *Resident) any { return &r.Topology }).to(MaxToken),
	flag("decide_host", event, func(r *Resident) any { return &r.DecideHost }),
	u64("budget_bytes", event, "bytes", func(r *Resident) *uint64 { return &r.Budget }),
	u32("hit_capacity", event, "nodes", func(r *Resident) *uint32 { return &r.HitCapacity }),
	u64("result", event, "-", func(r *Resident) *uint64 { return &r.Result }),
	list[Resident]("join", event, typeBytes, "-", 0, MaxJoinBytes, func(r *Resident) any { return &r.Join }),
	u64("facts", event, "-", func(r *Resident) *uint64 { return &r.Facts }),
	flag("loops", event, func(r *Resident) any { return &r.Loops }),
)

var cancelSchema = newSchema(KindCancel, nil,
	token("batch", event, func(c *Cancel) any { return &c.Batch }).req(),
	enum("found", event, cancelFoundNames, func(c *Cancel) any { return (*uint8)(&c.Found) }),
	u32("slots", event, "slots", func(c *Cancel) *uint32 { return &c.Slots }).to(MaxBatchSlots),
)

// The constructors of rows. Integers have typed accessors, which keep the hot
// path free of type switches; everything else goes through at.

func bps[T any](name string, c class, at func(*T) *uint16) field[T] {
	return field[T]{spec: newSpec(name, typeU16, c, "bps", maxBps), u16: at}
}

func u32[T any](name string, c class, unit string, at func(*T) *uint32) field[T] {
	return field[T]{spec: newSpec(name, typeU32, c, unit, maxU32), u32: at}
}

func u64[T any](name string, c class, unit string, at func(*T) *uint64) field[T] {
	return field[T]{spec: newSpec(name, typeU64, c, unit, maxU64), u64: at}
}

func i64[T any](name string, c class, unit string, at func(*T) *int64) field[T] {
	return field[T]{spec: newSpec(name, typeI64, c, unit, maxI64), i64: at}
}

func f64[T any](name string, c class, unit string, high uint64, at func(*T) any) field[T] {
	return field[T]{spec: newSpec(name, typeF64, c, unit, high), at: at}
}

func flag[T any](name string, c class, at func(*T) any) field[T] {
	return field[T]{spec: newSpec(name, typeBool, c, "-", 1), at: at}
}

func enum[T any](name string, c class, names []string, at func(*T) any) field[T] {
	f := field[T]{spec: newSpec(name, typeEnum, c, "-", uint64(len(names)-1)), at: at}
	f.names = names
	return f
}

func token[T any](name string, c class, at func(*T) any) field[T] {
	return field[T]{spec: newSpec(name, typeToken, c, "-", MaxToken), at: at}.from(1)
}

func text[T any](name string, c class, at func(*T) any) field[T] {
	return field[T]{spec: newSpec(name, typeText, c, "-", MaxText), at: at}
}

func list[T any](name string, c class, typ fieldType, unit string, low, high uint64, at func(*T) any) field[T] {
	return field[T]{spec: newSpec(name, typ, c, unit, high), at: at}.from(low)
}
