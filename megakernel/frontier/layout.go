package frontier

import "structs"

// The storage blocks of the kernels, by binding point.
const (
	bindControl = iota // the job, and what its rounds leave for each other
	bindTotals         // what the kernels of a round counted
	bindArgs           // the group counts of the persistent kernel
	bindLog            // a record for each level
	bindValues         // a word for each node
	bindQueue          // two hit buffers
	bindBits           // three bitmaps over the nodes
	bindTiles          // pieces of heavy rows; at first the sources, until they are sown
	bindOutOffsets
	bindOutTargets
	bindOutWeights
	bindInOffsets
	bindInTargets
	bindInWeights
	bindBlocks // pieces of blocks of nodes with many in-edges
	bindFacts  // of a dataflow job, what each node generates and kills; of a job with Job.From, those values

	bindings = iota
)

var bindingNames = [bindings]string{"CONTROL", "TOTALS", "ARGS", "LOG", "VALUES", "QUEUE", "BITS", "TILES",
	"OUT_OFFSETS", "OUT_TARGETS", "OUT_WEIGHTS", "IN_OFFSETS", "IN_TARGETS", "IN_WEIGHTS", "BLOCKS", "FACTS"}

// The structs below have the words of those in shaders/control.glsl, which says what they mean.

// slots is how many rounds, and sets of counts, there are: a round reads one, writes the next and clears the third.
const slots = 3

type controlBlock struct {
	_      structs.HostLayout
	job    jobWords
	rounds [slots]roundWords
}

type jobWords struct {
	_                structs.HostLayout
	nodes            uint32
	edges            uint32
	hitCapacity      uint32
	bitWords         uint32
	seeds            uint32
	allActive        uint32
	forced           uint32
	hostDecides      uint32
	maxLevels        uint32
	pushGroups       uint32
	pullBlocks       uint32
	persistentGroups uint32
	persistentNodes  uint32
	persistentEdges  uint32
	persistentTurns  uint32

	Thresholds
}

type roundWords struct {
	_           structs.HostLayout
	state       uint32
	decided     uint32
	queued      uint32
	processed   uint32
	dirty       uint32
	clears      uint32
	logged      uint32
	levelRecord // of the current level
	nextEdges   uint32
	firstEdges  uint32
	tileCount   uint32
	gathered    uint32
}

type totalsBlock struct {
	_            structs.HostLayout
	teamJoined   uint32
	teamAgreed   uint32
	teamPadding  [2]uint32
	teamCounts   [3][4]uint32
	counted      [slots]countWords
	reached      uint32
	reachedEdges uint32
}

type countWords struct {
	_          structs.HostLayout
	hits       uint32
	examined   uint32
	nextEdges  uint32
	firstEdges uint32
	tileCount  uint32
	gathered   uint32
}

type levelRecord struct {
	_             structs.HostLayout
	level         uint32
	frontierNodes uint32
	frontierEdges uint32
	unexplored    uint32
	previous      uint32
	raw           uint32
	topology      uint32
	persistent    uint32
	passes        uint32
	requeued      uint32
	hits          uint32
	examined      uint32
}

const argsBytes = 3 * 4

// Nodes that are active at first, in jobWords.allActive.
const (
	activeSources  = iota // the sources
	activeNumbered        // all, and each begins with its own number
	activeEmpty           // all, and each begins with the identity
)

// States of a job, in roundWords.state.
const (
	stateStart      = iota // sources are sown
	statePush              // the last round pushed
	stateTiles             // the last round pushed along tiles
	stateGather            // the last round gathered requeued nodes
	statePull              // the last round pulled
	statePersistent        // the last round ran levels in the persistent kernel
	stateFull              // the log is full
	stateAsk               // the host has to decide the level
	stateLevels            // ended at the bound of levels
	stateStuck             // a workgroup of the persistent kernel waited too long for another
	stateDone
)

var stateNames = []string{"START", "PUSH", "TILES", "GATHER", "PULL", "PERSISTENT", "FULL", "ASK", "LEVELS", "STUCK", "DONE"}
