package frontier

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"ringmaster/megakernel/userop"
)

//go:embed shaders
var shaders embed.FS

// kind is what a kernel does.
type kind uint8

const (
	kindBegin kind = iota
	kindSow
	kindLevel    // decides and runs a round of a level
	kindDirector // decides a round, where invocations are lanes of a processor's vectors
	kindPush
	kindTiles
	kindPull
	kindResident
	kindCount

	kinds = iota
)

var kindFiles = [kinds][]string{
	kindBegin:    {"begin.comp"},
	kindSow:      {"hits.glsl", "sow.comp"},
	kindLevel:    {decidedBefore, "arithmetic.glsl", "decide.glsl", "director.glsl", "direct.glsl", "order.glsl", "plan.glsl", "write.glsl", sharedBehind, "place.glsl", "hits.glsl", "share.glsl", "sweep.glsl", "push.glsl", "pull.glsl", "level.comp"},
	kindDirector: {"place.glsl", "log_narrow.glsl", "arithmetic.glsl", "decide.glsl", "director.glsl", "hits_narrow.glsl", "push_narrow.glsl", "walk_narrow.glsl", "direct.glsl", "director.comp"},
	kindPush:     {"hits_narrow.glsl", "sweep_narrow.glsl", "push_narrow.glsl", "push_narrow.comp"},
	kindTiles:    {"hits_narrow.glsl", "push_narrow.glsl", "tiles_narrow.comp"},
	kindPull:     {"hits_narrow.glsl", "pull_narrow.comp"},
	kindResident: {"place.glsl", "blocks.glsl", "log.glsl", "arithmetic.glsl", "decide_branching.glsl", "director.glsl", "team.glsl", "hits_resident.glsl", "resident.comp"},
	kindCount:    {"count.comp"},
}

// Marks in a list of files: after the first, the words of the control block are variables of the invocation that
// decides; after the second, they are those in shared memory.
const (
	decidedBefore = "decided words"
	sharedBehind  = "shared words"
)

// of says whether narrow, or wide, devices have a kernel of the kind.
func (k kind) of(narrow bool) bool {
	switch k {
	case kindLevel:
		return !narrow
	case kindDirector, kindPush, kindTiles, kindPull:
		return narrow
	case kindResident:
		return !narrow
	}
	return true
}

// kernel names a kernel; it determines the source.
type kernel struct {
	kind      kind
	semiring  Semiring
	join      userop.Join // of User, else zero
	given     bool        // what leaves the nodes is Job.From
	weighted  bool
	narrow    bool   // invocations are lanes of a processor
	subgroups bool   // GL_KHR_shader_subgroup is there
	recorded  bool   // decides nothing: its words were recorded
	settled   bool   // decides for jobs with the words in settled
	width     uint32 // invocations of a workgroup; the director needs it to size the other kernels' dispatches
	team      uint32 // workgroups of the resident kernel, for the kernel that orders it; else zero
}

func (k kernel) String() string {
	name := strings.TrimSuffix(kindFiles[k.kind][len(kindFiles[k.kind])-1], ".comp")
	semiring := k.semiring.String()
	if k.semiring == User {
		semiring = k.join.Name
	}
	return fmt.Sprintf("%s-%s-%d", semiring, name, k.width)
}

// plain is the kernel without the properties on which its source does not depend.
func (k kernel) plain() kernel {
	k.recorded = k.recorded && (k.kind == kindLevel || k.kind == kindResident || k.kind == kindDirector)
	k.settled = k.settled && (k.kind == kindLevel || k.kind == kindResident) && !k.recorded
	k.weighted = k.weighted && (k.semiring == ShortestPath || k.semiring == User)
	k.given = k.given && k.kind != kindSow
	switch {
	case k.kind == kindSow && k.semiring == Flow:
		k.semiring = Reach // facts from outside arrive as they are
	case k.kind == kindBegin || k.kind == kindCount:
		// Only the identity matters.
		k.semiring, k.join, k.given, k.weighted = map[uint32]Semiring{0: Reach, Unreached: BFS}[k.kindOfJoin().Identity()], userop.Join{}, false, false
	}
	return k
}

// kindOfJoin is how a node joins what arrives.
func (k kernel) kindOfJoin() userop.JoinKind {
	switch k.semiring {
	case Reach, Flow:
		return userop.JoinOr
	case User:
		return k.join.Kind
	}
	return userop.JoinMin
}

