package telemetry

// Kind names the schema of a record.
type Kind uint8

// The kinds of record, in the order of their wire codes. KindInvalid is never sent.
const (
	KindInvalid Kind = iota
	KindQueue
	KindGraph
	KindPriority
	KindLaunch
	KindWorker
	KindRecommendation
	KindWork
	KindDone
	KindRejected
	KindHeap
	KindResident
	KindCancel

	lastKind = KindCancel
)

// Presence has one bit for each field of a record's body, bit i for the
// field with the i-th body position in the schema. A field that is absent on
// the wire has its bit clear and its Go value zero; a measured zero has its bit set.
type Presence uint64

// Has reports whether every field of want is present.
func (p Presence) Has(want Presence) bool { return p&want == want }

// Header is what every record carries.
type Header struct {
	Kind        Kind
	Minor       uint32 // schema minor version of the sender
	Incarnation uint64 // random, drawn once per publisher start
	Seq         uint64 // counts up from 1 within an incarnation, for each subject
	SentNs      int64  // sender's clock, Unix nanoseconds
	Queue       string // optional; required where the subject's queue token is _batch
}

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
)

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
)

// Priority sets the scheduling priority of one queue among its siblings.
type Priority struct {
	Has Presence

	Priority    float64 // gauge, finite, 0..1e9; larger is sooner
	Coefficient float64 // gauge, 0..1: how freely the queue shares with its siblings
}

// Presence bits of Priority, in schema order.
const (
	HasPriority Presence = 1 << iota
	HasCoefficient
)

// LaunchStatus is the outcome of a launch.
type LaunchStatus uint8

// Outcomes of a launch.
const (
	LaunchOK     LaunchStatus = iota // the launch ran to its end
	LaunchFailed                     // the launch did not run or was lost; Error says why
)

// TimeSource says what measured ElapsedNs.
type TimeSource uint8

// Sources of a launch's elapsed time.
const (
	TimeNone  TimeSource = iota // not measured
	TimeQuery                   // a GL timer query that passed the plausibility check
	TimeWall                    // a finish and the host's monotonic clock
)

// Geometry is the shape of one launch.
type Geometry struct {
	WorkgroupSizeX uint32 // invocations per workgroup
	Groups         uint32 // workgroups dispatched
	ClaimChunk     uint32 // slots claimed by one ticket
}

// Launch reports one launch.
type Launch struct {
	Has Presence

	Launch       uint64 // event id, unique within an incarnation, from 1
	Decision     uint64 // decision that was applied, 0 if none
	Status       LaunchStatus
	Error        string   // at most 256 bytes, empty when OK
	Applied      Geometry // what was dispatched
	Recommended  Geometry // what the decision asked for
	NotApplied   string   // why Applied differs from Recommended, empty when equal
	ElapsedNs    uint64   // device time
	TimeSource   TimeSource
	IdleNs       uint64 // device idle before the launch
	WallNs       uint64 // host time from submission to collection
	Executed     uint64 // slots that reached done
	Faulted      uint64 // slots that ended in a fault
	Requeued     uint64 // slots that were attempted and go round again, or were not reached
	Hits         uint64
	OpcodeCounts []uint32 // executions by opcode, index = opcode, at most 64
	Fingerprint  []byte   // names the kernel, the same at every geometry: 0 or 32 bytes, of its source
	Mode         LaunchMode
	Kernel       string // name of the kernel that ran, at most 256 bytes
	InFlight     uint32 // launches under way at the worker when it began, itself included
	AppliedDepth uint32 // most slots the launch could take, 0: as many as there were
}

// LaunchMode is how a launch reached the device.
type LaunchMode uint8

// Launch modes.
const (
	ModeWave  LaunchMode = iota // a dispatch of its own
	ModeLease                   // a kernel that stays on the device
)

// Presence bits of Launch, in schema order. Geometry is three wire fields each.
const (
	HasLaunch Presence = 1 << iota
	HasDecision
	HasStatus
	HasError
	HasAppliedWorkgroupSizeX
	HasAppliedGroups
	HasAppliedClaimChunk
	HasRecommendedWorkgroupSizeX
	HasRecommendedGroups
	HasRecommendedClaimChunk
	HasNotApplied
	HasElapsedNs
	HasTimeSource
	HasIdleNs
	HasWallNs
	HasExecuted
	HasFaulted
	HasRequeued
	HasHits
	HasOpcodeCounts
	HasFingerprint
	HasMode
	HasKernel
	HasInFlight
	HasAppliedDepth
)

