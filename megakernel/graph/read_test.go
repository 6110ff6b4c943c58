package graph

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func read(t *testing.T, text string, o Options) Pair {
	t.Helper()
	p, _, err := Read(strings.NewReader(text), o, Limits{})
	if err != nil {
		t.Fatalf("%.60q: %v", text, err)
	}
	return p
}

func zipped(data string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(data))
	_ = w.Close()
	return b.String()
}

func TestEdgeListsInEveryWritingAreOneGraph(t *testing.T) {
	want := read(t, "0 1\n1 2\n2 0\n2 3\n", Options{})
	for name, text := range map[string]string{
		"comments and blank lines": "# a\n% b\n\n0 1\n  # c\n1 2\n\n2 0\n2 3\n#",
		"tabs, commas, CRLF":       "0\t1\r\n1,2\r\n2, 0\r\n 2 ,3 \r\n",
		"no end of the last line":  "0 1\n1 2\n2 0\n2 3",
		"byte order mark":          "\xEF\xBB\xBF0 1\n1 2\n2 0\n2 3",
		"repeats and loops":        "0 1\n1 0\n1 2\n2 2\n2 0\n2 3\n2 3\n",
		"gzip":                     zipped("0 1\n1 2\n2 0\n2 3\n"),
	} {
		if got := read(t, text, Options{}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: another graph: %+v", name, got.Out)
		}
	}
	if want.Out.Nodes() != 4 || want.Edges() != 4 || want.Directed() || want.Out.IDs != nil || want.Out.Weights != nil {
		t.Errorf("%+v", want.Out)
	}
}

func TestNodesAreNumberedInTheOrderOfTheirNames(t *testing.T) {
	for name, ids := range map[string][3]uint64{
		"near":         {3, 10, 12},
		"sixty-four":   {0, 7, 1<<64 - 1},
		"all far away": {1 << 62, 1<<62 + 1, 1 << 63},
	} {
		p := read(t, fmt.Sprintf("%d %d 5\n%d %d 6\n", ids[2], ids[0], ids[0], ids[1]), Options{Directed: true})
		if !reflect.DeepEqual(p.Out.IDs, ids[:]) || !reflect.DeepEqual(p.Out.Targets, []uint32{1, 0}) ||
			!reflect.DeepEqual(p.Out.Offsets, []uint32{0, 1, 1, 2}) || !reflect.DeepEqual(p.Out.Weights, []uint32{6, 5}) {
			t.Errorf("%s: %+v", name, p.Out)
		}
		for v, id := range ids {
			if got, ok := p.Out.Node(id); !ok || int(got) != v || p.Out.ID(got) != id {
				t.Errorf("%s: node %d is %d, %t", name, id, got, ok)
			}
		}
		if _, ok := p.Out.Node(11); ok {
			t.Errorf("%s: node 11 is found", name)
		}
	}
}

