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

// compare conditions the process on differences. Those that are unlikely given the others count less.
func (p *process) compare(s *Space, b belief, duels []duel) {
	p.begin(s, b)
	floor := math.Inf(1)
	for i := range duels {
		floor = math.Min(floor, duels[i].level)
	}
	for i := range duels {
		d := &duels[i]
		slower := d.level - floor
		longer := math.Max(d.d-tail, 0)
		p.see(seen{d.of, d.kept, d.d, d.variance + slowWeight*slower*slower + tailWeight*longer*longer})
	}
	p.factor()
	for i := range p.n {
		o := &p.seen[i]
		m, _ := p.predict(o.of, o.than)
		if r := math.Abs(o.y-m) / math.Sqrt(o.variance); r > huber {
			o.variance *= r / huber
		}
	}
	p.factor()
}
