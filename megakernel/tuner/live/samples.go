package live

import "math"

// Bounds of what is remembered.
const (
	MaxArms     = 32       // geometries; the one that has not run for the longest time is forgotten
	memory      = 64       // launches of the estimate of noise: older ones lose weight
	steadyAfter = 4096     // launches of a geometry beyond which its mean moves no more slowly
	levelGain   = 1.0 / 32 // share of a launch's difference from the mean that goes to the level of all geometries
	roundGain   = 1.0 / 3  // the same while geometries are compared
	lagGain     = 1.0 / 4
	levelClip   = 2.0      // standard deviations at which that difference is clipped
	sizeGain    = 1.0 / 16 // of the usual size
	clipping    = 3.5      // standard deviations at which a launch's difference is clipped
	trusted     = 3        // launches of a geometry after which a much shorter one is clipped too
)

// Relative noise of a launch: what is assumed before it was measured, and the least
// that is believed.
const (
	noisePrior  = 0.03
	noiseWeight = 4 // launches as which the assumption counts
	noiseFloor  = 0.005
	mostNoise   = 0.5 // that is believed of what is remembered
)

// Arm sums up the launches of one geometry. The unit is the natural logarithm
// of nanoseconds per slot, converted to the usual size of a launch.
type Arm struct {
	Geometry Geometry
	Count    float64 // launches, decayed, at most 4,096
	Mean     float64
	M2       float64 // sum of squared differences from the mean, decayed
	Stale    bool    // measured before a change of cost

	config  int32
	seen    uint64
	doubted bool // stale only until the round of looks is over
}

// Variance is the sample variance of a launch, or 0 with fewer than two.
func (a *Arm) Variance() float64 {
	if a.Count < 2 {
		return 0
	}
	return a.M2 / (a.Count - 1)
}

// NsPerSlot is the typical time of a slot in nanoseconds.
func (a *Arm) NsPerSlot() float64 { return math.Exp(a.Mean) }

// fold adds one launch of a weight in 0..1, clipped as Huber's estimator does,
// and returns the clipped difference from the mean before it.
func (a *Arm) fold(y, weight, noise float64) float64 {
	if a.Count == 0 {
		a.Count, a.Mean = 1, y
		return 0
	}
	d := y - a.Mean
	if limit := clipping * noise; a.Count < trusted && d < -limit {
		// What disturbs a launch makes it longer, so the first ones were disturbed.
		a.Count, a.Mean, a.M2 = weight, y, 0
		return -limit
	}
	d = math.Max(math.Min(d, clipping*noise), -clipping*noise)
	if a.Count+weight > steadyAfter {
		keep := (steadyAfter - weight) / a.Count
		a.Count *= keep
		a.M2 *= keep
	}
	a.Count += weight
	step := d * weight / a.Count
	a.Mean += step
	a.M2 += weight * d * (d - step)
	return d
}

// spread estimates the noise of a launch from all geometries together.
type spread struct{ n, sum float64 }

// fold takes a launch's difference from a mean of count launches. A difference counts as at
// most two standard deviations, so that disturbed launches have little influence.
func (s *spread) fold(d, count float64) {
	// The difference from a mean of n launches has variance (n+1)/n.
	limit := robust * s.sd()
	d = math.Min(math.Abs(d)*math.Sqrt(count/(count+1)), limit)
	s.n++
	s.sum += d * d / ofRobust
	if s.n > 4*memory {
		s.sum *= 4 * memory / s.n
		s.n = 4 * memory
	}
}

// know takes over a variance that was estimated with some degrees of freedom before.
func (s *spread) know(variance, freedom float64) {
	s.n += freedom
	s.sum += freedom * math.Min(variance, mostNoise*mostNoise)
	if s.n > memory {
		s.sum *= memory / s.n
		s.n = memory
	}
}

const (
	robust   = 2.0
	ofRobust = 0.9205 // variance of a normal value that is clipped so
)

func (s *spread) sd() float64 {
	v := (s.sum + noiseWeight*noisePrior*noisePrior) / (s.n + noiseWeight)
	return math.Max(math.Sqrt(v), noiseFloor)
}
