package graph

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Shares of the quadrants of a Kronecker graph's adjacency matrix, as in the
// Graph500 benchmark: A = 0.57, B = C = 0.19, in 1/65536.
const (
	quadrantA   = 37356
	quadrantAB  = quadrantA + 12452
	quadrantABC = quadrantAB + 12452
)

// blockEdges is how many edges a generator draws from one seed.
const blockEdges = 1 << 14

// Kronecker draws degree·2^scale edges between 2^scale nodes, each by choosing a
// quadrant of the adjacency matrix scale times, and shuffles the nodes'
// numbers; see the Graph500 specification, kernel 1. scale is 0 to 30.
func Kronecker(scale, degree int, seed uint64) (Edges, error) {
	e, err := drawn(scale, degree)
	if err != nil {
		return e, err
	}
	names := permutation(e.Nodes, seed)
	e.draw(seed, func(src *rand.PCG) (uint32, uint32) {
		var u, v uint32
		var r uint64
		for level := range scale {
			if level%4 == 0 {
				r = src.Uint64()
			}
			q := uint32(r & 0xFFFF)
			r >>= 16
			// Without branches: the quadrant's row is 1 from A+B on, its column
			// between A and A+B and from A+B+C on.
			down := (quadrantAB - 1 - q) >> 31
			right := (quadrantA-1-q)>>31 - down + (quadrantABC-1-q)>>31
			u, v = u<<1|down, v<<1|right
		}
		return names[u], names[v]
	})
	return e, nil
}

// Uniform draws degree·2^scale edges between 2^scale nodes, each end by itself. scale is 0 to 30.
func Uniform(scale, degree int, seed uint64) (Edges, error) {
	e, err := drawn(scale, degree)
	if err != nil {
		return e, err
	}
	mask := e.Nodes - 1
	e.draw(seed, func(src *rand.PCG) (uint32, uint32) {
		r := src.Uint64()
		return uint32(r) & mask, uint32(r>>32) & mask
	})
	return e, nil
}

// drawn is room for the edges of a random graph.
func drawn(scale, degree int) (Edges, error) {
	if scale < 0 || scale > 30 || degree < 0 || degree > 1<<16 || degree<<scale > MaxEdges/2 {
		return Edges{}, fmt.Errorf("%w: 2^%d nodes with %d edges each: the scale is 0 to 30, and there are at most %d edges", ErrTooLarge, scale, degree, MaxEdges/2)
	}
	edges := degree << scale
	return Edges{Nodes: 1 << scale, From: make([]uint32, edges), To: make([]uint32, edges)}, nil
}

// draw fills the list, block by block, each from a generator seeded with the block's number.
func (e *Edges) draw(seed uint64, edge func(*rand.PCG) (uint32, uint32)) {
	blocks := (len(e.From) + blockEdges - 1) / blockEdges
	parallel(blocks, func(b int) {
		src := rand.NewPCG(seed, uint64(b)+1)
		for i := b * blockEdges; i < min((b+1)*blockEdges, len(e.From)); i++ {
			e.From[i], e.To[i] = edge(src)
		}
	})
}

// permutation shuffles 0 to n-1.
func permutation(n uint32, seed uint64) []uint32 {
	src := rand.New(rand.NewPCG(seed, 0))
	p := make([]uint32, n)
	for i := range p {
		p[i] = uint32(i)
	}
	src.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
	return p
}

// Grid connects each of w·h nodes with the one to the right and the one below.
func Grid(w, h uint32) (Edges, error) {
	hi, nodes := bits.Mul64(uint64(w), uint64(h))
	if hi > 0 || nodes > MaxEdges/4 {
		return Edges{}, fmt.Errorf("%w: a grid of %d × %d nodes", ErrTooLarge, w, h)
	}
	e := Edges{Nodes: uint32(nodes), From: make([]uint32, 0, 2*nodes), To: make([]uint32, 0, 2*nodes)}
	for y := range h {
		for x := range w {
			v := y*w + x
			if x+1 < w {
				e.From, e.To = append(e.From, v), append(e.To, v+1)
			}
			if y+1 < h {
				e.From, e.To = append(e.From, v), append(e.To, v+w)
			}
		}
	}
	return e, nil
}

// Path connects n nodes in a row.
func Path(n uint32) (Edges, error) {
	return Grid(n, min(n, 1))
}

// Star connects node 0 with the n-1 others.
func Star(n uint32) (Edges, error) {
	if n > MaxEdges/4 {
		return Edges{}, fmt.Errorf("%w: a star of %d nodes", ErrTooLarge, n)
	}
	e := Edges{Nodes: n}
	for v := uint32(1); v < n; v++ {
		e.From, e.To = append(e.From, 0), append(e.To, v)
	}
	return e, nil
}

// Weigh gives the edges weights of 1 to most, which follow from the seed and the
// edge's ends alone, so that both directions of an edge weigh the same.
func (e *Edges) Weigh(most uint32, seed uint64) {
	e.Weights = make([]uint32, len(e.From))
	parts(len(e.From), func(first, end int) {
		for i := first; i < end; i++ {
			u, v := e.From[i], e.To[i]
			h := mix(uint64(min(u, v))<<32 | uint64(max(u, v)) ^ mix(seed))
			e.Weights[i] = 1 + uint32(h>>32*uint64(most)>>32)
		}
	})
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func mix(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Generators lists what Generate understands.
const Generators = "kronecker:SCALE[:DEGREE[:SEED]], uniform:SCALE[:DEGREE[:SEED]], grid:WxH, path:N, star:N"

// Generate draws the graph that a specification names: see Generators. The
// degree is 16 and the seed 1 unless it says otherwise.
func Generate(spec string) (Edges, error) {
	kind, rest, _ := strings.Cut(spec, ":")
	separator, width, defaults := ":", 32, []uint64{0}
	switch kind {
	case "kronecker", "uniform":
		width, defaults = 31, []uint64{0, 16, 1}
	case "grid":
		separator, defaults = "x", []uint64{0, 0}
	}
	n, err := numbers(strings.Split(rest, separator), width, defaults...)
	if err == nil {
		switch kind {
		case "kronecker":
			return Kronecker(int(n[0]), int(n[1]), n[2])
		case "uniform":
			return Uniform(int(n[0]), int(n[1]), n[2])
		case "grid":
			return Grid(uint32(n[0]), uint32(n[1]))
		case "path":
			return Path(uint32(n[0]))
		case "star":
			return Star(uint32(n[0]))
		}
		err = errors.New("no such generator")
	}
	return Edges{}, fmt.Errorf("graph: %q: %w; want one of %s", spec, err, Generators)
}

// numbers reads at most as many numbers as there are defaults; a default of 0 must be given.
func numbers(words []string, width int, defaults ...uint64) ([]uint64, error) {
	if len(words) > len(defaults) {
		return nil, fmt.Errorf("%d numbers, at most %d", len(words), len(defaults))
	}
	for i := range defaults {
		if i >= len(words) {
			if defaults[i] == 0 {
				return nil, fmt.Errorf("number %d is missing", i+1)
			}
			continue
		}
		n, err := strconv.ParseUint(words[i], 10, width)
		if err != nil {
			return nil, err
		}
		defaults[i] = n
	}
	return defaults, nil
}
