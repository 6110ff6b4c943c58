package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The flow graph of a loop, i = m - 1; do { i++; if (…) a = u2; i = u3 } while (…), as a textbook has
// it: block 1 defines d1 to d3, the others redefine them.
const (
	loopEdges = "0 1\n1 2\n2 3\n2 4\n3 4\n4 2\n4 5\n"
	loopFacts = "1 gen d1,d2,d3 kill d4,d5,d6,d7\n2 gen d4,d5 kill d1,d2,d7\n3 gen d6 kill d3\n4 gen d7 kill d1,d4\n"
)

// writeFile writes a file of the test's own and returns its name.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// flowLines is what --out writes of a dataflow problem.
func flowLines(t *testing.T, edges, facts string, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "facts.txt")
	args = append([]string{"run", "flow", "--facts", writeFile(t, "in.facts", facts), "--out", out, "-"}, args...)
	if code, _, errs := runGraph(edges, args...); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGraphRunFlowNamesTheFactsThatArriveAndLeave(t *testing.T) {
	for _, c := range []struct{ edges, facts, args, want string }{
		{loopEdges, loopFacts, "--directed", "0\n1 leaves d1,d2,d3\n2 arrives d1,d2,d3,d5,d6,d7 leaves d3,d4,d5,d6\n" +
			"3 arrives d3,d4,d5,d6 leaves d4,d5,d6\n4 arrives d3,d4,d5,d6 leaves d3,d5,d6,d7\n5 arrives d3,d5,d6,d7 leaves d3,d5,d6,d7\n"},
		// Liveness: what is used begins, what is written ends, backward.
		{"1 2\n2 3\n3 2\n3 4\n", "1 kill i,n\n2 gen i,n kill t\n3 gen t kill i\n4 gen n\n", "--directed --reverse",
			"1 arrives i,n\n2 arrives n,t leaves i,n\n3 arrives i,n leaves n,t\n4 leaves n\n"},
		// What begins in a block that jumps to itself arrives there, and what arrives from outside travels.
		{"7 7\n7 8\n", "7 gen a kill b entry b,c\n", "--directed", "7 arrives a,b,c leaves a,c\n8 arrives a,c leaves a,c\n"},
		{"1 2\n", "# nothing\n", "", "1\n2\n"},
	} {
		if got := flowLines(t, c.edges, c.facts, append(strings.Fields(c.args), "--engine", "reference")...); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.args, got, c.want)
		}
	}
}

func TestGraphRunFlowTakesMoreFactsThanAWordHasBits(t *testing.T) {
	var facts strings.Builder
	for i := range 70 {
		fmt.Fprintf(&facts, "%d gen f%d\n", i, i)
	}
	var path strings.Builder
	for i := range 70 {
		fmt.Fprintf(&path, "%d %d\n", i, i+1)
	}
	lines := strings.Split(flowLines(t, path.String(), facts.String(), "--directed", "--engine", "reference"), "\n")
	want := "70 arrives f0"
	for i := 1; i < 70; i++ {
		want += fmt.Sprintf(",f%d", i)
	}
	if got, _, _ := strings.Cut(lines[70], " leaves"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r := graphJSON(t, path.String(), "run", "flow", "--facts", writeFile(t, "in.facts", facts.String()), "--directed", "--engine", "reference", "-")
	if r.Facts != 70 || r.Passes != 3 || r.Reached != 70 {
		t.Errorf("%+v", r)
	}
}

func TestGraphRunFlowRefusesBadInputBeforeItOpensADevice(t *testing.T) {
	facts := writeFile(t, "good.facts", "0 gen a\n")
	for _, c := range []struct{ args, want string }{
		{"run flow -", "flow takes --facts FILE"},
		{"run bfs --source 0 --facts " + facts + " -", "--facts is for the algorithm flow, not bfs"},
		{"run flow --source 0 --facts " + facts + " -", "flow takes no --source"},
		{"run flow --facts nothing.facts -", "nothing.facts"},
		{"run flow --reverse --facts " + facts + " -", "an undirected one is its own reverse"},
		{"run flow --facts " + writeFile(t, "other.facts", "9 gen a\n") + " -", "other.facts: graph: line 1: node 9 is no node of the graph"},
		{"run flow --facts " + writeFile(t, "cut.facts", "0 gen a\n1 gen a,") + " -", "cut.facts: graph: line 2: gen: a fact without a name, before or behind a comma; is the file cut off?"},
	} {
		args := append(strings.Fields(c.args), "--device", "no-such-device")
		if code, _, errs := runGraph("0 1\n", args...); code != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d, %q, want %q", c.args, code, errs, c.want)
		}
	}
}

func TestGraphConvertReversesAndKeepsLoops(t *testing.T) {
	out := filepath.Join(t.TempDir(), "reversed.rmg")
	if code, _, errs := runGraph("1 2\n2 3\n3 3\n", "convert", "--directed", "--reverse", "--loops", "--out", out, "-"); code != 0 || !strings.Contains(errs, "3 nodes, 3 edges, directed") {
		t.Fatal(code, errs)
	}
	r := graphJSON(t, "", "run", "bfs", "--source", "3", "--engine", "reference", out)
	if r.Reached != 3 || len(r.Levels) != 3 || r.EdgesTraversed != 3 {
		t.Errorf("%+v", r)
	}
}
