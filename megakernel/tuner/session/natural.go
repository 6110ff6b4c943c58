package session

import (
	"math"
	"slices"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner"
	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/live"
)

const (
	looks        = 3    // launches of a width before it is judged
	safety       = 1.5  // a width this much slower than the best is not looked at again
	leastNoise   = 0.01 // relative, for the temperature
	switchErrors = 3    // standard errors that a gain has to exceed
)

// natural chooses a width by the natural gradient of a softmax policy over the
// original's six.
type natural struct {
	samples tuner.Samples
	widths  []uint32
	current uint32
}

func newNatural(l policy.Limits) *natural {
	n := &natural{widths: tuner.Candidates(l)}
	if len(n.widths) > 0 {
		sizing := policy.Standard().Sizing
		n.current = sizing.DefaultWidth(&l)
	}
	return n
}

// observe folds in a launch and chooses again.
func (n *natural) observe(r *live.Report) error {
	if err := r.Check(); err != nil {
		return err
	}
	n.samples.Observe(r.Geometry.Width, uint64(r.Slots), r.Ns)
	n.choose()
	return nil
}

// choose takes a width that was not measured often enough, the current one first.
// When there is none it takes the width with the largest natural gradient, unless
// its gain over the current one is within the noise.
func (n *natural) choose() {
	if width, ok := n.look(); ok {
		n.current = width
		return
	}
	var costs, counts []float64
	var of []tuner.Stat
	noise, least := leastNoise, math.Inf(1)
	for _, w := range n.widths {
		s := n.samples.Of(w)
		if s.Count < looks {
			continue
		}
		costs, counts, of = append(costs, s.Mean), append(counts, float64(s.Count)), append(of, s)
		noise, least = max(noise, math.Sqrt(s.Variance())/s.Mean), min(least, s.Mean)
	}
	if len(costs) == 0 {
		return // nothing was measured
	}
	now, to := n.samples.Of(n.current), of[tuner.Steepest(costs, counts, 2*noise*least)]
	gain := now.Mean - to.Mean
	doubt := switchErrors * math.Sqrt(now.Variance()/float64(max(now.Count, 1))+to.Variance()/float64(to.Count))
	if now.Count < looks || gain > doubt {
		n.current = to.Width
	}
}

// look is a width to measure next; ok is false when all were measured often enough
// or are out of the question.
func (n *natural) look() (width uint32, ok bool) {
	best := math.Inf(1)
	for _, w := range n.widths {
		if s := n.samples.Of(w); s.Count > 0 {
			best = min(best, s.Mean)
		}
	}
	for _, w := range append([]uint32{n.current}, n.widths...) {
		if s := n.samples.Of(w); s.Count == 0 || s.Count < looks && s.Mean <= safety*best {
			return w, true
		}
	}
	return 0, false
}

func (n *natural) exploring() bool {
	_, ok := n.look()
	return ok
}

func (n *natural) entry(key cache.Key) cache.Entry {
	e := cache.Entry{Key: key}
	if !n.exploring() {
		e.Selected = policy.Geometry{Width: n.current}
	}
	for _, s := range n.samples.All() {
		e.Measurements = append(e.Measurements, cache.Measurement{Geometry: policy.Geometry{Width: s.Width}, Count: s.Count, Mean: s.Mean, M2: s.M2})
	}
	return e
}

// begin lets a width be measured first, if it is one of those that may be chosen.
func (n *natural) begin(width uint32) {
	if slices.Contains(n.widths, width) {
		n.current = width
	}
}

// restore repeats what is remembered as so few launches that this process's own
// soon outweigh them. Widths that are no candidates here are left out.
func (n *natural) restore(e *cache.Entry) {
	if e.Check() != nil {
		return
	}
	const scale = 1 << 16 // slots, so that a mean of a fraction of a nanosecond is kept
	for i := range e.Measurements {
		m := &e.Measurements[i]
		sd := 0.0
		if m.Count > 1 {
			sd = min(math.Sqrt(m.M2/float64(m.Count-1)), m.Mean/2)
		}
		if m.Groups == 0 && slices.Contains(n.widths, m.Width) {
			for _, sign := range [...]float64{-1, 0, 1} {
				n.samples.Observe(m.Width, scale, uint64(math.Round((m.Mean+sign*sd)*scale)))
			}
		}
	}
	if n.samples.Of(e.Selected.Width).Count > 0 {
		n.current = e.Selected.Width
	}
	n.choose()
}
