package live

import "math"

// Constants of the detector, in standard deviations of a launch. With this
// allowance and bound there is less than one false alarm in a million launches of
// normal noise, and a shift of 3 is noticed after 5 launches.
const (
	allowance = 1.0
	alarm     = 8.0
	outlier   = 4.0 // clips residuals, so that a single launch is never a change
)

// cusum is Page's two-sided cumulative sum (Biometrika 41, 1954).
type cusum struct{ up, down float64 }

// add takes a standardised residual and says whether the mean has moved.
func (c *cusum) add(z float64) bool {
	z = math.Max(math.Min(z, outlier), -outlier)
	c.up = math.Max(c.up+z-allowance, 0)
	c.down = math.Max(c.down-z-allowance, 0)
	return c.up > alarm || c.down > alarm
}

// Constants of the slope.
const (
	slopePrior    = 0.75 // between 0, a launch that is all overhead, and 1, one without any
	slopeVariance = 0.06
	farSize       = 1.5 // natural logarithm: beyond a factor of 4.5 the slope is no guide
)

// slope learns how the log of a launch's time grows with the log of its slots.
type slope struct {
	n, x, y, xx, xy float64 // decayed count, means and centred sums
}

func (s *slope) fold(x, y float64) {
	const keep = 1 - 1.0/memory
	s.n = s.n*keep + 1
	dx, dy := x-s.x, y-s.y
	s.x += dx / s.n
	s.y += dy / s.n
	s.xx = s.xx*keep + dx*(x-s.x)
	s.xy = s.xy*keep + dx*(y-s.y)
}

// of returns the slope and the variance of its error under a relative noise.
func (s *slope) of(noise float64) (beta, variance float64) {
	known := s.xx / (noise * noise)
	precision := 1/slopeVariance + known
	beta = slopePrior / slopeVariance
	if s.xx > 0 {
		beta += s.xy / s.xx * known
	}
	return math.Max(math.Min(beta/precision, 1.2), 0), 1 / precision
}
