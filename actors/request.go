package actors

import (
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// deviceView is what a decision needs to know of the queue's worker.
type deviceView struct {
	limits       policy.Limits
	memoryBudget uint64 // bytes, 0: none
	known        bool
	local        bool
	reporting    bool         // the remote worker has reported a launch
	lease        policy.Lease // of a worker elsewhere; that of one here is its engine's to say
	identity     string       // of device and driver, the same for all devices of a kind; "" if not known
}

// requestOf puts a decision's request together from the queue's own records and its
// worker. A budget of 0 is "none", so the smaller of two given budgets holds.
func requestOf(v *view, d *deviceView) policy.Request {
	q, g := &v.queue, v.graphs()
	r := policy.Request{
		QueueLen:              q.QueueLen,
		RequestedWorkerGroups: q.RequestedWorkerGroups,
		Limits: d.limits.Lower(policy.Limits{
			MaxWorkgroupSizeX:          q.MaxWorkgroupSizeX,
			MaxWorkgroupsPerDimension:  q.MaxWorkgroupsPerDimension,
			MaxInvocationsPerWorkgroup: q.MaxInvocationsPerWorkgroup,
		}),
		RequestedHitCapacity: q.RequestedHitCapacity,
		ExpectedHitsPerItem:  q.ExpectedHitsPerItem,
		HotOpcodeCount:       q.HotOpcodeCount,
		HotWindowCount:       q.HotWindowCount,
		RequeueCount:         v.requeues,
		MaxPriorityAge:       q.MaxPriorityAge,
		GraphNodeCount:       g.NodeCount,
		GraphEdgeCount:       g.EdgeCount,
		FrontierDensityBps:   g.FrontierDensityBps,
		MemoryPressureBps:    g.MemoryPressureBps,
		FrontierOutDegreeSum: g.FrontierOutDegreeSum,
		FrontierNodes:        g.FrontierNodes,
		UnexploredEdges:      g.UnexploredEdges,
		ResidentDeviceBytes:  g.ResidentDeviceBytes,
		MemoryBudgetBytes:    g.DeviceMemoryBudgetBytes,
		Cost:                 v.measured.Any,
		Interpreted:          v.measured.By[policy.WayInterpreted],
		Compiled:             v.measured.By[policy.WayCompiled],
		WaveSlots:            v.measured.WaveSlots,
		CompiledReady:        v.compiled,
		Lease:                v.lease,
		Leased:               v.measured.By[policy.WayLeased],
		WaveHostNs:           v.measured.WaveHostNs,
		Unmeasured:           (d.local || d.reporting) && !v.ran,
		OtherQueues:          v.others,
		TargetMs:             soonest(q.LatencyTargetMs, v.target),
	}
	if !q.Has.Has(telemetry.HasQueueLen) && v.hasBacklog {
		r.QueueLen = v.backlog
	}
	v.walk.join(&r)
	if r.MemoryBudgetBytes == 0 || d.memoryBudget != 0 && d.memoryBudget < r.MemoryBudgetBytes {
		r.MemoryBudgetBytes = d.memoryBudget
	}
	if g.Has.Has(telemetry.HasFrontierDensityBps) {
		r.Present |= policy.HasFrontierDensity
	}
	if g.Has.Has(telemetry.HasMemoryPressureBps) {
		r.Present |= policy.HasMemoryPressure
	}
	if g.Has.Has(telemetry.HasFrontierOutDegreeSum | telemetry.HasFrontierNodes | telemetry.HasUnexploredEdges) {
		r.Present |= policy.HasFrontierEdges
	}
	return r
}

// ask lets a decision ask for what the tuner wants for its launches, and says of how many slots
// these are, and the number of the look that it is, if it is one. A look is asked for only
// while slots wait, and where even a launch several times as long is nobody's wait beyond a turn.
func (f *family) ask(r *policy.Request, before *policy.PlanState) (slots uint32, look uint64) {
	view := f.suggested.Load()
	if view == nil {
		return 0, 0
	}
	cfg, last := &f.system.cfg.Policy, uint64(session.NoLook)
	slots = cfg.PlannedLaunch(r, before)
	if r.QueueLen > 0 && cfg.Spares(r, slots) {
		last = f.looked.Load()
	}
	r.Tuned, look = view.For(slots, last)
	return slots, look
}

// WireGeometry is a geometry as launch reports carry it. They carry the depth of what ran
// in a field of its own, and none of what was recommended.
func WireGeometry(g policy.Geometry) telemetry.Geometry {
	return telemetry.Geometry{WorkgroupSizeX: g.Width, Groups: g.Groups, ClaimChunk: g.Chunk}
}

// ranGeometry is the geometry that a report says its launch ran at.
func ranGeometry(l *telemetry.Launch) policy.Geometry {
	return policy.Geometry{Width: l.Applied.WorkgroupSizeX, Groups: l.Applied.Groups, Chunk: l.Applied.ClaimChunk, Depth: l.AppliedDepth}
}

// Walk is what a worker of this process says about the graphs of one of its queues and
// about the job that walks one of them. It is folded like a graph record and replaces
// the walk before it. Where a walk and publishers' graph records disagree, the walk
// counts.
type Walk struct {
	// Header is the header of the graph record that tells others the same. The decision
	// that answers it names its sequence number.
	Header telemetry.Header
	// Graph is all that is known: fields that only the walk before had are forgotten.
	Graph telemetry.Graph
	// Nodes is the number of frontier nodes, which count as work of the queue like its
	// slots; 0 if no job runs.
	Nodes uint32
	// HitCapacity is the room for hits that the job could use, in nodes; MaxWidth is the
	// widest workgroup of its kernels. 0 leaves either open.
	HitCapacity, MaxWidth uint32
	// Requeued is how many frontier nodes had to wait for room since the walk before.
	Requeued uint64
	// Answered, if not nil, is called with each decision that has seen this
	// walk and none after it, by the actor that made it: it must be quick.
	Answered func(DecisionInput)
}

// Walk folds a walk into its queue and asks for a decision without waiting for it.
// ErrUnstable says that none will come soon.
func (s *System) Walk(worker, queue string, w Walk) error {
	return s.with(worker, queue, func(f *family) error {
		f.dispatch(f.cell.foldWalk(&w, s.tick.Load()))
		if f.quarantine.Load() != nil {
			return ErrUnstable
		}
		return nil
	})
}

// foldWalk takes over a walk. A queue whose graph was walked is known from then on.
func (c *cell) foldWalk(w *Walk, tick uint64) wakes {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.walked = c.walked || w.Nodes > 0
	c.walk = w
	c.requeues = addSaturating(c.requeues, w.Requeued)
	c.note(&w.Header)
	c.counts.Records++
	c.touched = tick
	return c.trigger()
}

// resident reports whether graphs of the queue are on a device here: decisions need to know
// for as long as they are.
func (c *cell) resident() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.walk != nil && c.walk.Graph.ResidentDeviceBytes > 0
}

// graphs is what is known of the queue's graphs.
func (v *view) graphs() telemetry.Graph {
	g := v.graph
	if v.walk != nil {
		g.Merge(&v.walk.Graph)
	}
	return g
}

// join adds to a request what a walk asks for beside its graph.
func (w *Walk) join(r *policy.Request) {
	if w == nil || w.Nodes == 0 {
		return
	}
	r.QueueLen = max(r.QueueLen, w.Nodes)
	if r.RequestedHitCapacity == 0 {
		r.RequestedHitCapacity = w.HitCapacity
	}
	r.Interpreted, r.Compiled = policy.Cost{}, policy.Cost{} // of slots, which a job does not run
	r.Limits = r.Limits.Lower(policy.Limits{MaxWorkgroupSizeX: w.MaxWidth, MaxInvocationsPerWorkgroup: w.MaxWidth})
}

// answer tells the job of a decision.
func (w *Walk) answer(d *DecisionInput) {
	if w != nil && w.Answered != nil {
		w.Answered(*d)
	}
}
