package search

import (
	"math/rand/v2"

	"ringmaster/megakernel/tuner/space"
)

const (
	// wholeSize is the largest space of which a process judges every configuration;
	// of a larger one it judges poolSize at a time.
	wholeSize = 16_384
	poolSize  = 8_192
)

// pool are the configurations that a process judges. Where the space is too large
// for all, half are drawn from the whole space and half lie around the best; both
// are drawn again as measurements come in. Between two draws the pool only grows, by
// the neighbours of a new best.
type pool struct {
	space   *space.Space
	rng     *rand.Rand
	likely  []int // by a prior, the best first
	configs []int32
	in      []bool // by configuration; nil if all are
	draws   int    // how often configs was drawn
	redraw  int    // measurements at which the pool is drawn anew
	around  int    // the best whose neighbours are in, -1 for none
}

func newPool(s *space.Space, rng *rand.Rand, likely []int) *pool {
	p := &pool{space: s, rng: rng, likely: likely, redraw: starts, around: -1}
	if s.Len() > wholeSize {
		p.in = make([]bool, s.Len())
		p.draw(likely)
		return p
	}
	p.draws = 1
	for c := range s.Len() {
		p.configs = append(p.configs, int32(c))
	}
	return p
}

// follow renews the pool of a space that does not fit into one.
func (p *pool) follow(m *Measured) {
	if p.in == nil {
		return
	}
	if n := len(m.Order); n >= p.redraw {
		p.redraw = n + n/3 + 1
		p.draw(append(m.ranked(), p.likely[:min(len(p.likely), poolSize/4)]...))
	}
	if m.Best >= 0 && m.Best != p.around {
		p.around = m.Best
		for _, c := range p.space.AppendNeighbours(nil, m.Best) {
			p.add(c)
		}
	}
}

func (p *pool) add(config int) {
	if !p.in[config] {
		p.in[config] = true
		p.configs = append(p.configs, int32(config))
	}
}

// draw starts anew. Up to half of the pool are the configurations given and,
// nearest first, those around them; the others are random.
func (p *pool) draw(given []int) {
	for _, c := range p.configs {
		p.in[c] = false
	}
	p.configs = p.configs[:0]
	p.draws++
	p.around = -1
	for _, c := range given[:min(len(given), poolSize/2)] {
		p.add(c)
	}
	for i := 0; i < len(p.configs) && len(p.configs) < poolSize/2; i++ {
		for _, c := range p.space.AppendNeighbours(nil, int(p.configs[i])) {
			p.add(c)
		}
	}
	for len(p.configs) < poolSize { // the space has at least twice as many
		p.add(p.rng.IntN(p.space.Len()))
	}
}
