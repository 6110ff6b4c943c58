package frontier

import (
	"embed"
	"fmt"
	"math/bits"
	"strings"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/userop"
)

//go:embed shaders
var shaders embed.FS

// kind is what a kernel does.
type kind uint8

const (
	kindBegin kind = iota
	kindSow
	kindLevel      // decides and runs a round of a level
	kindPersistent // runs levels of few nodes one after the other
	kindCount

	kinds = iota
)

var kindFiles = [kinds][]string{
	kindBegin:      {"begin.comp"},
	kindSow:        {"hits.glsl", "sow.comp"},
	kindLevel:      {"decide.glsl", "director.glsl", "direct.glsl", "hits.glsl", "share.glsl", "sweep.glsl", "push.glsl", "pull.glsl", "level.comp"},
	kindPersistent: {"decide.glsl", "director.glsl", "team.glsl", "hits_persistent.glsl", "persistent.comp"},
	kindCount:      {"count.comp"},
}

func (k kind) String() string {
	files := kindFiles[k]
	return strings.TrimSuffix(files[len(files)-1], ".comp")
}

// kernel names a kernel; it determines the source.
type kernel struct {
	kind      kind
	semiring  Semiring
	join      userop.Join // of User, else zero
	given     bool        // what leaves the nodes is Job.From
	weighted  bool
	subgroups bool   // GL_KHR_shader_subgroup is there
	width     uint32 // invocations of a workgroup
}

func (k kernel) String() string {
	semiring := k.semiring.String()
	if k.semiring == User {
		semiring = k.join.Name
	}
	return fmt.Sprintf("%s-%v-%d", semiring, k.kind, k.width)
}

// plain is the kernel without the properties on which its source does not depend.
func (k kernel) plain() kernel {
	k.weighted = k.weighted && (k.semiring == ShortestPath || k.semiring == User)
	k.given = k.given && k.kind != kindSow
	switch {
	case k.kind == kindSow && k.semiring == Flow:
		k.semiring = Reach // facts from outside arrive as they are
	case k.kind == kindBegin || k.kind == kindCount:
		// Only the identity matters.
		k.semiring, k.join, k.given, k.weighted = map[uint32]Semiring{0: Reach, Unreached: BFS}[k.joinKind().Identity()], userop.Join{}, false, false
		k.subgroups = false
	}
	return k
}

// joinKind is how a node joins what arrives.
func (k kernel) joinKind() userop.JoinKind {
	switch k.semiring {
	case Reach, Flow:
		return userop.JoinOr
	case User:
		return k.join.Kind
	}
	return userop.JoinMin
}

// batch is the number of edges that an invocation follows at a time.
func (k kernel) batch() uint32 {
	if k.subgroups && k.kind != kindSow {
		return 4
	}
	return 1
}

// rows is the number of nodes that an invocation of a pull looks after at a time. The
// widest workgroups have no shared memory for more, and a software renderer gains nothing
// by it and compiles for longer.
func (k kernel) rows() uint32 {
	switch {
	case !k.subgroups:
		return 1
	case k.width > mostWidth/2:
		return 2
	}
	return 4
}

// Source is a kernel as it is compiled.
func (k kernel) Source() string {
	return k.assemble(append([]string{"control.glsl", "semiring.glsl"}, kindFiles[k.kind]...), "")
}

// assemble is a source of files and of a text behind them.
func (k kernel) assemble(files []string, end string) string {
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
	fmt.Fprintf(&b, "layout(local_size_x = %d) in;\n", k.width)
	constants(&b)
	for _, name := range files {
		text, err := shaders.ReadFile("shaders/" + name)
		if err != nil {
			panic("frontier: shader " + name + " is not embedded")
		}
		b.WriteByte('\n')
		b.Write(text)
	}
	b.WriteString(end)
	return b.String()
}

// defines writes what distinguishes the kernel from others made of the same files.
func (k kernel) defines(b *strings.Builder) {
	define := func(name string, value any) { fmt.Fprintf(b, "#define %s %v\n", name, value) }
	unsigned := func(name string, value uint32) { define(name, fmt.Sprintf("%du", value)) }
	flag := func(name string, set bool) {
		if set {
			define(name, 1)
		}
	}
	unsigned("WIDTH", k.width)
	unsigned("LOG_WIDTH", uint32(bits.TrailingZeros32(k.width)))
	unsigned("BATCH", k.batch())
	unsigned("ROWS", k.rows())
	unsigned("TEAM", min(32, k.width))
	unsigned("BLOCK_EDGES", blockEdges(k.width))
	define("SEMIRING_"+strings.ToUpper(k.semiring.String()), 1)
	define("JOIN_"+strings.ToUpper(k.joinKind().String()), 1)
	flag("FIRST_WINS", k.semiring == BFS)
	flag("GIVEN", k.given)
	flag("WEIGHTED", k.weighted)
	flag("SUBGROUPS", k.subgroups)
	flag("PERSISTENT", k.kind == kindPersistent)
	flag("WALKS", k.kind == kindSow || k.kind == kindLevel || k.kind == kindPersistent)
	for i, name := range bindingNames {
		define("BIND_"+name, i)
	}
}

// constants writes the numbers that all kernels share with the host.
func constants(b *strings.Builder) {
	constant := func(name string, value any) { fmt.Fprintf(b, "const uint %s = %du;\n", name, value) }
	constant("SPARSE", policy.TopologySparse)
	constant("HYBRID", policy.TopologyHybrid)
	constant("DENSE", policy.TopologyDense)
	constant("FUSED", policy.TopologyFused)
	constant("CONSTRAINED", policy.TopologyMemoryConstrained)
	for i, name := range stateNames {
		constant("STATE_"+name, i)
	}
	constant("ACTIVE_NUMBERED", activeNumbered)
	constant("LOG_RECORDS", logRecords)
	constant("TILE_EDGES", tileEdges)
	constant("SPARSE_DEGREE", sparseDegree)
	constant("HYBRID_DEGREE", hybridDegree)
	constant("STAGED_HITS", stagedHits)
	constant("PUSH_GROUPS_GOAL", pushGroupsGoal)
	constant("PROBES", probes)
}
