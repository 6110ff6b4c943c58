package texttest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected output of testdata/*.txt; read the diff before you keep it")

// Run runs testdata/*.txt, one file a rule and a test of its own. A case is an input, a line
// of four dashes, and what is expected of it up to a blank line; play says what comes of
// the input. What lies between blank lines and has only lines that begin with # explains the
// cases. With -update the files get what comes.
func Run(t *testing.T, play func(t *testing.T, input string) string) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no text cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runFile(t, file, play) })
	}
}

func runFile(t *testing.T, file string, play func(t *testing.T, input string) string) {
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cases := 0
	for block := range strings.SplitSeq(strings.TrimSpace(string(content)), "\n\n") {
		if input, want, found := strings.Cut(block, "----"); found || !isComment(block) {
			if !found && !*update {
				t.Fatalf("%s: a case without four dashes:\n%s", file, block)
			}
			cases++
			got := play(t, input)
			if strings.TrimSpace(want) != got && !*update {
				t.Errorf("%s:\n%sgot\n%s\nwant\n%s", file, input, got, strings.TrimSpace(want))
			}
			block = strings.TrimSpace(input) + "\n----\n" + got
		}
		out.WriteString(strings.TrimSpace(block) + "\n\n")
	}
	if cases == 0 {
		t.Fatalf("%s: no cases", file)
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimSpace(out.String())+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func isComment(block string) bool {
	for line := range strings.Lines(block) {
		if !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}
