package frontier

import (
	"slices"
)

// The storage blocks of the kernels, by binding point.
const (
	bindControl = iota // the job's constants, and what the director decided
	bindTotals         // what the kernels of a round counted
	bindArgs           // the dispatches' group counts
	bindLog            // a record for each level
	bindValues         // a word for each node
	bindQueue          // two hit buffers
	bindBits           // three bitmaps over the nodes; on narrow devices two more, of nodes that a pull leaves out
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

// Words of the control block that the host writes before a job.
const (
	ctlNodes        = iota
	ctlEdges        // out-edges of the graph
	ctlHitCapacity  // nodes of a hit buffer
	ctlBitWords     // words of a bitmap
	ctlSeeds        // sources
	ctlAllActive    // which nodes are active at first, see activeSources
	ctlForced       // topology of every level, or 0
	ctlHostDecides  // 1: wait for the host before each level
	ctlMaxLevels    // levels after which the job ends
	ctlPushGroups   // most workgroups of a push
	ctlPullGroups   // workgroups of a pull
	ctlPullBlocks   // blocks of a pull: of nodes, and then pieces of heavy ones
	ctlTileGroups   // most workgroups over tiles
	ctlHybridDegree // out-degree from which hybrid cuts a row into tiles
	ctlResident     // 1: sparse levels may run in the resident kernel, 2: fused ones
	ctlResidentNodes
	ctlResidentEdges
	ctlThresholds
)

// Words that the director writes: a slot of the control block. Where every workgroup of a round decides for
// itself, a round reads one slot and writes the next; elsewhere the first slot is read and written.
const (
	ctlState     = ctlThresholds + thresholdWords + iota // what the last round did
	ctlDecided                                           // the topology that the host decided for the level it was asked about
	ctlQueued                                            // nodes in the current hit buffer
	ctlProcessed                                         // frontier nodes that are done
	ctlDirty                                             // 1: the third bitmap has to be cleared
	ctlSweep                                             // bit 0: clear the third bitmap, bit 1: gather the current one
	ctlWalkers                                           // workgroups of a push
	ctlQueueNow                                          // first word of the current hit buffer
	ctlQueueNext                                         // first word of the next one
	ctlBitsNow                                           // first words of the bitmaps
	ctlBitsNext                                          //
	ctlBitsSpare                                         //
	ctlHeavy                                             // out-degree from which a push cuts a row into tiles
	ctlLogged                                            // records in the log
	ctlTurns                                             // loop iterations that the resident kernel used up in this dispatch
	ctlLevel                                             // the current level; with the words up to examined its record in the log
	ctlFrontierNodes
	ctlFrontierEdges
	ctlUnexplored
	ctlPrevious   // topology of the level before
	ctlRaw        // of the current level
	ctlTopology   // of the current level
	ctlInResident // 1: the current level runs in the resident kernel
	ctlPasses     // passes over the current level's frontier
	ctlRequeued   // frontier nodes that waited, counted each time
	ctlCounts     // what rounds of the current level counted so far

	namedWords   = ctlCounts + countWords
	ctlPlan      = (namedWords + 3) / 4 * 4 // what the next round needs in order to decide, see plan.glsl
	slotWords    = ctlPlan + planWords - ctlState
	controlWords = ctlState + slotWords // with one slot

	planWords     = 16
	planCompletes = 2 // in the first word: the round before completes a level
)

var controlNames = slices.Concat(
	[]string{"nodes", "edges", "hit_capacity", "bit_words", "seeds", "all_active", "forced", "host_decides", "max_levels",
		"push_groups", "pull_groups", "pull_blocks", "tile_groups", "hybrid_degree", "resident", "resident_nodes", "resident_edges"},
	thresholdNames[:],
	[]string{"state", "decided", "queued", "processed", "dirty", "sweep", "walkers", "queue_now", "queue_next", "bits_now", "bits_next", "bits_spare",
		"heavy", "logged", "turns", "level", "frontier_nodes", "frontier_edges", "unexplored", "previous", "raw", "topology", "in_resident", "passes", "requeued"},
	countNames[:],
)

// Nodes that are active at first, in the control block.
const (
	activeSources  = iota // the sources
	activeNumbered        // all, and each begins with its own number
	activeEmpty           // all, and each begins with the identity
)

// States of a job, in the control block.
const (
	stateStart    = iota // sources are sown
	statePush            // the last round pushed
	stateTiles           // the last round pushed along tiles
	stateGather          // the last round gathered requeued nodes
	statePull            // the last round pulled
	stateResident        // the last round ran levels in the resident kernel, and decided the next
	stateFull            // the log is full
	stateAsk             // the host has to decide the level
	stateLevels          // ended at the bound of levels
	stateStuck           // a workgroup of the resident kernel waited too long for another
	stateDone
)

var stateNames = []string{"START", "PUSH", "TILES", "GATHER", "PULL", "RESIDENT", "FULL", "ASK", "LEVELS", "STUCK", "DONE"}

// countNames are what the kernels of a round count for the director of the next round: the nodes of the next
// frontier, the edges at which a pull looked, the out-edges of the next frontier, those of nodes that were
// reached for the first time, the tiles, and the nodes that a gather found.
var countNames = [...]string{"hits", "examined", "next_edges", "first_edges", "tile_count", "gathered"}

const countWords = len(countNames)

// Words of the totals block: three sets of counts, of which a round reads one, fills one and clears one. Where the
// director has a dispatch of its own only the first set is used. Before them are the words of the resident kernel's
// workgroups and their own three sets of counts, of four words each, all in one cache line.
const (
	sets            = 3 // sets of counts, and slots
	setWords        = 8
	totReached      = countWords // in the first set, by the last kernel: nodes whose value is not the identity
	totReachedEdges = countWords + 1
	totTeam         = 0
	totCounted      = teamWords + 3*4

	totalsWords = totCounted + sets*setWords // of the block
)

// Words of the resident kernel's workgroups.
const (
	teamJoined = iota // workgroups that joined; bit 31 is set when no more may
	teamSize          // workgroups that take part; 0 until that is known
	teamSlot          // first word of their slot, relative to ctlState

	teamWords = 4
)

// Indirect dispatch commands, of three words each and aligned to four words. They have a
// buffer of their own that the host neither writes nor reads: a driver moves what the host
// touches to memory from which dispatching is slow.
const (
	argsPush = 4 * iota
	argsPull
	argsFused
	argsTiles // this and the next where tiles and the director have dispatches of their own
	argsDirector

	argWords
)

var argNames = []string{"push_args", "pull_args", "fused_args", "tiles_args", "director_args"}

// Words of a log record, as they are in the control block.
const (
	logLevel = iota
	logNodes
	logEdges
	logUnexplored
	logPrevious
	logRaw
	logTopology
	logResident
	logPasses
	logRequeued
	logHits
	logExamined // edges, by a pull

	logWords
)
