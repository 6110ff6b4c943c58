package graph

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// FactRow is what the file states for a node about up to FactsPerPass facts, a bit each.
type FactRow struct {
	Node             uint64 // as the graph's file calls it
	Entry, Gen, Kill uint32
}

// FactPass is up to FactsPerPass of the facts, as a word for each node.
type FactPass struct{ Entry, Gen, Kill []uint32 }

// Rows are what the file states about the facts of a pass, counted from 0: those from
// pass*FactsPerPass on. The nodes are in ascending order.
func (f *Facts) Rows(pass int) []FactRow {
	rows := make([]FactRow, 0, len(f.rows))
	for i := range f.rows {
		r := &f.rows[i]
		rows = append(rows, FactRow{r.node, word32(r.entry, pass), word32(r.gen, pass), word32(r.kills, pass)})
	}
	slices.SortFunc(rows, func(a, b FactRow) int { return cmp.Compare(a.Node, b.Node) })
	return rows
}

// Pass is Rows over a graph. The error is a *LineError that names a node which the graph does not have.
func (f *Facts) Pass(g *Graph, pass int) (FactPass, error) {
	for i := range f.rows {
		if _, ok := g.Node(f.rows[i].node); !ok {
			return FactPass{}, &LineError{f.rows[i].line, errNoNode(f.rows[i].node)}
		}
	}
	return PassOf(g, f.Rows(pass))
}

func errNoNode(id uint64) error { return fmt.Errorf("node %d is no node of the graph", id) }

// PassOf is the pass that rows state, over a graph. A node has at most one row.
func PassOf(g *Graph, rows []FactRow) (FactPass, error) {
	p := FactPass{filled(g.Nodes(), 0), filled(g.Nodes(), 0), filled(g.Nodes(), 0)}
	for i := range rows {
		v, ok := g.Node(rows[i].Node)
		if !ok {
			return FactPass{}, fmt.Errorf("graph: facts: %w", errNoNode(rows[i].Node))
		}
		p.Entry[v], p.Gen[v], p.Kill[v] = rows[i].Entry, rows[i].Gen, rows[i].Kill
	}
	return p, nil
}

// factRowBytes is the length of an encoded row.
const factRowBytes = 20

// AppendFactRows appends encoded rows, in ascending order of the nodes: Node, Entry, Gen
// and Kill of each, little-endian.
func AppendFactRows(dst []byte, rows []FactRow) []byte {
	dst = slices.Grow(dst, factRowBytes*len(rows))
	for i := range rows {
		dst = binary.LittleEndian.AppendUint64(dst, rows[i].Node)
		for _, word := range [...]uint32{rows[i].Entry, rows[i].Gen, rows[i].Kill} {
			dst = binary.LittleEndian.AppendUint32(dst, word)
		}
	}
	return dst
}

// ParseFactRows reads what AppendFactRows made. The error wraps ErrMalformed.
func ParseFactRows(data []byte) ([]FactRow, error) {
	if len(data)%factRowBytes != 0 {
		return nil, fmt.Errorf("%w: facts of %d bytes; a row has %d", ErrMalformed, len(data), factRowBytes)
	}
	rows := make([]FactRow, 0, len(data)/factRowBytes)
	for ; len(data) > 0; data = data[factRowBytes:] {
		r := FactRow{binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint32(data[8:]), binary.LittleEndian.Uint32(data[12:]), binary.LittleEndian.Uint32(data[16:])}
		if n := len(rows); n > 0 && rows[n-1].Node >= r.Node {
			return nil, fmt.Errorf("%w: facts of node %d behind those of node %d; nodes have to ascend", ErrMalformed, r.Node, rows[n-1].Node)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// word32 is the bits of those facts that belong to a pass.
func word32(facts []uint32, pass int) (bits uint32) {
	for _, fact := range facts {
		if int(fact/FactsPerPass) == pass {
			bits |= 1 << (fact % FactsPerPass)
		}
	}
	return bits
}

// Leaves are the facts that leave a node at which value arrived.
func (p *FactPass) Leaves(v, value uint32) uint32 { return p.Gen[v] | value&^p.Kill[v] }

// Values solves the pass with the plain algorithm: what arrives at each node.
func (p *FactPass) Values(g *Graph) []uint32 { return Flow(g, p.Entry, p.Gen, p.Kill) }
