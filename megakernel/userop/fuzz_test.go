package userop

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unsafeWords are words that must never come through the check: they reach memory,
// loop without a count, define something or leave the function.
var unsafeWords = regexp.MustCompile(`\b(heap|slots|statuses|results|schedule|control|gl_\w+|rm_\w+|for|while|do|void|struct|buffer|shared|uniform|layout|barrier|memoryBarrier\w*|image\w+|discard|in|out)\b|[#\\\[\]"@]|//|/\*`)

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../../docs/opcodes/*.glsl")
	if err != nil || len(files) == 0 {
		f.Fatalf("no examples: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	const header = "//! id: 20\n//! name: n\n//! operands: a\n//! side-effects: yes\n//! idempotent: no\n//! max-steps: 9\n"
	for _, body := range []string{
		"FOR(i, a) { store(i, 1u); }", "WHILE(a > 0u) { store(a, 1u); break; }", "} void f() { store(a, 1u);", "uint x = (((a",
		"store(a, 1u); // \\\nheap[0] = 1u;", "store(a, 0x); /*", "switch (a) { case 1u: store(a, a); }", "store(a, uvec2(a, 1u).y);",
		"store(a, 1u) /**/ ; if (a > 1u) ; else { }", "#define a b\nstore(a, 1u);", "store(a.x, .5e+3);", "store/**/(/**/a, a ? 1u : 2u);",
	} {
		f.Add([]byte(header + body))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		op, err := Parse("f.glsl", text)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error without words")
			}
			return
		}
		if word := unsafeWords.FindString(op.Body); word != "" {
			t.Errorf("%q came through:\n%s", word, op.Body)
		}
		depth := 0
		for _, c := range op.Body {
			switch c {
			case '{', '(':
				depth++
			case '}', ')':
				depth--
			}
			if depth < 0 {
				t.Fatalf("the body leaves its function:\n%s", op.Body)
			}
		}
		if depth != 0 || op.ID < MinID || op.ID > MaxID || (op.Loops > 0) != (op.MaxSteps > 0) {
			t.Errorf("depth %d, %+v", depth, op)
		}
		// What was accepted is accepted as it is compiled, too.
		if _, again := lex(op.Body, 1, &problems{}); again != op.Body {
			t.Errorf("blanking is not finished:\n%s", op.Body)
		}
	})
}
