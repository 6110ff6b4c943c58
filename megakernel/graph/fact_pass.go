package graph

import "fmt"

// FactPass is up to FactsPerPass of the facts, as a word for each node.
type FactPass struct{ Entry, Gen, Kill []uint32 }

// Pass is what the file states about the facts of a pass, counted from 0: those from pass*FactsPerPass
// on. The error is a *LineError that names a node which the graph does not have.
func (f *Facts) Pass(g *Graph, pass int) (FactPass, error) {
	p := FactPass{make([]uint32, g.Nodes()), make([]uint32, g.Nodes()), make([]uint32, g.Nodes())}
	for i := range f.rows {
		r := &f.rows[i]
		v, ok := g.Node(r.node)
		if !ok {
			return FactPass{}, &LineError{r.line, fmt.Errorf("node %d is no node of the graph", r.node)}
		}
		p.Entry[v], p.Gen[v], p.Kill[v] = word32(r.entry, pass), word32(r.gen, pass), word32(r.kills, pass)
	}
	return p, nil
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
