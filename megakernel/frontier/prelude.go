package frontier

import (
	"fmt"
	"slices"
	"strings"

	"ringmaster/megakernel/policy"
)

// prelude declares the constants and the blocks for the kernels.
func prelude(k kernel) string {
	var b strings.Builder
	shared := ""
	if k.kind == kindResident || k.kind == kindDirector {
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
	constant("MOST_CLEARED", narrowCleared)
	constant("LOOP_BUDGET", loopBudget)
	constant("STAGED_HITS", stagedHits)
	constant("PUSH_GROUPS_GOAL", pushGroupsGoal)
	constant("RESIDENT_TURNS", k.residentTurns())
	constant("PROBES", probes)
	constant("RESIDENT_GROUPS", max(k.team, 1))
	constant("STATE_AT", ctlState)
	constant("COUNTS_AT", ctlCounts)
	constant("RECORD_AT", ctlLevel)
	constant("LEVEL_AT", ctlLevel)
	constant("RECORD_WORDS", logWords)
	constant("CONTROL_WORDS", controlWords)
	constant("SLOT_WORDS", slotWords)
	constant("COUNT_WORDS", countWords)
	constant("SET_WORDS", setWords)
	constant("SETS", sets)
	constant("SEEN_AT", ctlSeen)
	constant("TEAM_SLOT", teamSlot)
	constant("TEAM_JOINED", teamJoined)
	constant("TEAM_SIZE", teamSize)
	constant("BLOCK_EDGES", k.blockEdges())

	words(&b, k)
	block := func(binding int, access, name, kind, array string) {
		fmt.Fprintf(&b, "layout(std430, binding = %d) %s buffer %s { %s %s[]; };\n", binding, access, name, kind, array)
	}
	block(bindLog, "writeonly", "Log", "uint", "level_log")
	block(bindValues, shared, "Values", "uint", "values")
	block(bindQueue, shared, "Queue", "uint", "queue")
	block(bindBits, shared, "Bits", "uint", "bits")
	block(bindTiles, shared, "Tiles", "uvec2", "tiles")
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

// words declares the control and totals blocks. The kernels beside the director read the words where
// they lie. A director of its own has them in variables, which leaves a compiler nothing to wait
// for but the first load. The level kernel and the resident one have them in shared memory.
func words(b *strings.Builder, k kernel) {
	names := controlNames
	fmt.Fprintf(b, "layout(std430, binding = %d) ", bindControl)
	switch k.kind {
	case kindDirector, kindLevel, kindResident:
		b.WriteString("buffer Control { uint control_block[]; };\n")
	default:
		b.WriteString("readonly buffer Control {\n")
		for _, name := range names {
			fmt.Fprintf(b, "    uint %s;\n", name)
		}
		b.WriteString("};\n")
	}
	access := ""
	switch k.kind {
	case kindResident:
		access = "coherent volatile " // workgroups wait for each other there
	case kindDirector:
		access = "coherent "
	}
	fmt.Fprintf(b, "layout(std430, binding = %d) %sbuffer Totals {\n    uint counted[%d];\n    uint team_words[%d];\n    uvec4 team_counts[3];\n};\n",
		bindTotals, access, totTeam, teamWords)
	fmt.Fprintf(b, "layout(std430, binding = %d) buffer Args {\n", bindArgs)
	for _, name := range argNames {
		fmt.Fprintf(b, "    uint %s[4];\n", name)
	}
	b.WriteString("};\n")
	for i, name := range countNames {
		fmt.Fprintf(b, "#define counted_%s counted[FILLED + %du]\n", name, i)
	}
	fmt.Fprintf(b, "#define reached counted[%d]\n#define reached_edges counted[%d]\n", totReached, totReachedEdges)
	rounds(b, k)
	switch k.kind {
	case kindDirector:
		variables(b)
	case kindLevel:
		b.WriteString("shared uint all_words[CONTROL_WORDS];\n")
		for _, name := range placedNames {
			fmt.Fprintf(b, "uint %s;\n", name)
		}
		if !k.recorded {
			privateWords(b)
		}
	case kindResident:
		b.WriteString("shared uint all_words[CONTROL_WORDS];\n")
		defineWords(b, k)
	}
}

// defineWords gives the names of the control block's words to those in shared memory.
func defineWords(b *strings.Builder, k kernel) {
	for i, name := range controlNames {
		if k.kind != kindLevel || !slices.Contains(placedNames, name) {
			fmt.Fprintf(b, "#define %s all_words[%d]\n", name, i)
		}
	}
}

// privateWords declares the words as variables, and how they come from shared memory and go back: what
// one invocation decides alone, it decides in half the time in registers.
func privateWords(b *strings.Builder) {
	var load, store strings.Builder
	for i, name := range controlNames {
		if slices.Contains(placedNames, name) {
			continue
		}
		fmt.Fprintf(b, "uint %s;\n", name)
		fmt.Fprintf(&load, "    %s = all_words[%d];\n", name, i)
		if i >= ctlState {
			fmt.Fprintf(&store, "    all_words[%d] = %s;\n", i, name)
		}
	}
	fmt.Fprintf(b, "void load_words() {\n%s}\nvoid store_words() {\n%s}\n", load.String(), store.String())
}

// placedNames are words that each invocation of the level kernel works out for itself: what one invocation
// does alone, all others wait for.
var placedNames = []string{"walkers", "queue_now", "queue_next", "bits_now", "bits_next", "bits_spare"}

// rounds says which slot and which set of counts a kernel has in a round. The level kernel knows an odd round by the
// number of its workgroups: a uniform that changes with each dispatch takes NVIDIA .7 µs.
func rounds(b *strings.Builder, k kernel) {
	read, written, filled := "0u", "0u", "0u"
	switch {
	case k.kind == kindDirector && k.recorded:
		read = "SLOT_WORDS" // as the director kept them
	case k.narrow || k.recorded: // one of each, in their place of the recording if there is one
	case k.kind == kindLevel:
		read, written, filled = "(gl_NumWorkGroups.x & 1u) * SLOT_WORDS", "(~gl_NumWorkGroups.x & 1u) * SLOT_WORDS", "((gl_NumWorkGroups.x & 1u) * SET_WORDS)"
		b.WriteString("#define READ_SET (~gl_NumWorkGroups.x & 1u)\n")
	case k.kind == kindResident:
		read, written = "team_words[TEAM_SLOT]", "team_words[TEAM_SLOT]" // as the level kernel of the round decided
	case k.kind == kindSow:
		filled = "SET_WORDS" // as in the round before the first
	}
	for i, name := range countNames {
		start := "0u"
		if filled != "0u" && k.kind == kindLevel {
			start = fmt.Sprintf("all_words[SEEN_AT + (gl_NumWorkGroups.x & 1u) * COUNT_WORDS + %du]", i)
		}
		fmt.Fprintf(b, "#define %s_at_begin %s\n", name, start)
	}
	fmt.Fprintf(b, "#define FILLED %s\n#define READ_SLOT %s\n#define WRITTEN_SLOT %s\n", filled, read, written)
}

// variables declares the words as variables, and how they are loaded, and stored to a slot: those that only the host
// writes are not stored. What the kernels of a round count is taken by all invocations and then cleared.
func variables(b *strings.Builder) {
	var load, take, empty strings.Builder
	for i, name := range controlNames {
		fmt.Fprintf(b, "uint %s;\n", name)
		slot := ""
		if i >= ctlState {
			slot = " + READ_SLOT"
		}
		fmt.Fprintf(&load, "    %s = control_block[%d%s];\n", name, i, slot)
		if i >= ctlCounts {
			fmt.Fprintf(&take, "    %s += counted[%d];\n", name, i-ctlCounts)
			fmt.Fprintf(&empty, "    counted[%d] = 0u;\n", i-ctlCounts)
		}
	}
	stored := controlNames[ctlState:]
	fmt.Fprintf(b, "void load_words() {\n%s}\n", load.String())
	fmt.Fprintf(b, "void store_words(uint slot) {\n    uint words[%d] = uint[](%s);\n", len(stored), strings.Join(stored, ", "))
	fmt.Fprintf(b, "    for (uint i = gl_LocalInvocationIndex; i < %du; i += gl_WorkGroupSize.x) {\n        control_block[STATE_AT + slot + i] = words[i];\n    }\n}\n", len(stored))
	fmt.Fprintf(b, "void take_counts() {\n%s    barrier();\n%s    memoryBarrierBuffer();\n    barrier();\n}\n", take.String(), empty.String())
}
