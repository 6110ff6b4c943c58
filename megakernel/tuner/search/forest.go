package search

import (
	"math"
	"math/rand/v2"

	"ringmaster/megakernel/tuner/space"
)

// features are the properties of a configuration on which a tree may split: the
// coordinate of each parameter, whether a parameter has a certain value, and the
// logarithm of the product of each pair of numeric parameters.
type features struct {
	space *space.Space
	logs  [][]float32 // by parameter and level; nil if not positive numbers
	hots  [][2]int    // parameter and level
	pairs [][2]int
}

// maxHots is the most values of a numeric parameter of which each is a feature
// of its own.
const maxHots = 8

func newFeatures(s *space.Space) *features {
	f := &features{space: s}
	for j, p := range s.Params() {
		var logs []float32
		if len(p.Numbers) > 2 && p.Numbers[0] > 0 {
			for _, v := range p.Numbers {
				logs = append(logs, float32(math.Log(v)))
			}
		}
		f.logs = append(f.logs, logs)
		if n := len(p.Values); n > 2 && (n <= maxHots || p.Numbers == nil) {
			for l := range n {
				f.hots = append(f.hots, [2]int{j, l})
			}
		}
	}
	for i := range f.logs {
		for j := range i {
			if f.logs[i] != nil && f.logs[j] != nil {
				f.pairs = append(f.pairs, [2]int{j, i})
			}
		}
	}
	return f
}

func (f *features) n() int { return len(f.logs) + len(f.hots) + len(f.pairs) }

// of computes the features of a configuration into to.
func (f *features) of(config int, to []float32) {
	levels := f.space.Levels(config)
	for j, p := range f.space.Params() {
		to[j] = float32(p.Coords[levels[j]])
	}
	to = to[len(levels):]
	for i, h := range f.hots {
		to[i] = 0
		if int(levels[h[0]]) == h[1] {
			to[i] = 1
		}
	}
	to = to[len(f.hots):]
	for i, p := range f.pairs {
		to[i] = f.logs[p[0]][levels[p[0]]] + f.logs[p[1]][levels[p[1]]]
	}
}

// node is a split, or a leaf if feature is negative.
type node struct {
	feature int32
	right   int32 // the left child follows its parent
	cut     float32
	value   float32
}

// forest is an ensemble of extremely randomised trees (Geurts, Ernst and
// Wehenkel, 2006): each is grown on all samples, with random cuts.
type forest struct {
	rng   *rand.Rand
	nodes []node
	roots []int32
	x     [][]float32 // by feature and sample
	y     []float64
}

const (
	treeCount = 20
	smallest  = 2 // nodes of fewer samples are not split
)

func (f *forest) grow(x [][]float32, y []float64) {
	f.x, f.y, f.nodes, f.roots = x, y, f.nodes[:0], f.roots[:0]
	samples := make([]int32, len(y))
	for range treeCount {
		for i := range samples {
			samples[i] = int32(i)
		}
		f.roots = append(f.roots, int32(len(f.nodes)))
		f.split(samples)
	}
}

func (f *forest) split(samples []int32) {
	at := len(f.nodes)
	sum, same := 0.0, true
	for _, s := range samples {
		sum += f.y[s]
		same = same && f.y[s] == f.y[samples[0]]
	}
	f.nodes = append(f.nodes, node{feature: -1, value: float32(sum / float64(len(samples)))})
	if same || len(samples) < smallest {
		return
	}
	feature, cut := f.bestCut(samples, sum)
	if feature < 0 {
		return
	}
	n := 0
	x := f.x[feature]
	for i, s := range samples {
		if x[s] < cut {
			samples[i], samples[n] = samples[n], s
			n++
		}
	}
	f.split(samples[:n])
	f.nodes[at].feature, f.nodes[at].cut, f.nodes[at].right = int32(feature), cut, int32(len(f.nodes))
	f.split(samples[n:])
}

// bestCut tries random cuts of random features and returns the one that
// explains most, or -1 if the samples do not differ in the features tried.
func (f *forest) bestCut(samples []int32, sum float64) (feature int, cut float32) {
	feature = -1
	most := math.Inf(-1)
	n := len(f.x)
	wanted := max(4, n/3)
	for try := 0; try < 3*n && wanted > 0; try++ {
		j := f.rng.IntN(n)
		x := f.x[j]
		low := x[samples[0]]
		high := low
		for _, s := range samples[1:] {
			v := x[s]
			low, high = min(low, v), max(high, v)
		}
		if low == high {
			continue
		}
		wanted--
		c := low + (high-low)*f.rng.Float32()
		if c <= low {
			c = high
		}
		left, count := 0.0, 0
		for _, s := range samples {
			if x[s] < c {
				left += f.y[s]
				count++
			}
		}
		right, rest := sum-left, len(samples)-count
		if gain := left*left/float64(count) + right*right/float64(rest); gain > most {
			feature, cut, most = j, c, gain
		}
	}
	return feature, cut
}

// predict returns mean and standard deviation over the trees.
func (f *forest) predict(x []float32) (mean, sd float64) {
	sum, squares := 0.0, 0.0
	for _, at := range f.roots {
		for f.nodes[at].feature >= 0 {
			n := &f.nodes[at]
			if x[n.feature] < n.cut {
				at++
			} else {
				at = n.right
			}
		}
		v := float64(f.nodes[at].value)
		sum += v
		squares += v * v
	}
	mean = sum / treeCount
	return mean, math.Sqrt(max(0, squares/treeCount-mean*mean))
}
