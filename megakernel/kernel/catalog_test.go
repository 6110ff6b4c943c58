package kernel

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/kernel/kerneltest"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/userop"
	"ringmaster/ring"
)

func TestCatalogRefusesOpcodesThatCannotStandTogether(t *testing.T) {
	op := func(id uint32, name string) userop.Opcode { return userop.Opcode{ID: id, Name: name} }
	for _, c := range []struct {
		name string
		ops  []userop.Opcode
		says string
	}{
		{"a reserved number", []userop.Opcode{op(12, "a")}, "number 12"},
		{"a number beyond the bins", []userop.Opcode{op(64, "a")}, "number 64"},
		{"a number twice", []userop.Opcode{op(16, "a"), op(16, "b")}, `that of "a"`},
		{"a name twice", []userop.Opcode{op(16, "a"), op(17, "a")}, `"a" is taken`},
		{"the name of a built-in opcode", []userop.Opcode{op(16, "store")}, `"store" is taken`},
		{"no order", []userop.Opcode{op(17, "a"), op(16, "b")}, "greater number"},
	} {
		if _, err := NewCatalog(c.ops); !errors.Is(err, ErrOpcode) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	c, err := NewCatalog([]userop.Opcode{op(16, "first"), op(63, "last")})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := c.Lookup("last"); !ok || got != 63 || c.Name(16) != "first" || !c.Has(63) || c.Has(12) || c.All().Len() != len(rows)+2 {
		t.Errorf("last is %d, %v; %v", got, ok, c.All().Opcodes())
	}
	if _, ok := c.Lookup("none"); ok || c.Has(64) || c.Has(^Opcode(0)) {
		t.Error("an opcode that is not there was found")
	}
}

func TestCheckSlotNamesWhatCanNeverRun(t *testing.T) {
	for _, c := range []struct {
		slot ring.Slot
		want string
	}{
		{slot(OpNop, 0, ^uint32(0)), ""},
		{slot(OpStore, 0, 1, ^uint32(0)), ""}, // the window decides
		{slot(OpCopy, 0, 0, 0, CopyCap), ""},
		{slot(OpCopy, 0, 0, 0, CopyCap+1), "copy too long"},
		{slot(OpFault, 0, ring.UserFaults), "bad fault code"},
		{slot(15, 0), "unknown opcode"},
		{slot(1<<31, 0), "unknown opcode"},
		{slot(OpYield, 0, MaxAttempts), ""},
		{slot(OpYield, 0, MaxAttempts+1), "bad operand"},
		{slot(OpAwait, 0, 0, 0, 0), "bad operand"},
		{slot(OpAwait, 0, 0, 0, MaxAttempts), ""},
		{slot(OpPacked, 0), "malformed packed slot"},
		{slot(OpPacked, 0, 1), ""}, // one nop
		{slot(OpPacked, 0, 9), "malformed packed slot"},
		{slot(OpPacked, 0, 1|12<<8), "malformed packed slot"},
		{slot(OpPacked, 0, 1|uint32(OpLoad)<<16), "malformed packed slot"}, // no word for its argument
		{slot(OpPacked, 0, 1|1<<8|uint32(OpLoad)<<16), ""},
		{slot(OpPacked, 0, 1|1<<8|uint32(OpLoad)<<16|1<<24), "malformed packed slot"},
		{slot(OpPacked, 0, 1|11<<8|uint32(OpCopy)<<16), "malformed packed slot"},
		{slot(OpPacked, 0, 1|11<<8|uint32(OpPacked)<<16), "malformed packed slot"},
	} {
		err := BuiltIn().CheckSlot(&c.slot)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c.slot, err)
		case c.want != "" && (!errors.Is(err, ErrSlot) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v: %v, want %s", c.slot, err, c.want)
		}
		// The reference refuses the same, whatever the window.
		fault, _, ok := BuiltIn().Execute(&c.slot, make([]uint32, 4*CopyCap))
		if !ok || c.want != "" && fault.String() != c.want || c.want == "" && fault != ring.FaultNone && fault != ring.FaultOutOfWindow {
			t.Errorf("%v: executed to %s", c.slot, fault)
		}
	}
}

func TestPackedSlotRunsItsPartsInOrder(t *testing.T) {
	args, ok := pack(part{OpStore, []uint32{5, 1}}, part{OpAdd, []uint32{3, 1}}, part{OpCompareSwap, []uint32{1, 8, 9}}, part{OpNop, nil}, part{OpStore, []uint32{7, 2}})
	if !ok {
		t.Fatal("five parts are too many")
	}
	s := ring.Slot{Opcode: uint32(OpPacked), Args: args}
	window := make([]uint32, 4)
	if fault, result, _ := BuiltIn().Execute(&s, window); fault != ring.FaultNone || result != 8 || window[1] != 9 || window[2] != 7 {
		t.Errorf("fault %s, result %d, window %v", fault, result, window)
	}
	// The last part leaves a shorter window: then none of them runs.
	short := make([]uint32, 2)
	if fault, _, _ := BuiltIn().Execute(&s, short); fault != ring.FaultOutOfWindow || short[1] != 0 {
		t.Errorf("fault %s, window %v", fault, short)
	}
}

// part is an operation of a packed slot.
type part struct {
	opcode Opcode
	args   []uint32
}

func pack(parts ...part) (args [ring.ArgWords]uint32, ok bool) {
	plain := make([]kerneltest.Part, len(parts))
	for i, p := range parts {
		plain[i] = kerneltest.Part{Opcode: uint32(p.opcode), Args: p.args}
	}
	return kerneltest.Pack(plain...)
}

