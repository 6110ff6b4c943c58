package userop

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// file is an opcode file with the given header lines and body.
func file(header, body string) *fstest.MapFile {
	var b strings.Builder
	for line := range strings.Lines(header) {
		b.WriteString("//! " + strings.TrimSpace(line) + "\n")
	}
	return &fstest.MapFile{Data: []byte(b.String() + body)}
}

func TestTheDocumentedExamplesLoad(t *testing.T) {
	ops, err := LoadDir(os.DirFS("../../docs/opcodes"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, op := range ops {
		names = append(names, op.Name)
		if References[op.Reference] == nil {
			t.Errorf("%s has no Go reference", op.Name)
		}
	}
	if got := strings.Join(names, " "); got != "histogram dfa saxpy" {
		t.Errorf("loaded %q in the order of ids", got)
	}
}

func TestAnOpcodeHasWhatItsFileDeclares(t *testing.T) {
	op, err := Parse("scale.glsl", file("id: 0x10\nname: scale\noperands: at, by\nside-effects: yes\nidempotent: no\nmax-steps: 64",
		"// scales\n\nFOR(i, by) { store(at + i, load(at + i) * 2u); } // twice\n").Data)
	if err != nil {
		t.Fatal(err)
	}
	if op.ID != 16 || op.Name != "scale" || strings.Join(op.Operands, ",") != "at,by" || !op.SideEffects || op.Idempotent ||
		op.MaxSteps != 64 || op.StepsOperand != NoOperand || op.Loops != 1 || op.Nested || op.File != "scale.glsl" {
		t.Errorf("got %+v", op)
	}
	if op.BodyLine != 9 || op.Body != "FOR(i, by) { store(at + i, load(at + i) * 2u); }\n" {
		t.Errorf("body from line %d on is %q", op.BodyLine, op.Body)
	}
}

func TestErrorsOfAllFilesAreReportedWithTheirLines(t *testing.T) {
	dir := fstest.MapFS{
		"a.glsl":      file("id: 16\nname: one\nside-effects: no\nidempotent: yes", "result(1u);\n"),
		"b.glsl":      file("id: 16\nname: one\nside-effects: no\nidempotent: yes", "result(1u);\nresult(heap);\n"),
		"c.glsl":      file("id: 7\nname: store\nside-effects: no\nidempotent: yes", "result(1u);\n"),
		"README.md":   {Data: []byte("not an opcode")},
		"d/deep.glsl": {Data: []byte("not read")},
	}
	_, err := LoadDir(dir)
	if err == nil {
		t.Fatal("loaded")
	}
	got := strings.Split(err.Error(), "\n")
	want := []string{
		"b.glsl:6: heap is refused: it is neither declared here",
		"c.glsl:1: id 7 belongs to the built-in opcodes, want 16 to 63",
		"b.glsl:1: id 16 is taken by a.glsl:1",
		"b.glsl:2: name one is taken by a.glsl:2",
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("no error %q in:\n%v", w, err)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d errors, want %d:\n%v", len(got), len(want), err)
	}
}

func TestADirectoryWithoutOpcodesIsAnError(t *testing.T) {
	if _, err := LoadDir(fstest.MapFS{"a.txt": {}}); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}
