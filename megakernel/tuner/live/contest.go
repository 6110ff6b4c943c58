package live

import "math"

const (
	maxDuels = 32
	// A difference of more standard deviations than this counts less, as in Huber's estimator.
	huber = 1.5
	// What disturbs a machine makes it slower: a look during a slower time says less about what is
	// best without a disturbance. Its variance grows by this times the square of the logarithm.
	slowWeight = 1.0
	// A look that took longer by more than tail was at a bad geometry, or was disturbed; a second look tells
	// which. Its variance grows by tailWeight times the square of the excess.
	tail       = 0.2
	tailWeight = 0.25
)

// duel is a look at a geometry, compared with launches of the kept geometry around it.
type duel struct {
	of, kept int32
	d        float64 // difference of the logarithms of the times
	variance float64
	level    float64 // logarithm of what the kept geometry took, converted to the first kept geometry
}

// contest is the process conditioned on differences. These do not contain what is common to all
// launches of the same time.
type contest struct {
	space *Space
	n     int
	duels [maxDuels]duel
	lower [maxDuels][maxDuels]float64
	alpha [maxDuels]float64
}

// condition takes the differences. Those that are unlikely given the others count less.
func (c *contest) condition(s *Space, duels []duel) {
	c.space, c.n = s, copy(c.duels[:], duels)
	floor := math.Inf(1)
	for i := range duels {
		floor = math.Min(floor, duels[i].level)
	}
	for i := range c.n {
		slower := c.duels[i].level - floor
		longer := math.Max(c.duels[i].d-tail, 0)
		c.duels[i].variance += slowWeight*slower*slower + tailWeight*longer*longer
	}
	c.factor()
	for i := range c.n {
		d := &c.duels[i]
		m, _ := c.predict(d.of, d.kept)
		if r := math.Abs(d.d-m) / math.Sqrt(d.variance); r > huber {
			d.variance *= r / huber
		}
	}
	c.factor()
}

// kernel is the covariance of the costs of two geometries, as of a [process].
func (c *contest) kernel(a, b int32) float64 {
	return c.space.covariance(a, b) + trustVar*c.space.prior[a]*c.space.prior[b]
}

// across is the covariance of the differences of two pairs.
func (c *contest) across(a, b, x, y int32) float64 {
	return c.kernel(a, x) - c.kernel(a, y) - c.kernel(b, x) + c.kernel(b, y)
}

func (c *contest) factor() {
	for i := range c.n {
		d := &c.duels[i]
		for j := 0; j <= i; j++ {
			v := c.across(d.of, d.kept, c.duels[j].of, c.duels[j].kept)
			if i == j {
				v += d.variance + 1e-6
			}
			for k := range j {
				v -= c.lower[i][k] * c.lower[j][k]
			}
			if i == j {
				c.lower[i][i] = math.Sqrt(math.Max(v, 1e-9))
			} else {
				c.lower[i][j] = v / c.lower[j][j]
			}
		}
		v := d.d - (c.space.prior[d.of] - c.space.prior[d.kept])
		for k := range i {
			v -= c.lower[i][k] * c.alpha[k]
		}
		c.alpha[i] = v / c.lower[i][i]
	}
}

// predict is the mean and the standard deviation of the difference of two geometries.
func (c *contest) predict(of, kept int32) (mean, sd float64) {
	var v [maxDuels]float64
	mean, variance := c.space.prior[of]-c.space.prior[kept], c.across(of, kept, of, kept)
	for i := range c.n {
		k := c.across(of, kept, c.duels[i].of, c.duels[i].kept)
		row := &c.lower[i]
		for j := range i {
			k -= row[j] * v[j]
		}
		v[i] = k / row[i]
		mean += v[i] * c.alpha[i]
		variance -= v[i] * v[i]
	}
	return mean, math.Sqrt(math.Max(variance, 0))
}