// A list of many blocks, with names near one another and far apart, is the
// graph of the same edges given as numbers.
func TestLongListsAreReadWhole(t *testing.T) {
	e := randomEdges(50_000, 300_000, true, 9)
	for i := range e.Weights {
		e.Weights[i] /= 2
	}
	e.From, e.To, e.Weights = append(e.From, 49_999), append(e.To, 0), append(e.Weights, 1)
	for v := range e.Nodes - 1 { // every node is there
		e.From, e.To, e.Weights = append(e.From, v), append(e.To, v+1), append(e.Weights, 3)
	}
	want, err := Build(e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, factor := range []uint64{1, 1 << 40} {
		var b strings.Builder
		for i := range e.From {
			fmt.Fprintln(&b, factor*uint64(e.From[i]), factor*uint64(e.To[i]), e.Weights[i])
		}
		if b.Len() < 2*block {
			t.Fatalf("%d bytes are too few for the test", b.Len())
		}
		got := read(t, b.String(), Options{})
		if factor > 1 {
			if got.Out.ID(77) != 77*factor {
				t.Errorf("node 77 is called %d", got.Out.ID(77))
			}
			got.Out.IDs = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("factor %d: another graph", factor)
		}
	}
}

func TestMatricesAreGraphs(t *testing.T) {
	list := read(t, "1 2 5\n2 3 6\n", Options{Directed: true})
	for name, text := range map[string]string{
		"integer": "%%MatrixMarket matrix coordinate integer general\n% c\n\n3 3 2\n1 2 5\n2 3 6\n",
		"real":    "%%matrixmarket MATRIX Coordinate Real General\n3 3 2\n2 3 6.0\n1 2 0.5e1\n",
	} {
		if got := read(t, text, Options{Directed: true}); !reflect.DeepEqual(got, list) {
			t.Errorf("%s: %+v, want %+v", name, got.Out, list.Out)
		}
	}
	pattern := read(t, "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 2\n2 1\n3 3\n", Options{Directed: true, Loops: true})
	if g := pattern.Out; !reflect.DeepEqual(g.Offsets, []uint32{0, 1, 2, 3, 3}) || !reflect.DeepEqual(g.Targets, []uint32{1, 0, 2}) || g.ID(3) != 4 || g.Weights != nil {
		t.Errorf("symmetric: %+v", g)
	}
}

func TestBadFilesAreRefusedWithTheLine(t *testing.T) {
	const mm = "%%MatrixMarket matrix coordinate "
	for text, want := range map[string]string{
		"0 1\n0 x\n":                 "line 2: node \"x\" is no whole number",
		"0 1\n\n# c\n3 -4\n":         "line 4: node \"-4\" is negative",
		"0 1\n5\n":                   "line 2: one number",
		"0 1 2 3\n":                  "line 1: \"3\" is behind the weight",
		"0 1 -2\n":                   "line 1: weight \"-2\" is negative",
		"0 1 2.5\n":                  "whole number",
		"0 1 4294967295\n":           "above 4294967294",
		"0 18446744073709551616\n":   "does not fit 64 bits",
		"0 1 2\n1 2\n":               "line 2: a third column",
		"0 1\xff\n":                  "line 1: node",
		"\x00\x00":                   "line 1: node",
		strings.Repeat("7", block+5): "line 1: longer than",
		strings.Repeat("0 1\n", block) + "0 1 1\n":   "line 1048577: a third column",
		strings.Repeat("0 1\n", block) + "1 y\n":     "line 1048577: node \"y\"",
		zipped("0 1\n1 2\n")[:20]:                    "malformed: the compressed file is cut off",
		"\x1f\x8b\x00":                               "gzip",
		mm + "pattern general\n3 3 2\n1 2\n":         "line 2 claims 2 entries, the file has 1",
		mm + "pattern general\n3 3 1\n1 2\n2 3\n":    "line 2 claims 1 entries, the file has 2",
		mm + "pattern general\n3 3 1\n1 4\n":         "line 3: 4 is out of range",
		mm + "pattern general\n3 3 1\n0 1\n":         "line 3: 0 is out of range",
		mm + "pattern general\n3 3 1\n1 1 1\n":       "line 3: a third number",
		mm + "integer general\n3 3 1\n1 1\n":         "line 3: no value",
		mm + "integer general\n3 3 1\n1 1 -1\n":      "line 3: weight \"-1\" is negative",
		mm + "real general\n3 3 1\n1 1 1.5\n":        "line 3: weight \"1.5\" is no whole number",
		mm + "real general\n3 3 1\n1 1 nan\n":        "line 3: weight",
		mm + "pattern general\n3 4 0\n":              "line 2: 3 rows and 4 columns",
		mm + "pattern general\n4e9 4e9 0\n":          "line 2: \"4e9\" is no whole number",
		mm + "pattern general\n9000000 9000000 1\n":  "line 2: graph: malformed: 9000000 rows for 1 entries",
		mm + "pattern general\n9 9 99999999999\n":    "line 2: graph: larger than allowed: 99999999999 entries",
		mm + "pattern general\n% nothing\n":          "line 3: the file ends",
		mm + "complex general\n":                     "line 1: field \"complex\"",
		mm + "real skew-symmetric\n":                 "line 1: symmetry",
		"%%MatrixMarket matrix array real general\n": "line 1: format \"array\"",
	} {
		_, _, err := Read(strings.NewReader(text), Options{}, Limits{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: got %v, want %q", text, err, want)
		}
	}
}

func TestFilesOfMoreEdgesThanAllowedAreRefused(t *testing.T) {
	_, _, err := Read(strings.NewReader(strings.Repeat("0 1\n", 11)), Options{}, Limits{Edges: 10})
	if !errors.Is(err, ErrLimit) {
		t.Errorf("got %v", err)
	}
}

// A few packed bytes can stand for any number of rows, nodes or comments. What is beyond
// a limit is refused before memory is taken for it, and whatever stands behind is not read.
func TestFilesThatUnpackToMoreThanAllowedAreRefused(t *testing.T) {
	mm := "%%MatrixMarket matrix coordinate pattern general\n"
	binaryHead := func(nodes byte) string {
		return binaryMagic + "\x01\x00\x00\x00\x00\x00\x00\x00\x00" + string(nodes) + strings.Repeat("\x00", 14) + strings.Repeat("\x00", 1<<20)
	}
	limits := Limits{Edges: 1 << 20, Nodes: 1 << 10, Bytes: 1 << 22}
	for want, text := range map[string]string{
		"2000000 rows":              mm + "2000000 2000000 100000\n" + strings.Repeat("1 1\n", 100_000),
		"8192 nodes":                binaryHead(32),
		"2000 nodes":                manyNodes(2000),
		"of more than 4194304 byte": strings.Repeat("#\n", 1<<22),
	} {
		for _, file := range []string{text, zipped(text)} {
			_, _, err := Read(strings.NewReader(file), Options{}, limits)
			if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), want) {
				t.Errorf("%.60q: got %v, want %s", file, err, want)
			}
		}
	}
	if _, _, err := Read(strings.NewReader(zipped(manyNodes(1024))), Options{}, limits); err != nil {
		t.Errorf("as many as allowed: %v", err)
	}
	exact := strings.Repeat("0 1\n", 1<<20)
	if _, _, err := Read(strings.NewReader(zipped(exact)), Options{}, limits); err != nil {
		t.Errorf("as many bytes as allowed: %v", err)
	}
}