// Worker announces a worker and its device.
type Worker struct {
	Has Presence

	MaxWorkgroupSizeX          uint32
	MaxWorkgroupsPerDimension  uint32
	MaxInvocationsPerWorkgroup uint32
	SubgroupSize               uint32 // 0 if unknown
	Vendor                     string // at most 256 bytes each
	Renderer                   string
	Driver                     string
	DeviceUUID                 string
	MemoryBudgetBytes          uint64   // 0 means no budget
	Capabilities               []string // at most 32, at most 64 bytes each
	Opcodes                    []Opcode // the operator's own, at most MaxUserOpcodes
}

// Opcode is an opcode that an operator added to the built-in ones.
type Opcode struct {
	ID   uint32
	Name string // at most 64 bytes
}

// Presence bits of Worker, in schema order.
const (
	HasWorkerMaxWorkgroupSizeX Presence = 1 << iota
	HasWorkerMaxWorkgroupsPerDimension
	HasWorkerMaxInvocationsPerWorkgroup
	HasSubgroupSize
	HasVendor
	HasRenderer
	HasDriver
	HasDeviceUUID
	HasMemoryBudgetBytes
	HasCapabilities
	HasOpcodes
)

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
	LaunchMode          string // "wave", "lease" or "auto"
	SlotCount           uint32
	DispatchGrid        [3]uint32
	WorkerGroups        uint32
	HitCapacity         uint32
	Pressure            string
	ExecutionMode       string
	Topology            string
	PromoteHotOpcodes   bool
	PromoteHotWindows   bool
	AgePriorityWork     bool
	EstimatedPeakBytes  uint64
	MemoryBudgetBytes   uint64
	QueueLen            uint32 // the request this answers, for people
	FrontierDensityBps  uint16
	MemoryPressureBps   uint16
	SwitchHeld          bool // hysteresis kept the previous topology
	Changed             bool // the plan differs from the previous decision's
	Heartbeat           bool // a repeat of the last decision
	CommittedOnPublish  bool // this worker has never reported a launch
	ValidForMs          uint32
	Reasons             []Reason // at most 16
	HitCapacityReduced  bool     // HitCapacity is below what was wanted, so that the plan fits the budget
	InFlight            uint32   // most launches of the queue under way at a time
}

// Slot is one unit of submitted work. Tenant and sequence are the worker's.
type Slot struct {
	Opcode   uint32
	Priority uint32 // 0 critical, 1 high, 2 normal, 3 low, 4 idle
	Args     [12]uint32
	NArgs    int // arguments given; the rest are zero
}

// Work is a batch of slots for one queue.
type Work struct {
	Has Presence

	Batch       string // 1..64 of [A-Za-z0-9_-]; the de-duplication id
	Slots       []Slot // 1..MaxBatchSlots
	WantResults bool   // ask for the result word of every slot
	Epoch       uint64 // heap epoch the batch depends on, 0 if none
	DeadlineMs  uint32 // from when the worker takes the batch, 0 if none
}

// Presence bits of Work, in schema order.
const (
	HasBatch Presence = 1 << iota
	HasSlots
	HasWantResults
	HasEpoch
	HasDeadlineMs
)

// Fault is one slot of a batch that ended in a fault.
type Fault struct {
	Index uint32 // position in the batch
	Code  uint32 // ring fault code
}

// Done reports a finished batch.
type Done struct {
	Batch      string
	Executed   uint32
	Faulted    uint32
	Faults     []Fault  // the first MaxFaults of them
	Results    []uint32 // one per slot if the batch asked for them
	WorkSentNs int64    // sent_ns of the batch, for latency measurement
	Dropped    uint32   // slots that did not run
	Error      string   // why: "heap lost", "canceled", "deadline" or "device lost"; empty if none was dropped
	Prints     []uint32 // PrintWords for each of the first MaxPrints: position in the batch, arguments
	Printed    uint32   // print slots whose words the worker still had
}

// HeapOp is what a heap request does.
type HeapOp uint8

// Operations on a window.
const (
	HeapRead  HeapOp = iota // answer Count words from Offset on
	HeapWrite               // store Data from Offset on
)

// Heap asks for a transfer from or to the queue's window, and answers it. The
// answer repeats operation, offset and the words moved; that of a read has
// them in Data.
type Heap struct {
	Op     HeapOp
	Offset uint32 // first word in the window
	Count  uint32 // words to read, or that were moved
	Data   []byte // little-endian words, at most MaxHeapWords of them
	Epoch  uint64 // in an answer, the heap's; 0 in a request
}

// Rejected reports a refused payload or record.
type Rejected struct {
	Subject    string // subject it came in on
	Reason     string // short code, see the Reason constants in errors.go
	Detail     string // a sentence for people
	Bytes      uint32 // size of the payload
	Suppressed uint64 // refusals not reported since the last report, by the rate limit
}
