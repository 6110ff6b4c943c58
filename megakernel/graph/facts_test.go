package graph

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func readFacts(t testing.TB, text string) *Facts {
	t.Helper()
	f, err := ReadFacts(strings.NewReader(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFactsAreTheBitsOfTheirNames(t *testing.T) {
	g := &Graph{Offsets: make([]uint32, 4), IDs: []uint64{7, 10, 900}}
	f := readFacts(t, "\xEF\xBB\xBF# reaching definitions\n\n7 gen x=1,y kill z\r\n  900\tkill x=1 entry z,ü \n% the end\n")
	if want := []string{"x=1", "y", "z", "ü"}; !slices.Equal(f.Names, want) || f.Passes() != 1 {
		t.Errorf("%q in %d passes, want %q", f.Names, f.Passes(), want)
	}
	got, err := f.Pass(g, 0)
	if want := (FactPass{Entry: []uint32{0, 0, 12}, Gen: []uint32{3, 0, 0}, Kill: []uint32{4, 0, 1}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v (%v)", got, want, err)
	}
	if got.Leaves(2, 13) != 12 || got.Leaves(0, 12) != 11 {
		t.Errorf("%b and %b leave", got.Leaves(2, 13), got.Leaves(0, 12))
	}
}

func TestFactsThatAreWrongAreRefusedWithTheirLine(t *testing.T) {
	many := &strings.Builder{}
	for i := range MaxFacts + 1 {
		fmt.Fprintf(many, "%d gen f%d\n", i, i)
	}
	for _, c := range []struct{ text, want string }{
		{"x gen a", `line 1: node "x" is no whole number`},
		{"-1 gen a", `node "-1" is negative`},
		{"18446744073709551616 gen a", "does not fit 64 bits"},
		{"1,2 gen a", `node "1" is no whole number`},
		{"1 gen a\n# more\n2 gen b\n1 kill b", "line 4: node 1 has line 1 already"},
		{"1 gen a\n2", "line 2: node 2 has neither entry, gen nor kill; is the file cut off?"},
		{"1 gen", "gen is followed by no facts; is the file cut off?"},
		{"1 gen a kill", "kill is followed by no facts; is the file cut off?"},
		{"1 gen a,", "behind a comma; is the file cut off?"},
		{"1 gen a,,b", "before or behind a comma"},
		{"1 gen kill a", "kill is no name of a fact"},
		{"1 gen a, b", "behind a comma"},
		{"1 a gen", `"a"; behind the node come entry, gen and kill`},
		{"1 gen a gen b", "gen is there twice"},
		{"1 gen a,b,a", `gen: "a" is there twice`},
		{"1 gen a\x00", "cannot be printed"},
		{"1 gen \xff", "cannot be printed"},
		{"1 gen " + strings.Repeat("a", 65), "more than 64 bytes"},
		{"1 gen " + strings.Repeat("a,", 1<<20), "line 1: longer than"},
		{many.String(), fmt.Sprintf("line %d: gen: graph: larger than allowed: fact \"f%d\" is one more than %d", MaxFacts+1, MaxFacts, MaxFacts)},
	} {
		_, err := ReadFacts(strings.NewReader(c.text), 0)
		if line := (*LineError)(nil); !errors.As(err, &line) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.text, err, c.want)
		}
	}
	f := readFacts(t, "1 gen a\n\n9 gen a")
	if _, err := f.Pass(&Graph{Offsets: make([]uint32, 3)}, 0); err == nil || err.Error() != "graph: line 3: node 9 is no node of the graph" {
		t.Errorf("a node beyond the graph: %v", err)
	}
}

func TestPackedFactsAreReadAndCutOnesRefused(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := io.WriteString(w, "1 gen a\n2 gen b\n")
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFacts(bytes.NewReader(packed.Bytes()), 16)
	if err != nil || !slices.Equal(f.Names, []string{"a", "b"}) {
		t.Errorf("%v, %v", f, err)
	}
	if _, err := ReadFacts(bytes.NewReader(packed.Bytes()), 15); !errors.Is(err, ErrLimit) {
		t.Errorf("more than allowed: %v", err)
	}
	if _, err := ReadFacts(bytes.NewReader(packed.Bytes()[:packed.Len()-9]), 0); !errors.Is(err, ErrMalformed) {
		t.Errorf("cut off: %v", err)
	}
}

// Facts of many passes, solved pass by pass, are those of one search for each fact.
func TestPassesOfFactsAreIndependent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		facts := rapid.IntRange(1, 100).Draw(rt, "facts")
		e := randomEdges(30, 40, false, rng.Uint64())
		p, err := Build(e, Options{Directed: true, Loops: true})
		if err != nil {
			rt.Fatal(err)
		}
		text, sets := randomFacts(rng, uint32(p.Out.Nodes()), facts)
		f := readFacts(t, text)
		for pass := range f.Passes() {
			bits, err := f.Pass(p.Out, pass)
			if err != nil {
				rt.Fatal(err)
			}
			values := bits.Values(p.Out)
			for i, name := range f.Names[pass*FactsPerPass : min((pass+1)*FactsPerPass, len(f.Names))] {
				arrives := sets.arrives(p.Out, name)
				for v, value := range values {
					if (value>>i&1 != 0) != arrives[v] {
						rt.Fatalf("fact %s at node %d: %v in\n%s", name, v, !arrives[v], text)
					}
				}
			}
		}
	})
}

