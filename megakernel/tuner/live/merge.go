package live

import (
	"math"

	"ringmaster/megakernel/tuner/cache"
)

// maxBarred bounds the geometries that an exploration gives up; an exploration
// that has to give up more ends.
const maxBarred = 16

// Bar tells the tuner that a geometry it suggested does not run here, because a
// plan or the engine turns it into another one. It is not suggested again until
// the next exploration begins. A geometry that is not in the space is ignored.
func (t *Tuner) Bar(g Geometry) {
	config, ok := t.space.index[g]
	if !ok || t.isBarred(config) {
		return
	}
	if t.bars == maxBarred {
		t.left = 0
		if t.best() >= 0 {
			t.settle()
		}
	} else {
		t.barred[t.bars] = config
		t.bars++
	}
	switch best := t.best(); {
	case best < 0: // nothing ran yet: begin elsewhere
		t.start = t.elsewhere()
		t.current = t.start
	case config == t.current && t.open:
		t.leave()
	}
	t.decide(true)
}

// leave keeps another geometry that ran while exploring.
func (t *Tuner) leave() {
	t.proof.due, t.wary.rest, t.wary.filled = false, 0, 0
	least := math.Inf(1)
	for i := range t.arms[:t.n] {
		if a := &t.arms[i]; !a.Stale && !t.isBarred(a.config) && a.Mean < least {
			t.current, least = a.config, a.Mean
		}
	}
}

func (t *Tuner) isBarred(config int32) bool {
	for _, b := range t.barred[:t.bars] {
		if b == config {
			return true
		}
	}
	return false
}

// elsewhere is the best geometry by the model among those not barred. A plan or an engine turns
// a geometry into a smaller one; therefore it has fewer workgroups and invocations than any
// barred geometry, if there are such geometries.
func (t *Tuner) elsewhere() int32 {
	width, groups := uint32(math.MaxUint32), uint32(math.MaxUint32)
	for _, b := range t.barred[:t.bars] {
		g := &t.space.shapes[b]
		width, groups = min(width, g.Width), min(groups, g.Groups)
	}
	rank := func(c int32) (n int) {
		g := &t.space.shapes[c]
		if t.isBarred(c) {
			return 3
		}
		if g.Width >= width && width > t.space.shapes[0].Width {
			n++
		}
		if g.Groups >= groups && groups > 1 {
			n++
		}
		return n
	}
	pick := t.start
	best := rank(pick)
	for c := range int32(t.space.Len()) {
		if n := rank(c); n < best || n == best && t.space.expected(c, t.belief) < t.space.expected(pick, t.belief) {
			pick, best = c, n
		}
	}
	return pick
}

// Merge is Hint for measurements that can be trusted: an exploration that gets some needs
// only half of its budget.
func (t *Tuner) Merge(e *cache.Entry) (taken int) {
	taken = t.Hint(e)
	if half := (t.budget + 1) / 2; taken > 0 && t.left > half {
		t.left, t.held = half, 0
		t.decide(true)
	}
	return taken
}

// Hint takes over what others say they measured while this tuner explores, and reports
// how many geometries it learned about. They count as measured before a change: they say
// where to look and are never chosen before they ran here. Their level is moved to that
// of the geometries that both sides measured; what is then implausibly fast for a launch
// is left out.
func (t *Tuner) Hint(e *cache.Entry) (taken int) {
	if t.left == 0 || e.Check() != nil {
		return 0
	}
	offset, shared := 0.0, 0
	for i := range e.Measurements {
		m := &e.Measurements[i]
		if config, ok := t.space.index[Geometry(m.Geometry)]; ok {
			if a := t.find(config); a != nil && !a.Stale {
				offset += a.Mean - math.Log(m.Mean)
				shared++
			}
		}
	}
	if shared > 0 {
		offset /= float64(shared)
	}
	least := math.Inf(-1)
	if best := t.best(); best >= 0 {
		least = t.arms[best].Mean - math.Log(fasterThanBest)
	}
	for i := range e.Measurements {
		m := &e.Measurements[i]
		config, ok := t.space.index[Geometry(m.Geometry)]
		if !ok || t.n == MaxArms || t.find(config) != nil || math.Log(m.Mean)+offset < least {
			continue
		}
		t.arms[t.n] = Arm{
			Geometry: t.space.shapes[config], config: config, Stale: true,
			Count: math.Min(float64(m.Count), restored), Mean: math.Log(m.Mean) + offset,
		}
		t.n++
		taken++
	}
	t.decide(true)
	return taken
}
