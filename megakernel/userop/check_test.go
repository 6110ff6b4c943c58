package userop

import (
	"errors"
	"strings"
	"testing"
)

// parseBody parses a body behind a header of six lines that suits it.
func parseBody(t *testing.T, body string) (Opcode, error) {
	t.Helper()
	header := "id: 20\nname: tried\noperands: a, b\nside-effects: yes\nidempotent: no\nmax-steps: 100"
	op, err := Parse("t.glsl", file(header, body).Data)
	return op, err
}

// uses makes a body that keeps what the header of parseBody declares.
const uses = "store(a, b); FOR(turn, 1u) { }\n"

func TestBodiesThatKeepTheRulesAreAccepted(t *testing.T) {
	for name, body := range map[string]string{
		"declarations":  "const uint x = 1u, y = x + 2u; int z = -3; bool ok = true; float f = 1.5e3; result(x + y + uint(z) + uint(ok) + uint(f));",
		"vectors":       "uvec4 v = uvec4(a, b, 1u, 2u); v.xy = v.zw; result(v.x + dot4(v));",
		"nested":        "FOR(i, a) { uint n = load(i); WHILE(n != 0u) { n >>= 1; if (n == 7u) break; else continue; } }",
		"switch":        "switch (a) { case 0u: result(1u); break; case 1u: { uint q = 2u; result(q); } default: fail(3u); }",
		"if chain":      "if (a > b) result(1u); else if (a == b && !(b < 3u)) { result(2u); } else ;",
		"ternary":       "uint m = a > b ? a : b > 3u ? b : 3u; result(m);",
		"same name":     "{ uint q = 1u; result(q); } { uint q = 2u; result(q); }",
		"line comments": "// for while #if [ ] heap\nresult(a); /* barrier();\n buffer */ result(b);",
		"return":        "if (a == 0u) return; result(a);",
		"constructor":   "uvec2(1u, 2u).x; result(uint(a));",
		"empty":         ";",
		"case ternary":  "switch (a) { case (1u > 0u ? 1u : 2u): result(1u); }",
		"numbers":       "result(0x1Fu + 017 + 0 + 4294967295u + 0XaBU); float f = .5 + 1. + 1e-3 + 1.5f;",
	} {
		body = strings.ReplaceAll(body, "dot4(v)", "v.w")
		if _, err := parseBody(t, body+uses); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBodiesThatBreakTheRulesAreRefusedWithTheirLine(t *testing.T) {
	for body, want := range map[string]string{
		"for (uint i = 0u; i < 3u; i++) { }":   "for is refused: loops are FOR",
		"while (true) { }":                     "while is refused: loops are FOR",
		"do { } while (true);":                 "do is refused",
		"barrier();":                           "barrier is refused: slots run apart",
		"memoryBarrierShared();":               "a fence in the batch",
		"groupMemoryBarrier();":                "a fence in the batch",
		"shared uint s;":                       "shared is refused",
		"layout(local_size_x = 1) in;":         "layout is refused",
		"buffer B { uint x; };":                "buffer is refused",
		"uniform uint u;":                      "uniform is refused",
		"discard;":                             "discard is refused",
		"#define x y":                          "preprocessor directives are refused",
		"  # line 5":                           "preprocessor directives are refused",
		"result(gl_GlobalInvocationID.x);":     "gl_GlobalInvocationID is refused",
		"result(heap[0]);":                     "heap is refused",
		"statuses[0] = 1u;":                    "statuses is refused",
		"rm_fault = 0u;":                       "rm_fault is refused",
		"uint rm_x = 0u;":                      "belong to the kernel",
		"uint gl_x = 0u;":                      "belong to the kernel",
		"uint x__y = 0u;":                      "names are a to z",
		"uint WIDTH = 0u;":                     "names are a to z",
		"result(WIDTH);":                       "WIDTH is refused",
		"uint load = 0u;":                      "it is an accessor",
		"uint sample = 0u;":                    "GLSL keeps this word",
		"uint mat4x2 = 0u;":                    "GLSL keeps this word",
		"uint max = 0u;":                       "type or function of GLSL",
		"uint a = 0u;":                         "a is declared already",
		"{ uint q = 1u; } result(q);":          "q is refused: it is neither declared",
		"uint q = q;":                          "q is refused",
		"FOR(i, 3u) { } result(i);":            "i is refused",
		"FOR(a, 3u) { }":                       "a is declared already",
		"FOR(i, 3u, 4u) { }":                   "FOR's count is not finished",
		"FOR(i) { }":                           "expected \",\"",
		"FOR(3u, 4u) { }":                      "expected the name of FOR's counter",
		"WHILE(a, b) { }":                      "WHILE's condition is not finished",
		"WHILE() { }":                          "expected WHILE's condition",
		"result(FOR(i, 1u));":                  "FOR is a statement",
		"uint q;":                              "variable q has no value",
		"uint q[4] = uint[4](1u, 2u, 3u, 4u);": "arrays are refused",
		"result(uvec2(a, b)[0]);":              "arrays and indices are refused",
		"result(uvec2(a, b).length());":        "expected .x, .y",
		"result(a.xg);":                        "expected .x, .y",
		"uint f(uint x) { return x; }":         "functions cannot be defined",
		"void f() { }":                         "void is refused: functions cannot be defined",
		"struct S { uint x; };":                "struct is refused",
		"double d = 1.0;":                      "double is refused",
		"mat4 m = mat4(1.0);":                  "mat4 is refused",
		"imageStore(a, b);":                    "there are no images",
		"atomicAdd(a, 1u);":                    "atomicAdd is refused",
		"atomicCounter(a);":                    "atomicCounter is refused",
		"} void evil() {":                      "a statement cannot begin here",
		"{ result(1u);":                        "the file ends here",
		"result((a);":                          "is not finished",
		"result(a));":                          "is not finished",
		"if (a > b) uint q = 1u;":              "expected { before a declaration",
		"if a > b result(1u);":                 "expected \"(\" after if",
		"else result(1u);":                     "a statement cannot begin here",
		"switch (a) { result(1u); }":           "expected case or default",
		"switch (a) result(1u);":               "expected { after switch",
		"case 1u: result(1u);":                 "a statement cannot begin here",
		"break;":                               "break outside a loop",
		"continue;":                            "continue outside a loop",
		"switch (a) { case 1u: continue; }":    "continue outside a loop",
		"return a;":                            "expected \";\" after return",
		"result(if);":                          "a statement begins within an expression",
		"result(load);":                        "expected ( after load",
		"result(a(1u));":                       "a is no function",
		"result(uint);":                        "expected ( after uint",
		"result(1.5lf);":                       "is no number",
		"result(1_000u);":                      "is no number",
		"result(a) @":                          "is not part of the language",
		"result(\"a\");":                       "is not part of the language",
		"/* no end":                            "this comment has no end",
		"// joined \\":                         "a backslash is refused",
		"result(a); // caf\u00e9":              "only ASCII",
		"result(a); \x00":                      "control character 0x00",
		"result(a); // x\rresult(b);":          "control character 0x0D",
		"//! id: 21":                           "header lines come before",
		strings.Repeat("{", 100) + strings.Repeat("}", 100):                          "statements within one another",
		"result(" + strings.Repeat("(", 100) + "a" + strings.Repeat(")", 100) + ");": "parentheses within one another",
	} {
		_, err := parseBody(t, "result(a);\n"+body+"\n"+uses)
		if err == nil {
			t.Errorf("accepted: %s", body)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", body, err, want)
			continue
		}
		var e *Error
		if !errors.As(err, &e) || e.Line < 8 {
			t.Errorf("%s: the error is not placed: %v", body, err)
		}
	}
}

func TestHeadersThatLieAreRefused(t *testing.T) {
	header := func(change string) string {
		h := "id: 20\nname: tried\noperands: a, b\nside-effects: yes\nidempotent: no\nmax-steps: 100\n"
		key, _, _ := strings.Cut(change, ":")
		var kept []string
		for line := range strings.Lines(h) {
			if !strings.HasPrefix(line, key+":") {
				kept = append(kept, strings.TrimSpace(line))
			}
		}
		if strings.Contains(change, ":") {
			kept = append(kept, change)
		}
		return strings.Join(kept, "\n")
	}
	updating := "atomic_add(a, b); FOR(i, 3u) { }"
	for _, c := range []struct{ change, body, want string }{
		{"side-effects: no", "FOR(i, a) { store(b, 1u); }", "t.glsl:6: the header says that it has no side effects, but line 7 uses store"},
		{"side-effects: yes", "FOR(i, a) { result(b); }", "but nothing writes to the window"},
		{"idempotent: yes", updating, "the header says that it is idempotent, but line 7 uses atomic_add"},
		{"side-effects: no", "FOR(i, a) { result(b); }", "an opcode that writes nothing is idempotent"},
		{"operands: a, b, c", updating, "t.glsl:6: operand c is not used"},
		{"operands: a", updating, "t.glsl:7: b is refused: it is neither declared here, nor an operand"},
		{"operands: a, a", updating, "operand a is declared twice"},
		{"operands: a, load", updating, "operand \"load\": it is an accessor"},
		{"operands: a, b,", updating, "operand \"\": names are"},
		{"operands: c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,c12", updating, "13 operands, a slot has 12 arguments"},
		{"max-steps", "FOR(i, a) { store(b, 1u); }", "t.glsl:6: a loop needs a header line"},
		{"max-steps: 5", "store(a, b);", "max-steps is declared, but there is no loop"},
		{"max-steps: 32769", updating, "want a number of 1 to 32768"},
		{"max-steps: 0", updating, "want a number of 1 to 32768"},
		{"max-steps: 16385", "FOR(i, a) { store(b, 1u); } FOR(i, a) { }", "max-steps is 16385; with 2 loops it may be 16384 at most"},
		{"max-steps: 2049", "FOR(i, a) { FOR(j, b) { store(i, j); } }", "max-steps is 2049; with loops within one another it may be 2048 at most"},
		{"steps: c", updating, "steps: \"c\" is no operand"},
		{"id: 15", updating, "id 15 belongs to the built-in opcodes"},
		{"id: 64", updating, "want a number of 16 to 63"},
		{"id: x", updating, "want a number of 16 to 63"},
		{"id", updating, "the header has no line \"//! id: …\""},
		{"name: Big", updating, "name \"Big\": names are"},
		{"side-effects: maybe", updating, "want yes or no"},
		{"reference: nowhere", updating, "there is no Go reference \"nowhere\""},
		{"colour: red", updating, "\"colour\" is no key of the header"},
		{"colour", updating, ""},
	} {
		_, err := Parse("t.glsl", file(header(c.change), c.body+"\n").Data)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.change, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.change, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"//! id: 20\n//! id: 21\n": "t.glsl:2: id is declared in line 1 already",
		"//! id 20\n":              "t.glsl:1: a header line is",
		"//! id:\n":                "t.glsl:1: a header line is",
	} {
		if _, err := Parse("t.glsl", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestWhatReadsTheWindowIsKnown(t *testing.T) {
	for body, want := range map[string]bool{
		"":                      false,
		"fail(window_words());": false,
		"result(load(b));":      true,
		"atomic_max(a, b);":     true,
		"exchange(a, b);":       true,
	} {
		if op, err := parseBody(t, body+uses); err != nil || op.Reads != want {
			t.Errorf("%q: reads %v, %v", body, op.Reads, err)
		}
	}
}

func TestLoopsAreCounted(t *testing.T) {
	for body, want := range map[string]struct {
		loops  int
		nested bool
	}{
		"":                               {1, false},
		"FOR(i, a) { }":                  {2, false},
		"FOR(i, a) { WHILE(b > i) { } }": {3, true},
		"if (a > b) { FOR(i, a) { } }":   {2, false},
	} {
		op, err := parseBody(t, body+uses)
		if err != nil || op.Loops != want.loops || op.Nested != want.nested {
			t.Errorf("%q: %d loops, nested %v, %v", body, op.Loops, op.Nested, err)
		}
	}
}

func TestOfAFileFullOfErrorsTheFirstAreReported(t *testing.T) {
	_, err := parseBody(t, strings.Repeat("result(nowhere);\n", 100)+uses)
	if lines := strings.Split(err.Error(), "\n"); len(lines) != maxErrors+1 || !strings.Contains(lines[maxErrors], "and 80 more errors") {
		t.Errorf("%d lines, the last: %s", len(lines), lines[len(lines)-1])
	}
}

func TestAFileBeyondTheBoundIsRefused(t *testing.T) {
	if _, err := Parse("t.glsl", make([]byte, maxFile+1)); err == nil || err.Error() != "t.glsl: the file has more than 65536 bytes" {
		t.Errorf("got %v", err)
	}
}
