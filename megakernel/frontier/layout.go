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
	bindTiles          // pieces of heavy rows; the sources, while they are sown
	bindOutOffsets
	bindOutTargets
	bindOutWeights
	bindInOffsets
	bindInTargets
	bindInWeights
	bindBlocks // pieces of blocks of nodes with many in-edges
	bindFacts  // of a dataflow job: what begins and what ends at each node; of one with Job.From, those

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

// Words that the director writes: a slot of the control block. Where every workgroup of a round decides
// for itself, there are two, so that one is read while the other is written; elsewhere the first is both.
const (
	ctlState    = ctlThresholds + thresholdWords + iota // what the last round did
	ctlDecided                                          // by the host: the topology of the level it was asked for
	ctlLevel                                            // the current level
	ctlPrevious                                         // topology of the level before
	ctlRaw                                              // of the current level
	ctlTopology                                         // of the current level
	ctlFrontierNodes
	ctlFrontierEdges
	ctlUnexplored
	ctlQueued     // nodes in the current hit buffer
	ctlProcessed  // frontier nodes that are done
	ctlRequeued   // frontier nodes that waited, counted each time
	ctlPasses     // dispatches of hits on this level
	ctlDirty      // 1: the third bitmap has to be cleared
	ctlSweep      // bit 0: clear the third bitmap, bit 1: gather the current one
	ctlChunkNodes // frontier nodes that a workgroup takes at a time
	ctlWalkers    // workgroups of a push
	ctlQueueNow   // first word of the current hit buffer
	ctlQueueNext  // first word of the next one
	ctlBitsNow    // first words of the bitmaps
	ctlBitsNext   //
	ctlBitsSpare  //
	ctlHeavy      // out-degree from which a push cuts a row into tiles
	ctlLogged     // records in the log
	ctlInResident // 1: the current level runs in the resident kernel
	ctlTurns      // loop iterations that the resident kernel used up in this dispatch
	ctlCounts     // what rounds of the current level counted so far

	controlWords = ctlCounts + countWords // with one slot
	slotWords    = controlWords - ctlState
)

var controlNames = slices.Concat(
	[]string{"nodes", "edges", "hit_capacity", "bit_words", "seeds", "all_active", "forced", "host_decides", "max_levels",
		"push_groups", "pull_groups", "pull_blocks", "tile_groups", "hybrid_degree", "resident", "resident_nodes", "resident_edges"},
	thresholdNames[:],
	[]string{"state", "decided", "level", "previous", "raw", "topology", "frontier_nodes", "frontier_edges", "unexplored",
		"queued", "processed", "requeued", "passes", "dirty", "sweep", "chunk_nodes", "walkers", "queue_now", "queue_next", "bits_now", "bits_next", "bits_spare",
		"heavy", "logged", "in_resident", "turns"},
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

// countNames are what the kernels of a round count, for the director of the next one: the nodes of the next
// frontier, their out-edges, those of nodes that were reached for the first time, the edges
// that a pull looked at, tiles, and the nodes that a gather found.
var countNames = [...]string{"hits", "next_edges", "first_edges", "examined", "tile_count", "gathered"}

const countWords = len(countNames)

// Words of the totals block: three sets of counts, of which one is read in a round, one filled and one
// cleared; where the director has a dispatch of its own, the first is all of it. The resident
// kernel's workgroups have words behind them, and sets of counts of their own, of four words each.
const (
	setWords        = 8
	totReached      = countWords // in the first set, by the last kernel: nodes with another value than the identity
	totReachedEdges = countWords + 1
	totTeam         = 3 * setWords

	totalsWords = totTeam + teamWords + 3*4 // of the block
)

// Words of the resident kernel's workgroups.
const (
	teamJoined = iota // workgroups that came, and bit 31 when no more may
	teamSize          // workgroups that take part; 0 until that is known

	teamWords = 4
)

// Indirect dispatch commands, of three words each and aligned to four. They have
// a buffer of their own that the host neither writes nor reads: a driver moves what the host
// touches to where it is slow to dispatch from.
const (
	argsPush = 4 * iota
	argsPull
	argsFused

	argWords
)

var argNames = []string{"push_args", "pull_args", "fused_args"}

// Words of a log record.
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
	logExamined

	logWords = 12
)

var logNames = []string{"record_level", "record_nodes", "record_edges", "record_unexplored", "record_previous", "record_raw",
	"record_topology", "record_resident", "record_passes", "record_requeued", "record_hits", "record_examined"}
