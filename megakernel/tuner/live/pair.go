package live

import "math"

// pair is a difference of two geometries that ran beside each other: by how much the
// logarithm of the time of one is above that of the other, and the variance of that.
type pair struct {
	of, than int32
	d        float64
	variance float64
	hint     bool // measured elsewhere
}

// compare compares the look with the launches of the incumbent before and after it.
// If these two differ, the machine changed meanwhile, and the pair says less.
func (t *Tuner) compare(after launch) pair {
	k, before := &t.look, t.before
	noise := t.noise.sd()
	jump, off := after.y-before.y, k.off-(after.off+before.off)/2
	v := noise*noise/k.n + math.Max(noise*noise/2, jump*jump/4) + t.size.doubt(off, noise)
	return pair{of: k.config, than: t.current, d: clip(k.y-(before.y+after.y)/2, worstRatio), variance: v}
}

func clip(x, most float64) float64 { return math.Max(math.Min(x, most), -most) }

// keepPair adds a difference, for the oldest if there is no room.
func (t *Tuner) keepPair(p pair) {
	if t.n == maxPairs {
		copy(t.pairs[:], t.pairs[1:])
		t.n--
	}
	t.pairs[t.n] = p
	t.n++
}

// spread estimates the noise of a launch from the differences of launches in a row of
// one geometry. A difference counts as at most two standard deviations, so that
// disturbed launches have little influence.
type spread struct{ n, sum float64 }

func (s *spread) fold(d float64) {
	d = math.Min(math.Abs(d)/math.Sqrt2, robust*s.sd())
	s.know(d*d/ofRobust, 1)
}

// know takes over a variance that was estimated with some degrees of freedom.
func (s *spread) know(variance, freedom float64) {
	s.n += freedom
	s.sum += freedom * math.Min(variance, mostNoise*mostNoise)
	if s.n > noiseMemory {
		s.sum *= noiseMemory / s.n
		s.n = noiseMemory
	}
}

func (s *spread) sd() float64 {
	v := (s.sum + noiseWeight*noisePrior*noisePrior) / (s.n + noiseWeight)
	return math.Max(math.Sqrt(v), noiseFloor)
}