// factSets says, by fact and node, what a file states.
type factSets struct{ entry, gen, kill map[string]map[uint32]bool }

func randomFacts(rng *rand.Rand, nodes uint32, facts int) (string, factSets) {
	sets := factSets{make(map[string]map[uint32]bool), make(map[string]map[uint32]bool), make(map[string]map[uint32]bool)}
	var b strings.Builder
	for v := range nodes {
		line := ""
		for _, l := range []struct {
			keyword string
			set     map[string]map[uint32]bool
		}{{"entry", sets.entry}, {"gen", sets.gen}, {"kill", sets.kill}} {
			var names []string
			for range rng.IntN(4) {
				if name := fmt.Sprint("f", rng.IntN(facts)); !slices.Contains(names, name) {
					names = append(names, name)
					if l.set[name] == nil {
						l.set[name] = make(map[uint32]bool)
					}
					l.set[name][v] = true
				}
			}
			if len(names) > 0 {
				line += " " + l.keyword + " " + strings.Join(names, ",")
			}
		}
		if line != "" {
			fmt.Fprintf(&b, "%d%s\n", v, line)
		}
	}
	return b.String(), sets
}

// arrives is where one fact arrives, by a search of its own.
func (s *factSets) arrives(g *Graph, fact string) []bool {
	at := make([]bool, g.Nodes())
	var work []uint32
	for v := range uint32(g.Nodes()) {
		at[v] = s.entry[fact][v]
		if s.gen[fact][v] || at[v] && !s.kill[fact][v] {
			work = append(work, v)
		}
	}
	for len(work) > 0 {
		u := work[0]
		work = work[1:]
		for _, v := range g.Out(u) {
			if !at[v] {
				at[v] = true
				if !s.kill[fact][v] && !s.gen[fact][v] {
					work = append(work, v)
				}
			}
		}
	}
	return at
}

func FuzzReadFacts(f *testing.F) {
	for _, text := range []string{"1 gen a,b kill c\n", "0 entry x\n2 kill x gen y\n", "# c\n3 gen ü", "1 gen", "1,2", ""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		facts, err := ReadFacts(bytes.NewReader(data), 1<<16)
		if err != nil {
			return
		}
		if len(facts.Names) > MaxFacts || facts.Passes() > MaxFacts/FactsPerPass {
			t.Errorf("%d facts in %d passes", len(facts.Names), facts.Passes())
		}
		for pass := range facts.Passes() {
			if p, err := facts.Pass(&Graph{Offsets: make([]uint32, 11)}, pass); err == nil && len(p.Gen) != 10 {
				t.Errorf("%d words for 10 nodes", len(p.Gen))
			}
		}
	})
}
