package live

import "math"

// soon is the next launch of an exploration if it needs no calculation: a check, the geometry
// in use between looks, or the next look of a round.
func (t *Tuner) soon() (int32, bool) {
	switch {
	case t.check.open() || t.round.between || t.wary.on && t.wary.rest > 0 || t.proof.due:
		return t.current, true
	case t.round.open && t.left > 0:
		return t.alternative()
	}
	return 0, false
}

// propose picks a launch of the exploration: the geometry to begin with, if the first launches
// ran at others, then one from which the process expects a gain, then a repeat among the best.
// It returns false when none is worth a launch.
func (t *Tuner) propose(best int) (int32, bool) {
	if t.left == 0 || t.round.open && t.round.refuted == 0 {
		return 0, false
	}
	t.round.open = false
	if t.wary.on {
		return t.challenge()
	}
	if t.searching() {
		if a := t.find(t.start); !t.changed && (a == nil || a.Stale) && !t.isBarred(t.start) {
			return t.start, true
		}
		if !t.changed && t.left%repeatEvery == 0 && t.arms[best].Count < repeats && t.n >= firstLooks {
			return t.arms[best].config, true
		}
		if config, gain := t.expectImprovement(best); gain > worthwhile {
			return config, true
		}
	}
	return t.repeat(best)
}

// searching says that the next launch may be at a new geometry.
func (t *Tuner) searching() bool {
	share := math.Min(repeatShare+3*math.Max(t.noise.sd()-noisePrior, 0), mostRepeatShare)
	return t.left > int(share*float64(t.budget))
}

// expectImprovement maximises the expected improvement of the log cost over
// the geometries that have not run, or not since a change. The model of waves may
// be completely wrong about a parameter: if only a single value of it ran after a
// few launches, another gets a look whatever the expectation.
func (t *Tuner) expectImprovement(best int) (pick int32, most float64) {
	var p process
	noise := t.noise.sd()
	p.condition(t.space, t.belief, t.arms[:t.n], noise, t.staleness())
	goal := t.arms[best].Mean
	if t.arms[best].Count < repeats {
		m, _ := p.predict(t.arms[best].config, absolute)
		goal = math.Max(goal, m)
	}
	blind := t.unseen(best)
	home := t.arms[best].config
	for c := range int32(len(t.space.shapes)) {
		a := t.find(c)
		if a != nil && !a.Stale || t.isBarred(c) || blind >= 0 && !t.space.beside(c, home, blind) {
			continue
		}
		mean, sd := p.predict(c, absolute)
		gain := improvement(goal, mean, sd)
		if blind >= 0 {
			gain += worthwhile * 1.01 // worth a launch as it is
		}
		if gain > most {
			pick, most = c, gain
		}
	}
	return pick, most
}

// nearby is how many doublings two geometries may lie apart in the other parameters if their
// difference is to be attributed to one.
const nearby = 1

// beside says that two geometries differ in a parameter and hardly in the others.
func (s *Space) beside(a, b int32, axis int) bool {
	x, y := &s.levels[a], &s.levels[b]
	others := 0
	for j := range x {
		if j != axis {
			others += apart(x[j], y[j])
		}
	}
	return x[axis] != y[axis] && others <= nearby
}

// unseen is the first axis of which, since the last change, no other value than that of the
// best ran beside it, although there are others; -1 if there is none.
func (t *Tuner) unseen(best int) int {
	ran := 0
	var seen [axes]bool
	for i := range t.arms[:t.n] {
		if a := &t.arms[i]; !a.Stale {
			ran++
			for j := range seen {
				seen[j] = seen[j] || t.space.beside(a.config, t.arms[best].config, j)
			}
		}
	}
	if ran < firstLooks {
		return -1
	}
	for j, s := range seen {
		if !s && t.space.side[j] > 1 {
			return j
		}
	}
	return -1
}

// repeat measures again what could still be the best: of the arms within the
// noise of the best it takes the one with the largest natural gradient of the
// softmax policy.
func (t *Tuner) repeat(best int) (int32, bool) {
	noise := t.noise.sd()
	var in [Candidates]Estimate
	var of [Candidates]int32
	n := 0
	goal := t.arms[best].Mean
	for i := range t.arms[:t.n] {
		a := &t.arms[i]
		open := !a.Stale && a.Count < repeats && a.Mean-goal < 2*noise*math.Sqrt(1/a.Count+1/t.arms[best].Count)
		if !open || t.banned(a, goal, noise) || t.isBarred(a.config) || n == len(in) {
			continue
		}
		in[n] = Estimate{Ns: a.NsPerSlot(), Count: a.Count}
		of[n] = a.config
		n++
	}
	if n == 0 {
		return 0, false
	}
	var v View
	v.Update(in[:n], 2*noise)
	return of[v.Selected], true
}
