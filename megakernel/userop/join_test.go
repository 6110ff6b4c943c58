package userop

import (
	"strings"
	"testing"
)

const widest = "//! kind: join\n//! name: widest\n//! join: max\n//! seed: 0xFFFFFFFF\n// The narrowest edge of the widest way.\nresult(min(value, weight));\n"

func TestAJoinHasWhatItsFileDeclares(t *testing.T) {
	j, err := ParseJoin("widest.glsl", []byte(widest))
	if err != nil {
		t.Fatal(err)
	}
	if j.Name != "widest" || j.Kind != JoinMax || j.Seed != 1<<32-1 || j.BodyLine != 6 || j.Tokens != 10 || j.Body != "result(min(value, weight));\n" {
		t.Errorf("%+v", j)
	}
	if err := j.Check(); err != nil {
		t.Error(err)
	}
	if !isJoin([]byte(widest)) || isJoin([]byte("//! id: 16\n//! name: a\nresult(1u);\n//! kind: join\n")) {
		t.Error("a join is not told from an opcode")
	}
}

func TestJoinsThatBreakTheRulesAreRefusedWithTheirLine(t *testing.T) {
	header := "//! kind: join\n//! name: a\n//! join: min\n//! seed: 0\n"
	for _, c := range []struct{ name, text, want string }{
		{"memory", header + "result(load(value));", "f.glsl:5: load"},
		{"a loop", header + "FOR(i, 4u) { result(i); }", "f.glsl:5: FOR"},
		{"no result", header + "uint a = value;", "nothing travels"},
		{"an unknown name", header + "result(values);", "f.glsl:5: values is refused"},
		{"leaving the function", header + "result(value); } void f() {", "f.glsl:5"},
		{"another join", strings.Replace(header, "min", "xor", 1) + "result(value);", `f.glsl:3: join is "xor", want one of min, max, or, and`},
		{"no seed", "//! kind: join\n//! name: a\n//! join: min\nresult(value);", `no line "//! seed: …"`},
		{"a seed beyond 32 bits", strings.Replace(header, "seed: 0", "seed: 4294967296", 1) + "result(value);", "f.glsl:4: seed"},
		{"an opcode's key", header + "//! id: 16\nresult(value);", `f.glsl:5: "id" is no key`},
		{"a key twice", header + "//! seed: 1\nresult(value);", "f.glsl:5: seed is declared in line 4"},
		{"a header line behind", header + "result(value);\n//! seed: 1", "f.glsl:6: header lines come before"},
	} {
		if _, err := ParseJoin("f.glsl", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if err := (&Join{Name: "empty"}).Check(); err == nil {
		t.Error("a join without a body passes")
	}
}

func TestAJoinWithItsIdentityChangesNothing(t *testing.T) {
	for k := range JoinKind(joinKinds) {
		for _, v := range []uint32{0, 1, 0x80000000, 0xF0F0F0F0, 1<<32 - 1} {
			if got := k.Apply(v, k.Identity()); got != v {
				t.Errorf("%v of %#x and the identity is %#x", k, v, got)
			}
			if got := k.Apply(k.Identity(), v); got != v {
				t.Errorf("%v of the identity and %#x is %#x", k, v, got)
			}
		}
	}
}
