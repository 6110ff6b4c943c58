package graph

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestBinaryFilesGiveBackTheGraph(t *testing.T) {
	for i, e := range []Edges{{}, {Nodes: 3}, randomEdges(300, 2000, false, 1), randomEdges(300, 2000, true, 2)} {
		for w := range e.Weights {
			e.Weights[w] /= 2
		}
		if i == 3 {
			for v := range e.Nodes {
				e.IDs = append(e.IDs, uint64(v)*1e12)
			}
		}
		for _, o := range []Options{{}, {Directed: true}, {Loops: true, Duplicates: true}} {
			want, err := Build(e, o)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := Write(&b, want); err != nil {
				t.Fatal(err)
			}
			got, format, err := Read(&b, Options{}, Limits{})
			if err != nil || format != Binary {
				t.Fatalf("list %d, %+v: %v", i, o, err)
			}
			if got.Directed() != o.Directed || !reflect.DeepEqual(got.Out.Targets, want.Out.Targets) || !reflect.DeepEqual(got.Out.Offsets, want.Out.Offsets) ||
				!reflect.DeepEqual(got.Out.Weights, want.Out.Weights) || !reflect.DeepEqual(got.Out.IDs, want.Out.IDs) || !reflect.DeepEqual(got.In.Targets, want.In.Targets) {
				t.Errorf("list %d, %+v: another graph came back", i, o)
			}
		}
	}
}

func TestDamagedBinaryFilesAreRefused(t *testing.T) {
	p := read(t, "0 1 3\n1 2 4\n2 9 5\n", Options{})
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	for n := len(binaryMagic); n < len(whole); n++ {
		if _, _, err := Read(bytes.NewReader(whole[:n]), Options{}, Limits{}); err == nil {
			t.Errorf("the first %d of %d bytes were taken", n, len(whole))
		}
	}
	for at := len(binaryMagic); at < len(whole); at++ {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x10
		if _, _, err := Read(bytes.NewReader(damaged), Options{}, Limits{}); err == nil {
			t.Errorf("byte %d is another, and the file was taken", at)
		}
	}
}

// Two files put together are none, and of a packed file the sum of the packing counts too.
func TestBinaryFilesWithSomethingBehindAreRefused(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, read(t, "0 1\n", Options{})); err != nil {
		t.Fatal(err)
	}
	packed := []byte(zipped(b.String()))
	packed[len(packed)-8] ^= 1 // of the sum
	for name, file := range map[string]string{"a byte behind": b.String() + "\n", "twice": b.String() + b.String(), "packed, damaged": string(packed)} {
		if _, _, err := Read(strings.NewReader(file), Options{}, Limits{}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestBinaryFilesOfMoreEdgesThanAllowedAreRefused(t *testing.T) {
	for _, directed := range []bool{false, true} {
		var b bytes.Buffer
		if err := Write(&b, read(t, "0 1\n1 2\n2 3\n", Options{Directed: directed})); err != nil {
			t.Fatal(err)
		}
		for limit, refused := range map[uint64]bool{2: true, 3: false} {
			if _, _, err := Read(bytes.NewReader(b.Bytes()), Options{}, Limits{Edges: limit}); errors.Is(err, ErrLimit) != refused || !refused && err != nil {
				t.Errorf("3 edges, directed %t, at most %d: got %v", directed, limit, err)
			}
		}
	}
}

// A binary file with sound checksum can still lie: about symmetry, order, weights.
func TestBinaryFilesThatLieAreRefused(t *testing.T) {
	for name, p := range map[string]Pair{
		"no way back":      pairOf(&Graph{Offsets: []uint32{0, 1, 1}, Targets: []uint32{1}}),
		"another weight":   pairOf(&Graph{Offsets: []uint32{0, 1, 2}, Targets: []uint32{1, 0}, Weights: []uint32{1, 2}}),
		"rows not sorted":  pairOf(&Graph{Offsets: []uint32{0, 2, 3, 4}, Targets: []uint32{2, 1, 0, 0}}),
		"too heavy a load": pairOf(&Graph{Offsets: []uint32{0, 1}, Targets: []uint32{0}, Weights: []uint32{Unreached}}),
	} {
		var b bytes.Buffer
		if err := Write(&b, p); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Read(&b, Options{}, Limits{}); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
