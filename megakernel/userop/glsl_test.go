package userop

import (
	"os"
	"strings"
	"testing"
)

func examples(t *testing.T) []Opcode {
	t.Helper()
	ops, err := LoadDir(os.DirFS("../../docs/opcodes"))
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

func TestAKernelWithoutOpcodesHasNoTraceOfThem(t *testing.T) {
	if Prelude(nil) != "" || Bodies(nil) != "" {
		t.Error("text for no opcodes")
	}
}

func TestEveryAccessorIsDefinedInGLSL(t *testing.T) {
	text := Bodies(examples(t))
	for name, a := range Accessors {
		definition := strings.Replace(a.Form, name, reservedPrefix+name, 1) + " {"
		if name == "FOR" || name == "WHILE" {
			definition = "#define " + name + "("
		}
		if !strings.Contains(text, definition) {
			t.Errorf("no %q in the accessors", definition)
		}
	}
}

func TestOperandsAreTheArgumentsInOrder(t *testing.T) {
	text := Bodies(examples(t)[1:2])
	for _, line := range []string{
		"const uint text = rm_a0.x;", "const uint bytes = rm_a0.y;", "const uint table = rm_a0.z;",
		"const uint begin = rm_a0.w;", "const uint matches = rm_a1.x;",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in:\n%s", line, text)
		}
	}
}

func TestWhatLeavesALoopSaysSo(t *testing.T) {
	op, err := parseBody(t, `FOR(i, a) {
    if (i > b) break; else return;
    switch (i) {
    case 1u: break;
    default: continue;
    }
}
if (a == 0u) return;
`+uses)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("break; else return;", "{ rm_open--; break; } else { rm_open = 0u; return; }").Replace(op.Body)
	if op.text != want || strings.Count(op.text, "\n") != strings.Count(op.Body, "\n") {
		t.Errorf("compiled is\n%s", op.text)
	}
	if !strings.Contains(Bodies([]Opcode{op}), want) {
		t.Error("what is compiled is not in the kernel")
	}
}

func TestADriversLogIsLocatedInTheFiles(t *testing.T) {
	ops := examples(t)
	for log, want := range map[string]string{
		"compile: 0:17000020(1): error: x\n0:18000021(6): error: y": "compile: dfa.glsl:20:1: error: x\nsaxpy.glsl:21:6: error: y",
		"0(16000012) : error C1103: z":                              "histogram.glsl:12 : error C1103: z",
		"ERROR: 0:16000012: 'q'":                                    "ERROR: histogram.glsl:12: 'q'",
		"0:12(5): error: the kernel's own":                          "0:12(5): error: the kernel's own",
		"0:63000012(5): error: no such opcode":                      "0:63000012(5): error: no such opcode",
		"10:16000012(5) 0:160000123":                                "10:16000012(5) 0:160000123",
	} {
		if got := Locate(log, ops); got != want {
			t.Errorf("%q became %q, want %q", log, got, want)
		}
	}
}
