package search

import (
	"math/rand/v2"

	"ringmaster/megakernel/tuner/space"
)

const (
	// wholeSize is the largest space of which a Gaussian process judges every
	// configuration; of a larger one it judges poolSize at a time.
	wholeSize = 16_384
	poolSize  = 8_192
)

// pool are the configurations that a Gaussian process judges. Where the space is
// too large for all, they change with what is known: half are drawn from the
// whole space, half lie around the best, and both are drawn again as
// measurements come in. Between two draws the pool only grows, by the neighbours
// of a new best.
type pool struct {
	space   *space.Space
	rng     *rand.Rand
	configs []int32
	in      []bool // by configuration; nil if all are
	draws   int    // how often configs was drawn
	around  int    // the best whose neighbours are in, -1 for none
}

// newPool makes a pool: the whole space, or if that is too large, a draw given
// the configurations first; see draw.
func newPool(s *space.Space, rng *rand.Rand, first []int) *pool {
	p := &pool{space: s, rng: rng, around: -1}
	if s.Len() > wholeSize {
		p.in = make([]bool, s.Len())
		p.draw(first)
		return p
	}
	p.configs, p.draws = make([]int32, s.Len()), 1
	for c := range p.configs {
		p.configs[c] = int32(c)
	}
	return p
}

func (p *pool) whole() bool { return p.in == nil }

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
	var near []int
	for i := 0; i < len(p.configs) && len(p.configs) < poolSize/2; i++ {
		near = p.space.AppendNeighbours(near[:0], int(p.configs[i]))
		for _, c := range near {
			p.add(c)
		}
	}
	for len(p.configs) < poolSize { // the space has at least twice as many
		p.add(p.rng.IntN(p.space.Len()))
	}
}

// surround adds the neighbours of the best, once for each best.
func (p *pool) surround(best int) {
	if p.whole() || best < 0 || best == p.around {
		return
	}
	p.around = best
	for _, c := range p.space.AppendNeighbours(nil, best) {
		p.add(c)
	}
}
