package search

import (
	"math"
	"math/rand/v2"
)

// chance estimates by a forest the probability that a configuration of a pool runs.
// Limits are often on products of parameters, such as the threads of a workgroup,
// and cut a space along a line that no neighbourhood follows.
type chance struct {
	pool   *pool
	trees  *samples
	forest forest
	ran    []float64 // of what was measured, in its order
	runs   int
	grown  int // measurements that the forest was grown from
	drawn  int // the draw of the pool that by belongs to
	by     []float32
}

func newChance(rng *rand.Rand, pool *pool, s *samples) chance {
	return chance{pool: pool, trees: s, forest: forest{rng: rng}}
}

// update grows the forest anew after a failure, and otherwise when there is a tenth
// more to learn from, and judges the pool by it.
func (c *chance) update(m *Measured) {
	failed := false
	for _, config := range m.Order[len(c.ran):] {
		ran := 0.0
		if m.ran(config) {
			ran = 1
			c.runs++
		}
		failed = failed || ran == 0
		c.ran = append(c.ran, ran)
	}
	n := len(c.ran)
	if c.runs == n {
		return
	}
	if failed || n > c.grown+c.grown/10 {
		c.grown, c.drawn = n, 0
		c.trees.add(m)
		c.forest.grow(c.trees.x, c.ran)
	}
	if c.drawn != c.pool.draws {
		c.drawn, c.by = c.pool.draws, c.by[:0]
	}
	for _, config := range c.pool.configs[len(c.by):] {
		share, _ := c.forest.predict(c.trees.of(int(config)))
		c.by = append(c.by, float32(share))
	}
}

// of is the chance of the pool's configuration i. Few outcomes are never certain.
func (c *chance) of(i int) float64 {
	if c.runs == len(c.ran) {
		return 1
	}
	return math.Max(float64(c.by[i]), 1/float64(len(c.ran)))
}
