package live

import (
	"math"

	"ringmaster/megakernel/tuner/cache"
)

// restored bounds the launches as which a stored measurement counts: enough to be
// chosen, few enough to be outweighed by the launches of this process.
const restored = 4

// Entry is what the tuner learned, for the cache. Measurements that a change made
// doubtful are left out, and so are those that many changes of the level of all
// geometries have carried beyond what a launch can take. Times are means of
// logarithms, stored as nanoseconds.
func (t *Tuner) Entry(key cache.Key) cache.Entry {
	e := cache.Entry{Key: key}
	if now := t.find(t.current); now != nil && (!t.open || t.round.open) {
		e.Selected = cache.Geometry(now.Geometry)
	}
	for i := range t.arms[:t.n] {
		a := &t.arms[i]
		mean := t.nsPerSlot(a)
		if a.Stale || mean*float64(t.space.slots) > maxNs {
			continue
		}
		e.Measurements = append(e.Measurements, cache.Measurement{
			Geometry: cache.Geometry(a.Geometry),
			Count:    max(uint64(math.Round(a.Count)), 1), Mean: mean, M2: a.M2 * mean * mean,
		})
	}
	return e
}

// Restore takes over an entry of the cache and reports how many measurements
// it took; those of geometries outside this tuner's space are left out. With a
// selection that was measured the tuner goes on from there without exploring, and
// the detector notices if the device has changed; without one the exploration goes on
// with what is left of its budget. How noisy launches are is taken over too: without it, what
// measured better by luck would at once take the place of the selection. A tuner that has observed launches is not changed.
func (t *Tuner) Restore(e *cache.Entry) (taken int) {
	if t.clock > 0 || t.n > 0 || e.Check() != nil {
		return 0
	}
	spent := 0.0
	for i := range e.Measurements {
		m := &e.Measurements[i]
		config, ok := t.space.index[Geometry(m.Geometry)]
		selected := m.Geometry == e.Selected
		if !ok || t.n == MaxArms-1 && !selected || t.n == MaxArms {
			continue
		}
		count := math.Min(float64(m.Count), restored)
		t.arms[t.n] = Arm{
			Geometry: t.space.shapes[config], config: config, Count: count,
			Mean: math.Log(m.Mean), M2: m.M2 / (m.Mean * m.Mean) * count / float64(m.Count),
		}
		if m.Count > 1 {
			t.noise.know(m.M2/(m.Mean*m.Mean)/float64(m.Count-1), count-1)
		}
		t.n++
		taken++
		if selected {
			t.current, t.left, t.held, t.open = config, 0, 0, false
		}
		spent += count
	}
	if t.open && taken > 0 {
		t.left, t.held = max(t.left+t.held-int(spent), 0), 0
	}
	t.decide(true)
	return taken
}
