package telemetry

// Reason explains one rule of a recommendation.
type Reason struct {
	Rule      string // name of the policy rule
	Threshold uint64
	Value     uint64
	Distance  uint64 // how far Value is from flipping the rule
	Held      bool   // hysteresis kept the previous outcome
}

// Recommendation is the policy's answer for one queue. All fields are always
// sent; names of enumerations are those of the policy package.
type Recommendation struct {
	Decision            uint64
	AnsweredIncarnation uint64 // the newest record this decision saw
	AnsweredSeq         uint64
	AnsweredSentNs      int64  // that record's sent_ns, for latency measurement
	Error               string // why there is no plan; empty when the plan is valid
	WorkgroupSizeX      uint32
	Groups              uint32
	ClaimChunk          uint32
	BatchDepth          uint32 // most slots of one launch
	LaunchMode          string // "wave" or "lease"
	DispatchGrid        [3]uint32
	WorkerGroups        uint32
	HitCapacity         uint32
	ExecutionMode       string
	Topology            string
	MemoryBudgetBytes   uint64
	QueueLen            uint32 // the request this answers, for people
	FrontierDensityBps  uint16
	MemoryPressureBps   uint16
	SwitchHeld          bool // hysteresis kept the previous topology
	Changed             bool // the plan launches something else than the previous one
	Heartbeat           bool // a repeat of the last decision
	CommittedOnPublish  bool // this worker has never reported a launch
	ValidForMs          uint32
	Reasons             []Reason // at most 16
	InFlight            uint32   // most launches of the queue under way at a time
	Fenced              bool     // decision numbers go on across runtimes, and each is decided once
	Decided             []byte   // of runtimes, which share it: what the next decision builds on; at most MaxDecided bytes, often none
}

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
	reserved[Recommendation]("reserved_16"), // slot_count
	list[Recommendation]("dispatch_grid", gauge, typeGrid, "workgroups", 3, 3, func(r *Recommendation) any { return &r.DispatchGrid }),
	u32("worker_groups", gauge, "workgroups", func(r *Recommendation) *uint32 { return &r.WorkerGroups }),
	u32("hit_capacity", gauge, "hits", func(r *Recommendation) *uint32 { return &r.HitCapacity }),
	reserved[Recommendation]("reserved_20"), // pressure
	text("execution_mode", gauge, func(r *Recommendation) any { return &r.ExecutionMode }).to(MaxToken),
	text("topology", gauge, func(r *Recommendation) any { return &r.Topology }).to(MaxToken),
	reserved[Recommendation]("reserved_23"), // promote_hot_opcodes
	reserved[Recommendation]("reserved_24"), // promote_hot_windows
	reserved[Recommendation]("reserved_25"), // age_priority_work
	reserved[Recommendation]("reserved_26"), // estimated_peak_bytes
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
	reserved[Recommendation]("reserved_37"), // hit_capacity_reduced
	u32("in_flight", gauge, "launches", func(r *Recommendation) *uint32 { return &r.InFlight }),
	flag("fenced", event, func(r *Recommendation) any { return &r.Fenced }),
	list[Recommendation]("decided", event, typeBytes, "-", 0, MaxDecided, func(r *Recommendation) any { return &r.Decided }),
)

func (r *Recommendation) rows() rows { return recommendationSchema }
