package live

import (
	"math"
	"slices"
)

const (
	// restBetween is the number of launches of the kept geometry between two looks of a wary
	// exploration. A look is compared with the restBeside launches next to it on both sides.
	restBetween = 3
	restBeside  = 3
	// After every so many looks the launches between them double, up to maxRest, as long as the
	// exploration is brief.
	doubled = 8
	maxRest = 24
	// Looks before an exploration became wary were not compared with launches beside them; they have
	// this additional variance of the logarithm.
	driftVar = 0.02
	// This share of a budget is for looks at geometries that have run.
	finals = 0.5
	// Another geometry is kept if it is better by so many standard errors.
	crownErrors = 0.25
)

// wary is an exploration on a machine whose launches scatter or drift. The kept geometry runs between
// the looks, so that each look measures a difference within the same time. What is looked at and what is
// chosen follows only from these differences.
type wary struct {
	on      bool
	scatter spread // of launches in a row, without what drifts slowly
	duels   [maxDuels]duel
	n       int
	look    rival
	rest    int                     // launches of the kept geometry until the look is over
	after   int                     // how many of them there were
	beside  [2 * restBeside]float64 // the last launches of the kept geometry, as logarithms
	filled  int
	offset  float64 // by how much the kept geometry is slower than the first one kept
}

// careful says that the exploration becomes wary.
func (t *Tuner) careful() bool {
	return t.open && !t.paired() && !t.wary.on && t.left > 0 && t.passing()
}

// beWary begins a wary exploration. Earlier measurements become differences too, between launches
// of different times.
func (t *Tuner) beWary() {
	w := &t.wary
	w.on = true
	t.proof.due = false
	t.left += t.held
	t.held = 0
	if kept := t.find(t.current); kept == nil || kept.Stale {
		t.current = t.arms[t.best()].config
	}
	kept := t.find(t.current)
	noise := t.noise.sd()
	for i := range t.arms[:t.n] {
		a := &t.arms[i]
		if a == kept || a.Stale {
			continue
		}
		v := noise*noise*(1/a.Count+1/kept.Count) + driftVar
		if a.seen > t.proof.at {
			v += t.proof.jump * t.proof.jump
		}
		w.add(duel{a.config, kept.config, a.Mean - kept.Mean, v, kept.Mean + t.level})
	}
}

func (w *wary) add(d duel) {
	if w.n == maxDuels {
		copy(w.duels[:], w.duels[1:])
		w.n--
	}
	w.duels[w.n] = d
	w.n++
}

// resting is how many launches follow a look: more and more, so that a passing state of the
// machine does not cover all looks.
func (t *Tuner) resting() int {
	if t.span > brief {
		return restBetween
	}
	return min(restBetween<<(max(t.budget-t.left, 0)/doubled), maxRest)
}

// wander takes a launch of a wary exploration; y is with the level.
func (t *Tuner) wander(config int32, y, doubt float64) {
	w := &t.wary
	if config != t.current {
		w.look, w.rest, w.after = rival{config, y, doubt}, t.resting(), 0
		return
	}
	w.keep(y)
	if w.rest == 0 {
		return
	}
	w.rest--
	if w.after++; w.after == restBeside {
		w.fight(config)
	}
	if w.rest == 0 {
		t.answered()
	}
}

// keep notes a launch of the kept geometry.
func (w *wary) keep(y float64) {
	if w.filled > 0 {
		w.scatter.fold(y-w.beside[w.filled-1], 1)
	}
	if w.filled == len(w.beside) {
		copy(w.beside[:], w.beside[1:])
		w.filled--
	}
	w.beside[w.filled] = y
	w.filled++
}

// fight compares the look with the median of the launches on both sides of it. If the two sides
// differ, the machine changed during the look or next to it.
func (w *wary) fight(kept int32) {
	all := w.beside
	beside := all[:w.filled]
	n := len(beside)
	jump := 0.0
	if n == len(all) {
		before, after := beside[:restBeside], beside[restBeside:]
		slices.Sort(before)
		slices.Sort(after)
		jump = before[restBeside/2] - after[restBeside/2]
	}
	slices.Sort(beside)
	level := (beside[n/2] + beside[(n-1)/2]) / 2
	noise := w.scatter.sd()
	v := noise*noise*(1+medianLoss/float64(n)) + jump*jump/4 + w.look.doubt
	w.add(duel{w.look.config, kept, w.look.y - level, v, level - w.offset})
}

// medianLoss is the variance of the median of normally distributed values over that of their mean.
const medianLoss = math.Pi / 2

// challenge picks the next look of a wary exploration, after the geometry that is probably the
// best has become the kept one.
func (t *Tuner) challenge() (pick int32, ok bool) {
	var c process
	c.compare(t.space, t.belief, t.wary.duels[:t.wary.n])
	t.crown(&c)
	final := t.left <= int(finals*float64(t.budget))
	blind := -1
	if !final {
		blind = t.unseen(slices.IndexFunc(t.arms[:t.n], func(a Arm) bool { return a.config == t.current }))
	}
	most, bound := 0.0, math.Log(t.safety)
	for i := range int32(len(t.space.shapes)) {
		a := t.find(i)
		ran := a != nil && !a.Stale
		if i == t.current || t.isBarred(i) || final != ran || blind >= 0 && !t.space.beside(i, t.current, blind) {
			continue
		}
		mean, sd := c.predict(i, t.current)
		if ran && mean-2*sd > bound {
			continue
		}
		gain := improvement(0, mean, sd)
		if blind >= 0 {
			gain += worthwhile
		}
		// The more looks there were, the less another one says.
		if gain /= 1 + t.wary.looks(i); gain > most {
			pick, most = i, gain
		}
	}
	return pick, most > 0
}

// looks counts the looks at a geometry.
func (w *wary) looks(config int32) (n float64) {
	for i := range w.duels[:w.n] {
		if w.duels[i].of == config {
			n++
		}
	}
	return n
}

// crown keeps the geometry that is best by the differences, of those that ran.
func (t *Tuner) crown(c *process) {
	best, least, offset := t.current, 0.0, 0.0
	if t.isBarred(best) {
		least = math.Inf(1)
	}
	for i := range t.arms[:t.n] {
		a := &t.arms[i]
		if a.Stale || t.isBarred(a.config) || a.config == t.current {
			continue
		}
		mean, sd := c.predict(a.config, t.current)
		if v := mean + crownErrors*sd + t.caution(a.config, t.current); v < least {
			best, least, offset = a.config, v, mean
		}
	}
	if best != t.current {
		t.current = best
		t.wary.filled = 0
		t.wary.offset += offset
	}
}

// conclude ends a wary exploration. The estimate of each geometry becomes what all differences
// say about it.
func (t *Tuner) conclude() {
	var c process
	c.compare(t.space, t.belief, t.wary.duels[:t.wary.n])
	t.crown(&c)
	now := t.find(t.current)
	noise := t.noise.sd()
	for i := range t.arms[:t.n] {
		a := &t.arms[i]
		if a == now || a.Stale {
			continue
		}
		mean, sd := c.predict(a.config, t.current)
		a.Mean = now.Mean + mean
		a.Count = math.Max(noise*noise/math.Max(sd*sd, 1e-6), 1)
	}
	t.wary.on = false
}
