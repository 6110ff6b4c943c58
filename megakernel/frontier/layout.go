package frontier

import (
	"fmt"
	"slices"
	"strings"

	"ringmaster/megakernel/policy"
)

// The storage blocks of the kernels, by binding point.
const (
	bindControl = iota // what the director decided, and the job's constants; only it and the resident kernel write
	bindTotals         // what the kernels of a level counted
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

// Words that the director writes.
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
	ctlWalkers    // workgroups of a push; those behind them sweep
	ctlQueueNow   // first word of the current hit buffer
	ctlQueueNext  // first word of the next one
	ctlBitsNow    // first words of the bitmaps
	ctlBitsNext   //
	ctlBitsSpare  //
	ctlHeavy      // out-degree from which a push cuts a row into tiles
	ctlLogged     // records in the log
	ctlInResident // 1: the current level runs in the resident kernel
	ctlTurns      // loop iterations that the resident kernel used up in this dispatch

	controlWords
)

var controlNames = slices.Concat(
	[]string{"nodes", "edges", "hit_capacity", "bit_words", "seeds", "all_active", "forced", "host_decides", "max_levels",
		"push_groups", "pull_groups", "pull_blocks", "tile_groups", "hybrid_degree", "resident", "resident_nodes", "resident_edges"},
	thresholdNames[:],
	[]string{"state", "decided", "level", "previous", "raw", "topology", "frontier_nodes", "frontier_edges", "unexplored",
		"queued", "processed", "requeued", "passes", "dirty", "sweep", "chunk_nodes", "walkers", "queue_now", "queue_next", "bits_now", "bits_next", "bits_spare",
		"heavy", "logged", "in_resident", "turns"},
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

// Words of the totals block.
const (
	totHits       = iota // nodes of the next frontier
	totNextEdges         // their out-edges
	totFirstEdges        // out-edges of those that were reached for the first time
	totExamined          // edges looked at by a pull
	totTiles
	totGathered // nodes that a gather found
	totReached  // by the last kernel: nodes with another value than the identity
	totReachedEdges

	totalWords
)

// Words behind the totals, of the resident kernel's workgroups, and three sets of counts
// behind them, of four words each. The director clears them; no host looks at them.
const (
	teamJoined = iota // workgroups that came, and bit 31 when no more may
	teamSize          // workgroups that take part; 0 until that is known

	teamWords
	totalsWords = (totalWords+teamWords+3)/4*4 + 3*4 // of the block
)

var totalNames = []string{"hits", "next_edges", "first_edges", "examined", "tile_count", "gathered", "reached", "reached_edges"}

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

// prelude declares the constants and the blocks for the kernels.
func prelude(k kernel) string {
	var b strings.Builder
	shared := ""
	if k.kind == kindResident {
		shared = "coherent" // one level's writes are read by the next inside one dispatch
	}
	constant := func(name string, value any) { fmt.Fprintf(&b, "const uint %s = %du;\n", name, value) }
	constant("SPARSE", policy.TopologySparse)
	constant("HYBRID", policy.TopologyHybrid)
	constant("DENSE", policy.TopologyDense)
	constant("FUSED", policy.TopologyFused)
	constant("CONSTRAINED", policy.TopologyMemoryConstrained)
	constant("ACTIVE_NUMBERED", activeNumbered)
	for i, name := range stateNames {
		constant("STATE_"+name, i)
	}
	constant("LOG_RECORDS", logRecords)
	constant("TILE_EDGES", k.tileEdges())
	constant("TILES_A_GROUP", k.tilesAGroup())
	constant("SPARSE_DEGREE", sparseDegree)
	constant("LEAST_HEAVY", leastHeavy(k.narrow))
	constant("NARROW_ROWS", narrowRows)
	constant("NARROW_MOST", narrowMost)
	constant("LOOP_BUDGET", loopBudget)
	constant("CHUNK_TURNS", chunkTurns)
	constant("STAGED_HITS", stagedHits)
	constant("PUSH_GROUPS_GOAL", pushGroupsGoal)
	constant("RESIDENT_TURNS", k.residentTurns())
	constant("PROBES", probes)
	constant("RESIDENT_GROUPS", max(k.team, 1))
	constant("TOTAL_WORDS", totalWords)
	constant("TEAM_JOINED", teamJoined)
	constant("TEAM_SIZE", teamSize)
	constant("BLOCK_EDGES", k.blockEdges())

	words(&b, k)
	b.WriteString("struct LevelRecord {\n")
	for _, name := range logNames {
		fmt.Fprintf(&b, "    uint %s;\n", name)
	}
	b.WriteString("};\n")
	block := func(binding int, access, name, kind, array string) {
		fmt.Fprintf(&b, "layout(std430, binding = %d) %s buffer %s { %s %s[]; };\n", binding, access, name, kind, array)
	}
	block(bindLog, "writeonly", "Log", "LevelRecord", "level_log")
	block(bindValues, shared, "Values", "uint", "values")
	block(bindQueue, shared, "Queue", "uint", "queue")
	block(bindBits, shared, "Bits", "uint", "bits")
	block(bindTiles, "", "Tiles", "uvec2", "tiles")
	block(bindOutOffsets, "readonly", "OutOffsets", "uint", "out_offsets")
	block(bindOutTargets, "readonly", "OutTargets", "uint", "out_targets")
	block(bindOutWeights, "readonly", "OutWeights", "uint", "out_weights")
	block(bindInOffsets, "readonly", "InOffsets", "uint", "in_offsets")
	block(bindInTargets, "readonly", "InTargets", "uint", "in_targets")
	block(bindInWeights, "readonly", "InWeights", "uint", "in_weights")
	block(bindBlocks, "readonly", "Blocks", "uvec4", "heavy_blocks")
	switch {
	case k.semiring == Flow:
		block(bindFacts, "readonly", "Facts", "uvec2", "facts")
	case k.given:
		block(bindFacts, "readonly", "Given", "uint", "given")
	}
	return b.String()
}

// words declares the control and totals blocks. The director has their words in variables, which
// leaves a compiler nothing to wait for but the first load. The resident kernel has them in shared
// memory: all invocations copy them at the begin and the end.
func words(b *strings.Builder, k kernel) {
	inside := k.kind == kindDirector || k.kind == kindResident
	// Behind the named words, only the kernels that are inside look.
	block := func(binding int, access, name, array string, names []string, more int, last string) {
		fmt.Fprintf(b, "layout(std430, binding = %d) %s buffer %s {\n", binding, access, name)
		if inside {
			fmt.Fprintf(b, "    uint %s[%d];\n", array, len(names)+more)
		} else {
			for _, name := range names {
				fmt.Fprintf(b, "    uint %s;\n", name)
			}
		}
		b.WriteString(last + "};\n")
	}
	access := "readonly"
	if inside {
		access = ""
	}
	block(bindControl, access, "Control", "control_block", controlNames, 0, "")
	access = ""
	if k.kind == kindResident {
		access = "coherent volatile" // workgroups wait for each other there
	}
	sets := ""
	if inside {
		sets = "    uvec4 team_counts[3];\n"
	}
	block(bindTotals, access, "Totals", "totals_block", totalNames, teamWords, sets)
	fmt.Fprintf(b, "layout(std430, binding = %d) buffer Args {\n", bindArgs)
	for _, name := range argNames {
		fmt.Fprintf(b, "    uint %s[4];\n", name)
	}
	b.WriteString("};\n")
	if !inside {
		return
	}
	if k.kind == kindDirector {
		variables(b)
		return
	}
	names := slices.Concat(controlNames, totalNames)
	fmt.Fprintf(b, "const uint CONTROL_WORDS = %du;\nconst uint ALL_WORDS = %du;\n", len(controlNames), len(names))
	b.WriteString("shared uint all_words[ALL_WORDS];\n")
	for i, name := range names {
		fmt.Fprintf(b, "#define %s all_words[%d]\n", name, i)
	}
}

// variables declares the words as variables, and how they are loaded and stored: those that
// only the host writes are not stored, nor those of the last kernel.
func variables(b *strings.Builder) {
	var load, store strings.Builder
	for _, block := range []struct {
		array    string
		names    []string
		from, to int // those that the director writes
	}{{"control_block", controlNames, ctlState, controlWords}, {"totals_block", totalNames, totHits, totReached}} {
		for i, name := range block.names {
			fmt.Fprintf(b, "uint %s;\n", name)
			fmt.Fprintf(&load, "    %s = %s[%d];\n", name, block.array, i)
			if i >= block.from && i < block.to {
				fmt.Fprintf(&store, "    %s[%d] = %s;\n", block.array, i, name)
			}
		}
	}
	fmt.Fprintf(b, "void load_words() {\n%s}\nvoid store_words() {\n%s}\n", load.String(), store.String())
}

var logNames = []string{"record_level", "record_nodes", "record_edges", "record_unexplored", "record_previous", "record_raw",
	"record_topology", "record_resident", "record_passes", "record_requeued", "record_hits", "record_examined"}
