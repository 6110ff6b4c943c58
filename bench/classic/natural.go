package classic

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"ringmaster/megakernel/tuner/search"
	"ringmaster/megakernel/tuner/space"
)

// factorised samples from a policy that is a product of one categorical
// distribution per parameter, and moves it along the natural gradient of the
// expected score. The Fisher information of each parameter's block is learned
// from the samples. Of a parameter with very many values only the diagonal is
// kept, because the cost of the inverse is the cube of their number.
type factorised struct {
	search.Measured
	rng    *rand.Rand
	fresh  *search.Unseen
	blocks []policyBlock
	batch  []int
	levels []uint16
}

const (
	naturalBatch = 10  // samples between two steps
	naturalRate  = .35 // length of a step
	naturalFloor = .1  // share of each distribution that stays uniform: .1/levels for each level
	fisherMemory = .8  // weight of the past in the learned Fisher block
	fisherDamp   = .05 // added to its diagonal
	maxBlock     = 256 // levels of a parameter of which a whole block is kept
)

// policyBlock is the distribution of one parameter.
type policyBlock struct {
	logits []float64
	probs  []float64
	fisher []float64 // learned: levels × levels, or only the diagonal above maxBlock levels
}

func (b *policyBlock) diagonal() bool { return len(b.probs) > maxBlock }

func newNatural(s *space.Space, o Options) Searcher {
	rng := search.Generator(o.Seed)
	n := &factorised{Measured: search.NewMeasured(s), rng: rng, fresh: search.NewUnseen(rng, s.Len()), levels: make([]uint16, len(s.Params()))}
	for _, p := range s.Params() {
		l := len(p.Values)
		b := policyBlock{logits: make([]float64, l), probs: make([]float64, l)}
		b.soften()
		b.begin()
		n.blocks = append(n.blocks, b)
	}
	return n
}

// begin sets the Fisher information of the uniform distribution.
func (b *policyBlock) begin() {
	l := len(b.probs)
	if b.diagonal() {
		b.fisher = make([]float64, l)
		for i, p := range b.probs {
			b.fisher[i] = p * (1 - p)
		}
		return
	}
	b.fisher = make([]float64, l*l)
	for i := range l {
		for k := range l {
			b.fisher[i*l+k] = -b.probs[i] * b.probs[k]
		}
		b.fisher[i*l+i] += b.probs[i]
	}
}

func (b *policyBlock) soften() {
	top, sum := math.Inf(-1), 0.0
	for _, l := range b.logits {
		top = max(top, l)
	}
	for i, l := range b.logits {
		b.probs[i] = math.Exp(l - top)
		sum += b.probs[i]
	}
	uniform := 1 / float64(len(b.probs))
	for i := range b.probs {
		b.probs[i] = (1-naturalFloor)*b.probs[i]/sum + naturalFloor*uniform
	}
}

func (n *factorised) Ask() (int, bool) {
	if n.Full() {
		return 0, false
	}
	for range 200 { // a sample may be invalid or measured
		for j := range n.levels {
			n.levels[j] = uint16(draw(n.rng, n.blocks[j].probs))
		}
		if c, ok := n.Space.Find(n.levels); ok && !n.Known(c) {
			return c, true
		}
	}
	return n.fresh.Draw(&n.Measured), true
}

func draw(rng *rand.Rand, probs []float64) int {
	u := rng.Float64()
	for i, p := range probs {
		if u -= p; u < 0 {
			return i
		}
	}
	return len(probs) - 1
}

func (n *factorised) Tell(config int, cost float64) {
	if !n.Record(config, cost) {
		return
	}
	n.batch = append(n.batch, config)
	if len(n.batch) == naturalBatch {
		n.step()
		n.batch = n.batch[:0]
	}
}

// step moves every block by rate · F⁻¹ g. The gradient is over all measurements,
// weighted by the exponential of their scores, so that the better ones dominate.
func (n *factorised) step() {
	costs := make([]float64, len(n.Order))
	for i, c := range n.Order {
		costs[i] = n.Costs[c]
	}
	scores := search.Scores(costs)
	total := 0.0
	for i := range scores {
		scores[i] = math.Exp(2.5 * scores[i])
		total += scores[i]
	}
	for j := range n.blocks {
		b := &n.blocks[j]
		b.learn(n.Space, j, n.batch)
		g := make([]float64, len(b.probs))
		for i, p := range b.probs {
			g[i] = -p
		}
		for i, c := range n.Order {
			g[n.Space.Levels(c)[j]] += scores[i] / total
		}
		b.move(g)
	}
}

// learn updates the Fisher block from the batch.
func (b *policyBlock) learn(s *space.Space, j int, batch []int) {
	l := len(b.probs)
	for i := range b.fisher {
		b.fisher[i] *= fisherMemory
	}
	share := (1 - fisherMemory) / float64(len(batch))
	d := make([]float64, l)
	for _, c := range batch {
		for i, p := range b.probs {
			d[i] = -p
		}
		d[s.Levels(c)[j]]++
		for i, x := range d {
			if b.diagonal() {
				b.fisher[i] += share * x * x
				continue
			}
			for k, y := range d {
				b.fisher[i*l+k] += share * x * y
			}
		}
	}
}

func (b *policyBlock) move(g []float64) {
	if b.diagonal() {
		for i, v := range b.fisher {
			g[i] /= v + fisherDamp
		}
	} else {
		b.solve(g)
	}
	for i := range g {
		b.logits[i] += naturalRate * min(2, max(-2, g[i]))
	}
	b.soften()
}

// solve replaces g by the damped inverse of the Fisher block times g.
func (b *policyBlock) solve(g []float64) {
	l := len(g)
	f := mat.NewSymDense(l, slices.Clone(b.fisher))
	for i := range l {
		f.SetSym(i, i, f.At(i, i)+fisherDamp)
	}
	var c mat.Cholesky
	if !c.Factorize(f) {
		return // rounding; the plain gradient will do
	}
	x := mat.NewVecDense(l, g)
	_ = c.SolveVecTo(x, x) // its error warns of a bad condition, which the damping bounds
}
