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
	constants(&b, k)
	words(&b, k)
	blocks(&b, k)
	return b.String()
}

func constants(b *strings.Builder, k kernel) {
	constant := func(name string, value any) { fmt.Fprintf(b, "const uint %s = %du;\n", name, value) }
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
	constant("LEAST_TILE_GROUPS", narrowTiled)
	constant("LOOP_BUDGET", loopBudget)
	constant("STAGED_HITS", stagedHits)
	constant("PUSH_GROUPS_GOAL", pushGroupsGoal)
	constant("RESIDENT_TURNS", k.residentTurns())
	constant("PROBES", probes)
	constant("RESIDENT_GROUPS", max(k.team, 1))
	constant("STATE_AT", ctlState)
	constant("COUNTS_AT", ctlCounts)
	constant("LEVEL_AT", ctlLevel)
	constant("LOGGED_AT", ctlLogged)
	constant("RECORD_WORDS", logWords)
	constant("SLOT_WORDS", slotWords)
	constant("PLAN_AT", ctlPlan)
	constant("COMPLETES", planCompletes)
	constant("CONTROL_WORDS", controlWords)
	constant("COUNT_WORDS", countWords)
	constant("SET_WORDS", setWords)
	constant("SETS", sets)
	constant("TEAM_SLOT", teamSlot)
	constant("TEAM_JOINED", teamJoined)
	constant("TEAM_SIZE", teamSize)
	constant("BLOCK_EDGES", k.blockEdges())
}

// blocks declares the other blocks.
func blocks(b *strings.Builder, k kernel) {
	shared := ""
	if k.kind == kindResident || k.kind == kindDirector {
		shared = "coherent" // a level reads what the one before wrote in the same dispatch
	}
	block := func(binding int, access, name, kind, array string) {
		fmt.Fprintf(b, "layout(std430, binding = %d) %s buffer %s { %s %s[]; };\n", binding, access, name, kind, array)
	}
	block(bindLog, "writeonly", "Log", wordType(k), "level_log")
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
}

// words declares the control and totals blocks. Most kernels read the words directly from the control
// block. A director that is a kernel of its own has them in variables, so that it waits only for the first
// load. The level kernel and the resident kernel have them in shared memory.
func words(b *strings.Builder, k kernel) {
	names := controlNames
	fmt.Fprintf(b, "layout(std430, binding = %d) ", bindControl)
	switch k.kind {
	case kindDirector, kindLevel, kindResident:
		fmt.Fprintf(b, "buffer Control { %s control_block[]; };\n", wordType(k))
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
		access = "coherent volatile " // workgroups wait for each other by these words
	case kindDirector:
		access = "coherent "
	}
	fmt.Fprintf(b, "layout(std430, binding = %d) %sbuffer Totals {\n    uint team_words[%d];\n    uvec4 team_counts[3];\n    uint counted[%d];\n};\n",
		bindTotals, access, teamWords, sets*setWords)
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
		for _, name := range placedNames {
			fmt.Fprintf(b, "uint %s;\n", name)
		}
		if k.recorded {
			b.WriteString("shared uint all_words[CONTROL_WORDS];\n")
			defineWords(b, k)
		}
	case kindResident:
		b.WriteString("shared uint all_words[CONTROL_WORDS];\n")
		defineWords(b, k)
	}
}

// wordType is how a kernel accesses the control block and the log: the single invocation that decides takes four words
// at a time.
func wordType(k kernel) string {
	if k.kind == kindLevel && !k.recorded {
		return "uvec4"
	}
	return "uint"
}

// placedNames are words that each invocation of the level kernel computes for itself, and sharedNames those that the
// deciding invocation tells the others.
var (
	placedNames = []string{"walkers", "queue_now", "queue_next", "bits_now", "bits_next", "bits_spare"}
	sharedNames = []string{"state", "sweep", "level", "queued", "frontier_nodes", "frontier_edges", "topology", "hits", "tile_count", "hit_capacity", "bit_words", "push_groups", "nodes", "pull_blocks", "hybrid_degree"}
)

// settled are words that are the same in most jobs. Kernels of such jobs have them as constants.
var settled = map[string]uint32{"all_active": 0, "forced": 0, "host_decides": 0, "by_edges": 1, "pressed": 0}