func TestPackedPartsAreReadAsTheyWerePacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts []part
		for range rapid.IntRange(1, PackedMax).Draw(t, "parts") {
			op := rapid.SampledFrom([]Opcode{OpNop, OpStore, OpAdd, OpLoad, OpCompareSwap}).Draw(t, "opcode")
			n, _ := op.packable()
			parts = append(parts, part{op, rapid.SliceOfN(rapid.Uint32Range(0, 3), n, n).Draw(t, "arguments")})
		}
		args, ok := pack(parts...)
		if !ok {
			return
		}
		s := ring.Slot{Opcode: uint32(OpPacked), Args: args}
		if err := BuiltIn().CheckSlot(&s); err != nil {
			t.Fatal(err)
		}
		for i, want := range parts {
			op, got, ok := packedPartAt(&args, i)
			if !ok || op != want.opcode {
				t.Fatalf("part %d is %s", i, op)
			}
			for j, word := range want.args {
				if got[j] != word {
					t.Fatalf("part %d: argument %d is %d, want %d", i, j, got[j], word)
				}
			}
		}
	})
	for _, parts := range [][]part{nil, {{OpCopy, []uint32{0, 0, 1}}}, {{OpStore, []uint32{1}}}} {
		args, _ := pack(parts...)
		if err := BuiltIn().CheckSlot(&ring.Slot{Opcode: uint32(OpPacked), Args: args}); err == nil {
			t.Errorf("%v is taken", parts)
		}
	}
}

func TestFusedKernelExistsWithinItsRows(t *testing.T) {
	for _, c := range []struct {
		g   policy.Geometry
		hot OpcodeSet
		ok  bool
	}{
		{policy.Geometry{Width: 64, Groups: 1, Chunk: 64}, 1, true},
		{policy.Geometry{Width: 64, Groups: 1, Chunk: 64 * MaxFusedRows}, 1, true},
		{policy.Geometry{Width: 64, Groups: 1, Chunk: 64*MaxFusedRows + 1}, 1, false},
		{policy.Geometry{Width: 1, Groups: 1, Chunk: 1}, 1, true},
		{policy.Geometry{Width: 64, Groups: 1, Chunk: 64}, 0, false},
		{policy.Geometry{Width: 0, Groups: 1, Chunk: 64}, 1, false},
		{policy.Geometry{Width: 64, Groups: 1, Chunk: 0}, 1, false},
	} {
		if k, ok := FusedKernel(c.g, c.hot); ok != c.ok {
			t.Errorf("%s: %v", k, ok)
		}
	}
}

func TestFusedSourceHasNoColdBodies(t *testing.T) {
	c, err := NewCatalog([]userop.Opcode{{ID: 16, Name: "hot"}, {ID: 17, Name: "cold"}})
	if err != nil {
		t.Fatal(err)
	}
	k, _ := FusedKernel(policy.Geometry{Width: 64, Groups: 4, Chunk: 256}, NewOpcodeSet(OpAdd, 16))
	source := c.Source(k)
	for _, text := range []string{"#define HAS_ADD 1\n", "rm_op_16(", "#define CHUNK 256u\n", "#define HOT_LOW 0x10004u\n"} {
		if !strings.Contains(source, text) {
			t.Errorf("no %q", text)
		}
	}
	for _, text := range []string{"#define HAS_STORE", "#define HAS_COPY", "#define HAS_PACKED", "rm_op_17("} {
		if strings.Contains(source, text) {
			t.Errorf("%q is there", text)
		}
	}
	interpreter := c.Source(Kernel{Kind: Interpreter, Width: 64})
	for _, known := range rows {
		if !strings.Contains(interpreter, "#define HAS_"+strings.ToUpper(known.name)+" 1\n") {
			t.Errorf("the interpreter has no %s", known.name)
		}
	}
	if !strings.Contains(interpreter, "rm_op_16(") || !strings.Contains(interpreter, "rm_op_17(") {
		t.Error("the interpreter lacks an operator's opcode")
	}
}

func TestOpcodeSet(t *testing.T) {
	s := NewOpcodeSet(0, 5, 63)
	if s.Len() != 3 || !s.Has(63) || s.Has(64) || s.Has(1) || s.Has(^Opcode(0)) {
		t.Errorf("%#x", uint64(s))
	}
	if got := s.Opcodes(); len(got) != 3 || got[0] != 0 || got[1] != 5 || got[2] != 63 {
		t.Errorf("%v", got)
	}
}

func TestEveryBuiltInOpcodeIsDocumentedWithItsOperands(t *testing.T) {
	text, err := os.ReadFile("../../docs/ring.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range rows {
		operands := strings.Join(known.operands, ", ")
		if len(known.operands) == ring.ArgWords {
			operands = "a0 … a11"
		}
		if operands != "" {
			operands += " "
		}
		if row := fmt.Sprintf("\n| %d | %s | %s| ", known.op, known.name, operands); !strings.Contains(string(text), row) {
			t.Errorf("docs/ring.md has no row %q", row)
		}
	}
}

func TestRowsStandAtTheirNumbers(t *testing.T) {
	for i, known := range rows {
		if int(known.op) != i || known.name == "" {
			t.Errorf("row %d is that of %d, %q", i, known.op, known.name)
		}
		if known.packable && (len(known.operands) > 3 || known.again || known.varies || known.fault != nil) {
			t.Errorf("%s cannot be part of a packed slot", known.name)
		}
	}
}
