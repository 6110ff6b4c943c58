package live

import (
	"math"

	"ringmaster/megakernel/tuner/cache"
)

// Entry is what the tuner learned, for the cache: what each geometry that ran here
// takes, by its difference from the incumbent. Differences that a change made doubtful
// are left out. Times are means of logarithms, stored as nanoseconds.
func (t *Tuner) Entry(key cache.Key) cache.Entry {
	e := cache.Entry{Key: key}
	if !t.before.ran {
		return e
	}
	var p process
	noise := t.noise.sd()
	p.condition(t.space, t.pairs[:t.n])
	if t.left == 0 {
		e.Selected = t.Choice()
	}
	for _, c := range append(t.everRan(), t.current) {
		if c != t.current && !t.fresh(c) || len(e.Measurements) == maxArms-1 && c != t.current {
			continue
		}
		d, _ := p.difference(c, t.current)
		mean := math.Exp(t.level() + d)
		if mean*float64(t.space.slots) > maxNs {
			continue
		}
		count := 1 + t.looks(c)
		e.Measurements = append(e.Measurements, cache.Measurement{
			Geometry: t.space.shapes[c], Count: uint64(count), Mean: mean, M2: float64(count-1) * noise * noise * mean * mean,
		})
	}
	return e
}

// Restore takes over an entry that this machine measured, and reports how many
// measurements it took; those of geometries outside this tuner's space are left out.
// With a selection that was measured the tuner keeps that without exploring; without
// one the exploration goes on with what is left of its budget. How noisy launches are
// is taken over too. A tuner that has observed launches is not changed.
func (t *Tuner) Restore(e *cache.Entry) (taken int) {
	if t.clock > 0 || t.n > 0 || e.Check() != nil {
		return 0
	}
	for i := range e.Measurements {
		if m := &e.Measurements[i]; m.Count > 1 {
			t.noise.know(m.M2/(m.Mean*m.Mean)/float64(m.Count-1), float64(m.Count-1))
		}
	}
	home, taken, spent := t.learn(e, pair{})
	if taken == 0 {
		return 0
	}
	t.current = home
	if t.left = max(t.left-spent, 0); t.space.shapes[home] == e.Selected || t.left == 0 {
		t.settle()
	}
	t.suggest(t.current)
	return taken
}

// learn turns an entry into differences from the geometry it selected, or else from
// the best, as which like is marked.
func (t *Tuner) learn(e *cache.Entry, like pair) (home int32, taken, spent int) {
	var than *cache.Measurement
	for i := range e.Measurements {
		m := &e.Measurements[i]
		if c, ok := t.space.index[m.Geometry]; ok && (than == nil || than.Geometry != e.Selected && (m.Geometry == e.Selected || m.Mean < than.Mean)) {
			home, than = c, m
		}
	}
	if than == nil {
		return 0, 0, 0
	}
	taken = 1
	noise := t.noise.sd()
	for i := range e.Measurements {
		m := &e.Measurements[i]
		c, ok := t.space.index[m.Geometry]
		if !ok || m == than || taken == maxArms {
			continue
		}
		looks := math.Min(float64(m.Count), restored)
		p := like
		p.of, p.than, p.d = c, home, clip(math.Log(m.Mean/than.Mean), worstRatio)
		p.variance = noise * noise * (1/looks + 1/math.Min(float64(than.Count), restored))
		t.keepPair(p)
		taken++
		spent += int(looks)
	}
	return home, taken, spent
}

// Hint takes over what others say they measured while this tuner explores, and reports
// how many geometries it learned about: they say where to look and are never kept
// before they ran here.
func (t *Tuner) Hint(e *cache.Entry) (taken int) {
	if t.left == 0 || e.Check() != nil {
		return 0
	}
	_, taken, _ = t.learn(e, pair{hint: true})
	t.recent = min(t.recent, t.n)
	return taken
}

// Merge is Hint for measurements that can be trusted: an exploration that gets some
// needs only half of its budget.
func (t *Tuner) Merge(e *cache.Entry) (taken int) {
	taken = t.Hint(e)
	if half := (t.budget + 1) / 2; taken > 0 && t.left > half {
		t.left = half
		t.next.Left = half
	}
	return taken
}