// defineWords defines the names of the words that are in shared memory.
func defineWords(b *strings.Builder, k kernel) {
	for i, name := range controlNames {
		at := slices.Index(sharedNames, name)
		value, same := settled[name]
		switch {
		case same && k.settled:
			if k.kind == kindResident {
				fmt.Fprintf(b, "#define %s %du\n", name, value)
			}
		case k.kind == kindLevel && slices.Contains(placedNames, name):
		case k.kind != kindLevel || k.recorded:
			fmt.Fprintf(b, "#define %s all_words[%d]\n", name, i)
		case at >= 0:
			fmt.Fprintf(b, "#define %s told[%d].%c\n", name, at/4, "xyzw"[at%4])
		}
	}
}

// decidedWords declares the words as variables of the invocation that decides, and functions that load them, share
// them with the other invocations, and keep them for the next round.
func decidedWords(b *strings.Builder, k kernel) {
	var load, share, keep strings.Builder
	kept := make([]string, ctlPlan-ctlState)
	for i := range kept {
		kept[i] = "0u" // a word that wide devices do not have
	}
	for i, name := range controlNames {
		if slices.Contains(placedNames, name) {
			continue
		}
		if value, ok := settled[name]; ok && k.settled {
			fmt.Fprintf(b, "const uint %s = %du;\n", name, value)
			continue
		}
		fmt.Fprintf(b, "uint %s;\n", name)
		switch {
		case i < ctlState:
			fmt.Fprintf(&load, "    %s = control_block[%d].%c;\n", name, i/4, "xyzw"[i%4])
			continue
		case i < ctlCounts:
			fmt.Fprintf(&load, "    %s = control_block[READ_SLOT / 4u + %d].%c;\n", name, i/4, "xyzw"[i%4])
		default:
			fmt.Fprintf(&load, "    %s = control_block[READ_SLOT / 4u + %d].%c + counted[READ_SET + %d];\n", name, i/4, "xyzw"[i%4], i-ctlCounts)
		}
		kept[i-ctlState] = name
	}
	fours := func(to *strings.Builder, target string, names []string) {
		for i := 0; i < len(names); i += 4 {
			row := append(slices.Clone(names[i:min(i+4, len(names))]), "0u", "0u", "0u")[:4]
			fmt.Fprintf(to, "    %s%d] = uvec4(%s);\n", target, i/4, strings.Join(row, ", "))
		}
	}
	fours(&share, "told[", sharedNames)
	fours(&keep, "control_block[(STATE_AT + WRITTEN_SLOT) / 4u + ", kept)
	fmt.Fprintf(b, "shared uvec4 told[%d];\n", (len(sharedNames)+3)/4)
	fmt.Fprintf(b, "void load_words() {\n%s}\nvoid share_words() {\n%s}\nvoid keep_words() {\n%s}\n", load.String(), share.String(), keep.String())
}

// rounds defines which slot and which set of counts a kernel reads and writes. The level kernel tells the round from
// the number of its workgroups, because a uniform that changes with each dispatch costs .7 µs on NVIDIA's driver.
func rounds(b *strings.Builder, k kernel) {
	define := func(name, value string) { fmt.Fprintf(b, "#define %s %s\n", name, value) }
	if k.kind == kindLevel {
		define("GROUPS", "(gl_NumWorkGroups.x - 1u)") // the workgroups that walk; the first does not
		define("GROUP", "(gl_WorkGroupID.x - 1u)")
	}
	switch {
	case k.kind == kindDirector && k.recorded:
		define("READ_SLOT", "SLOT_WORDS") // the words that the director kept
		define("FILLED", "0u")
	case k.kind == kindLevel:
		of := func(words, behind int) string {
			return fmt.Sprintf("((gl_NumWorkGroups.x + %du) %% %du * %du)", behind, sets, words)
		}
		if k.recorded {
			define("READ_SLOT", "0u") // of the recording
			define("WRITTEN_SLOT", "0u")
		} else {
			define("READ_SLOT", of(slotWords, 0))
			define("WRITTEN_SLOT", of(slotWords, 1))
		}
		define("READ_SET", of(setWords, 0))
		define("FILLED", of(setWords, 1))
		define("CLEARED", of(setWords, 2))
	case k.kind == kindResident && !k.narrow && !k.recorded:
		define("READ_SLOT", "team_words[TEAM_SLOT]") // what the level kernel of the round decided
		define("WRITTEN_SLOT", "team_words[TEAM_SLOT]")
		define("FILLED", "0u")
	default: // there is only one of each; in a replay it is that of the recorded round
		define("READ_SLOT", "0u")
		define("WRITTEN_SLOT", "0u")
		define("FILLED", "0u")
	}
}

// variables declares the words as variables, and functions that load them and store them to a slot; words that only
// the host writes are not stored. All invocations take what the kernels of a round counted; then it is cleared.
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