func (k kernel) files() []string {
	if k.kind == kindSow && k.narrow {
		return []string{"hits_narrow.glsl", "sow.comp"}
	}
	if k.kind == kindDirector && k.recorded {
		return []string{"place.glsl", "arithmetic.glsl", "decide.glsl", "director.glsl", "hits_narrow.glsl", "push_narrow.glsl", "walk_narrow.glsl", "levels_recorded.comp"}
	}
	if k.kind == kindLevel && k.recorded {
		files := kindFiles[kindLevel]
		return append([]string{"blocks.glsl", "order.glsl"}, files[slices.Index(files, sharedBehind)+1:]...)
	}
	return kindFiles[k.kind]
}

// invocations is the kernel's own width.
func (k kernel) invocations() uint32 {
	if k.kind == kindDirector {
		return directorWidth
	}
	return k.width
}

// batch is the number of edges that an invocation follows at a time.
func (k kernel) batch() uint32 {
	switch {
	case k.kind == kindSow:
		return 1
	case k.subgroups:
		return 4
	}
	return 1
}

// rows is the number of nodes that an invocation of a pull looks after at a time. The
// widest workgroups have no shared memory for more.
func (k kernel) rows() uint32 {
	if k.width > mostWidth/2 {
		return 2
	}
	return 4
}

var semiringDefines = [semirings]string{"SEMIRING_BFS", "SEMIRING_SSSP", "SEMIRING_COMPONENTS", "SEMIRING_REACH", "SEMIRING_USER", "SEMIRING_FLOW"}

// source is a kernel as it is compiled.
func (k kernel) source() string {
	var b strings.Builder
	b.WriteString("#version 430 core\n")
	if k.subgroups {
		for _, name := range []string{"basic", "arithmetic", "ballot"} {
			fmt.Fprintf(&b, "#extension GL_KHR_shader_subgroup_%s : require\n", name)
		}
	}
	if k.semiring == User {
		b.WriteString(k.join.Function()) // before any name with which it could clash
	}
	k.defines(&b)
	fmt.Fprintf(&b, "layout(local_size_x = %d) in;\n", k.invocations())
	b.WriteString(prelude(k))
	for _, name := range append([]string{"semiring.glsl"}, k.files()...) {
		switch name {
		case decidedBefore:
			decidedWords(&b, k)
			continue
		case sharedBehind:
			defineWords(&b, k)
			continue
		}
		text, err := shaders.ReadFile("shaders/" + name)
		if err != nil {
			panic("frontier: shader " + name + " is not embedded")
		}
		b.WriteByte('\n')
		b.Write(text)
	}
	return b.String()
}

// defines writes what distinguishes the kernel from others made of the same files.
func (k kernel) defines(b *strings.Builder) {
	define := func(name string, value any) { fmt.Fprintf(b, "#define %s %v\n", name, value) }
	define("WIDTH", fmt.Sprintf("%du", k.width))
	define(semiringDefines[k.semiring], 1)
	define("JOIN_"+strings.ToUpper(k.kindOfJoin().String()), 1)
	if k.semiring == BFS {
		define("FIRST_WINS", 1)
	}
	define("BATCH", fmt.Sprintf("%du", k.batch()))
	define("ROWS", fmt.Sprintf("%du", k.rows()))
	if k.given {
		define("GIVEN", 1)
	}
	if k.kind == kindResident {
		define("TEAM", fmt.Sprintf("%du", min(32, k.width)))
	}
	switch {
	case k.recorded:
		define("RECORDED", 1)
	case k.kind == kindLevel:
		define("ALL_PLACE", 1)
	}
	if k.narrow && k.kind != kindResident {
		define("NARROW", 1)
	}
	clears := "false"
	if k.kind == kindDirector {
		define("WALKS", 1)
		clears = "(bit_words <= MOST_CLEARED)"
	}
	define("CLEARS_ITSELF", clears)
	if k.narrow {
		// Where pulls look for nodes that can still change, they leave out those that cannot.
		define("CLOSED_MARKS", 1)
		define("BITS_CLOSED", "(3u * bit_words)")
		define("BITS_ORPHANS", "(4u * bit_words)")
	}
	if k.subgroups {
		define("SUBGROUPS", 1)
	}
	for _, side := range []string{"OUT", "IN"} {
		weight := "1u"
		if k.weighted {
			weight = strings.ToLower(side) + "_weights[edge_at]"
		}
		define(side+"_WEIGHT(edge_at)", weight)
	}
	var search strings.Builder
	for step := k.width / 2; step > 0; step /= 2 {
		fmt.Fprintf(&search, "row += row_end[row + %du] <= e ? %du : 0u; ", step-1, step)
	}
	define("ROW_SEARCH", search.String())
}
