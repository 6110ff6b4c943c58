package live

import (
	"math"

	"ringmaster/megakernel/tuner/cache"
)

// Entry is what the tuner learned, for the cache: what each geometry that ran here
// takes, by its difference from the incumbent. Differences that a change made
// doubtful are left out. Times are means of logarithms, stored as nanoseconds.
func (t *Tuner) Entry(key cache.Key) cache.Entry {
	e := cache.Entry{Key: key}
	if !t.before.ran || t.n == 0 {
		return e
	}
	var p process
	noise := t.noise.sd()
	p.condition(t.space, t.pairs[:t.n])
	if t.over {
		e.Selected = t.Choice()
	}
	for _, c := range append(t.everRan(), t.current) {
		d, sd := p.difference(c, t.current)
		mean := math.Exp(t.level() + d)
		if sd > doubtful || mean*float64(t.space.slots) > maxNs || len(e.Measurements) == maxArms-1 && c != t.current {
			continue
		}
		count := 1 + t.looksAt(c)
		if c == t.current {
			count = 1 + t.looks // it ran beside each of them
		}
		e.Measurements = append(e.Measurements, cache.Measurement{
			Geometry: t.space.shapes[c], Count: uint64(count), Mean: mean, M2: float64(count-1) * noise * noise * mean * mean,
		})
	}
	return e
}

// looksAt counts the looks at a geometry.
func (t *Tuner) looksAt(config int32) (n int) {
	for _, q := range t.pairs[:t.n] {
		if q.of == config && !q.hint {
			n++
		}
	}
	return n
}

// Restore takes over an entry that this machine measured, and reports how many
// measurements it took; those of geometries outside this tuner's space are left out.
// A selection that was measured is kept until the cost changes; without one, looks go on
// from the best, within what is left of their number. How noisy launches are is taken over
// too. A tuner that has looked at something is not changed.
func (t *Tuner) Restore(e *cache.Entry) (taken int) {
	if t.looks > 0 || t.n > 0 || e.Check() != nil {
		return 0
	}
	looks := 0 // beside which the incumbent ran
	for i := range e.Measurements {
		if m := &e.Measurements[i]; m.Count > 1 {
			looks = max(looks, int(min(m.Count-1, maxPairs)))
			t.noise.know(m.M2/(m.Mean*m.Mean)/float64(m.Count-1), float64(m.Count-1))
		}
	}
	best, taken := t.learn(e, pair{})
	if taken == 0 {
		return 0
	}
	if best != t.current {
		t.keep(best)
	}
	t.look, t.thinks = look{}, false
	t.looks, t.over = looks, t.space.shapes[best] == e.Selected
	t.suggest()
	return taken
}

// learn turns an entry into differences from the geometry it selected, or else from
// the best, as which like is marked.
func (t *Tuner) learn(e *cache.Entry, like pair) (best int32, taken int) {
	var than *cache.Measurement
	for i := range e.Measurements {
		m := &e.Measurements[i]
		if c, ok := t.space.index[m.Geometry]; ok && (than == nil || than.Geometry != e.Selected && (m.Geometry == e.Selected || m.Mean < than.Mean)) {
			best, than = c, m
		}
	}
	if than == nil {
		return 0, 0
	}
	taken = 1
	noise := t.noise.sd()
	for i := range e.Measurements {
		m := &e.Measurements[i]
		c, ok := t.space.index[m.Geometry]
		if !ok || m == than || taken >= maxArms && c != t.home { // what all are compared with first is never left out
			continue
		}
		looks := math.Min(float64(m.Count), restored)
		p := like
		p.of, p.than, p.d = c, best, clip(math.Log(m.Mean/than.Mean), worstRatio)
		p.variance += noise * noise * (1/looks + 1/math.Min(float64(than.Count), restored))
		t.keepPair(p)
		taken++
	}
	return best, taken
}

// Hint takes over what others say they measured, while this tuner may still look around, and
// reports how many geometries it learned about: they say where to look and are never kept
// before they ran here.
func (t *Tuner) Hint(e *cache.Entry) (taken int) {
	if t.over || e.Check() != nil {
		return 0
	}
	_, taken = t.learn(e, pair{hint: true, variance: staleVar})
	return taken
}
