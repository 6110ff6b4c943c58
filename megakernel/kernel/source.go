package kernel

import (
	"embed"
	"fmt"
	"strings"

	"github.com/zeebo/blake3"

	"ringmaster/megakernel/userop"
	"ringmaster/ring"
)

//go:embed shaders
var shaders embed.FS

// Source is a kernel as it is compiled.
func (c *Catalog) Source(k Kernel) string {
	if k.Kind == Lease {
		return c.leaseSource(k)
	}
	return c.source(k, fusedBatch)
}

// fusedBatch is how many slots an invocation of a fused kernel reads before
// it runs them. An H200 takes 3 % longer with 2 and 60 % with 4, for want of
// registers; software does not mind.
const fusedBatch = 1

func (c *Catalog) source(k Kernel, batch int) string {
	s := newSource(k.Width)
	set := c.Compiled(k)
	switch k.Kind {
	case Fused, Exact:
		s.define("CHUNK", fmt.Sprintf("%du", k.Chunk))
		s.define("wave_chunk", "CHUNK")
		s.define("wave_shift", "PAGE_SHIFT")
	default:
		s.define("CHAINED", 1) // it may have a cold list in the schedule's place
	}
	drain := "drain.comp"
	switch k.Kind {
	case Fused:
		s.define("FUSED", 1)
		s.define("BATCH", batch)
		s.define("HOT_LOW", fmt.Sprintf("%#xu", uint32(set)))
		s.define("HOT_HIGH", fmt.Sprintf("%#xu", uint32(set>>32)))
	case Exact:
		drain = "exact.comp"
	}
	user := s.opcodes(c, set)
	s.count(set)
	s.files("execute.glsl", "attempt.glsl", "totals.glsl", drain)
	s.bodies(user)
	return s.String()
}

// opcodes says which opcodes the kernel has and returns the operator's among them.
func (s *source) opcodes(c *Catalog, set OpcodeSet) []userop.Opcode {
	for i := range rows {
		if set.Has(rows[i].op) {
			s.define("HAS_"+strings.ToUpper(rows[i].name), 1)
		}
	}
	user := c.userIn(set)
	if len(user) > 0 {
		s.define("USER_OPCODES", 1)
		s.WriteString(userop.Prelude(user))
		s.callUser(user)
	}
	return user
}

// source is GLSL under construction.
type source struct {
	strings.Builder
	lower []string // macros whose names an operator's variables could have too
}

// newSource begins a source with the version, the width, and what the host's
// constants say.
func newSource(width uint32) *source {
	s := &source{}
	s.WriteString("#version 430 core\n")
	s.define("WIDTH", width)
	s.WriteString(ring.Prelude())
	s.WriteString(opcodePrelude())
	s.WriteString(waveUniforms())
	return s
}

func (s *source) define(name string, value any) {
	fmt.Fprintf(s, "#define %s %v\n", name, value)
	if name != strings.ToUpper(name) {
		s.lower = append(s.lower, name)
	}
}

// bodies ends the source with the bodies of operators' opcodes.
func (s *source) bodies(user []userop.Opcode) {
	if len(user) == 0 {
		return
	}
	for _, name := range s.lower {
		fmt.Fprintf(s, "#undef %s\n", name)
	}
	s.WriteString(userop.Bodies(user))
}

// files appends shader files.
func (s *source) files(names ...string) {
	for _, name := range names {
		text, err := shaders.ReadFile("shaders/" + name)
		if err != nil {
			panic("kernel: shader " + name + " is not embedded")
		}
		s.WriteByte('\n')
		s.Write(text)
	}
}

// callUser defines the dispatch over operators' opcodes.
func (s *source) callUser(user []userop.Opcode) {
	var set OpcodeSet
	var cases strings.Builder
	for i := range user {
		set |= 1 << user[i].ID
		args := [...]string{"a", "uvec4(0u)", "uvec4(0u)"}
		for word := 1; word <= (len(user[i].Operands)-1)/4; word++ {
			args[word] = fmt.Sprintf("slots[slot].args[%d]", word)
		}
		fmt.Fprintf(&cases, "case %du: %s(%s); break; ", user[i].ID, user[i].Function(), strings.Join(args[:], ", "))
	}
	s.define("USER_LOW", fmt.Sprintf("%#xu", uint32(set)))
	s.define("USER_HIGH", fmt.Sprintf("%#xu", uint32(set>>32)))
	s.define("USER_CASES", cases.String())
	s.files("user.glsl")
}

// laneCounts is how many opcodes each invocation counts in registers: those of
// count.glsl.
const laneCounts = 8

// count defines how slots that are done are counted by opcode.
func (s *source) count(set OpcodeSet) {
	var counted []Opcode
	list := set.Opcodes()
	for _, op := range list {
		// A fault opcode is never done.
		if op != OpFault && len(counted) < laneCounts {
			counted = append(counted, op)
		}
	}
	for i := range laneCounts {
		number := "~1u" // of no slot that is done
		if i < len(counted) {
			number = fmt.Sprintf("%du", counted[i])
		}
		s.define(fmt.Sprintf("COUNTED_%d", i), number)
	}
	s.define("COUNTS", len(counted))
	s.define("TOTALS", fmt.Sprintf("%du", (4+len(counted))|1)) // odd, so that copies begin in different banks
	if len(list) > len(counted) {
		s.define("COUNTED_REST", 1)
		last := Opcode(0)
		if len(counted) > 0 {
			last = counted[len(counted)-1]
		}
		s.define("LAST_COUNTED", fmt.Sprintf("%du", last))
	}
	s.files("count.glsl")
}

// SourceOf is a kernel of a width whose body is the caller's: behind the ring's prelude, the opcodes' numbers and the
// parameters of a wave.
func SourceOf(width uint32, body string) string {
	s := newSource(width)
	s.WriteByte('\n')
	s.WriteString(body)
	return s.String()
}

// Fingerprint is the BLAKE3-256 of a kernel source.
func Fingerprint(source string) [32]byte { return blake3.Sum256([]byte(source)) }