// manyNodes is a path of n nodes.
func manyNodes(n int) string {
	var b strings.Builder
	for v := range n - 1 {
		fmt.Fprintln(&b, v, v+1)
	}
	return b.String()
}

func pairOf(g *Graph) Pair { return Pair{Out: g, In: g} }

func TestCountsThatLieTakeNoMemory(t *testing.T) {
	header := append([]byte(binaryMagic), 1, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0xFF, 0xFF, 0x7F, 0, 0, 0, 0, 0xF0, 0xFF, 0xFF, 0x0F, 0, 0, 0, 0)
	for _, text := range []string{string(header), "%%MatrixMarket matrix coordinate pattern general\n4000000000 4000000000 99\n1 2\n", "0 18446744073709551615\n"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, _ = Read(strings.NewReader(text), Options{}, Limits{})
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
			t.Errorf("%.40q: %d bytes of memory for %d bytes of file", text, took, len(text))
		}
	}
}

func TestRealGraphsHaveTheirPublishedSizes(t *testing.T) {
	for name, want := range map[string]struct {
		nodes int
		edges uint64
	}{"ego-facebook": {4039, 88234}, "as-caida": {26475, 53381}} {
		f, err := os.Open("testdata/" + name + ".el.gz")
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := Read(f, Options{}, Limits{})
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if p.Out.Nodes() != want.nodes || p.Edges() != want.edges {
			t.Errorf("%s: %d nodes, %d edges, want %d and %d", name, p.Out.Nodes(), p.Edges(), want.nodes, want.edges)
		}
		for v, label := range Components(p) {
			if label != 0 {
				t.Fatalf("%s: node %d is not connected with node 0", name, v)
			}
		}
		for v, level := range BFS(p.Out, 0) {
			if level == Unreached {
				t.Fatalf("%s: node %d is not reached from node 0", name, v)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("# c\n0 1\n1 2 \n5,9\n"), uint8(0))
	f.Add([]byte("0 1 7\n18446744073709551615 1 0\n"), uint8(1))
	f.Add([]byte("%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 4e1\n3 3 1\n"), uint8(7))
	f.Add([]byte(zipped("0 1\n")), uint8(2))
	var b bytes.Buffer
	p, _, _ := Read(strings.NewReader("0 1 3\n1 9 4\n"), Options{}, Limits{})
	_ = Write(&b, p)
	f.Add(b.Bytes(), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, bits uint8) {
		o := Options{Directed: bits&1 > 0, Loops: bits&2 > 0, Duplicates: bits&4 > 0}
		p, _, err := Read(bytes.NewReader(data), o, Limits{Edges: 1 << 16})
		if err != nil {
			return
		}
		for _, g := range []*Graph{p.Out, p.In} {
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
		}
		back, err := Reverse(p.Out)
		if err != nil || len(back.Targets) != len(p.In.Targets) || len(back.Targets) > 0 && !reflect.DeepEqual(back.Targets, p.In.Targets) {
			t.Fatalf("the in-edges are not those of the out-edges (%v)", err)
		}
		var b bytes.Buffer
		if err := Write(&b, p); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Read(&b, Options{}, Limits{}); err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
	})
}

func BenchmarkReadEdgeList(b *testing.B) {
	e, err := Kronecker(18, 16, 1)
	if err != nil {
		b.Fatal(err)
	}
	var list strings.Builder
	for i := range e.From {
		fmt.Fprintln(&list, e.From[i], e.To[i])
	}
	b.SetBytes(int64(list.Len()))
	for b.Loop() {
		t := text{in: bufio.NewReaderSize(strings.NewReader(list.String()), block), limit: DefaultEdges}
		pieces, err := t.read()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := dense(pieces); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(e.From))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Medges/s")
}
