package live

import "math"

// decide makes the next suggestion.
func (t *Tuner) decide() {
	best := t.best()
	if best < 0 {
		t.next = Suggestion{Geometry: t.space.shapes[t.start], Left: t.left}
		return
	}
	if t.left > 0 {
		if config, ok := t.propose(best); ok {
			t.next = Suggestion{Geometry: t.space.shapes[config], Why: Exploring, NsPerSlot: t.arms[best].NsPerSlot(), Left: t.left}
			if t.changed {
				t.next.Why = Reexploring
			}
			return
		}
		t.left = 0
		t.settle()
	}
	t.exploit()
}

// settle ends an exploration with the best of what was measured enough.
func (t *Tuner) settle() {
	noise := t.noise.sd()
	pick, least := int32(-1), math.Inf(1)
	for i := range t.arms[:t.n] {
		a := &t.arms[i]
		// A mean of few launches that looks best is partly luck.
		if v := a.Mean + noise/math.Sqrt(a.Count)/2; !a.Stale && v < least {
			pick, least = a.config, v
		}
	}
	if t.changed && pick != t.current {
		if now := t.find(t.current); now != nil && !now.Stale && now.Mean-t.find(pick).Mean <= t.margin(now, t.find(pick), noise) {
			pick = t.current
		}
	}
	t.current = pick
	t.sums = cusum{}
	t.left, t.search = 0, 0
}

// margin is the gain that a switch needs.
func (t *Tuner) margin(now, to *Arm, noise float64) float64 {
	return math.Max(switchErrors*noise*math.Sqrt(1/now.Count+1/to.Count), switchGain)
}

// exploit keeps the current geometry unless another gains more than the noise.
func (t *Tuner) exploit() {
	now, best := t.find(t.current), t.best()
	why := Exploiting
	if to := &t.arms[best]; now == nil || now.Stale {
		t.current = to.config
		now = to
	} else if to != now {
		why = Held
		if to.Count >= repeats && now.Mean-to.Mean > t.margin(now, to, t.noise.sd()) {
			t.current, now, why = to.config, to, Exploiting
			t.sums = cusum{}
		}
	}
	t.next = Suggestion{Geometry: now.Geometry, Why: why, NsPerSlot: now.NsPerSlot()}
}

// propose picks a launch of the exploration: the geometry to begin with, if the first
// launches ran elsewhere, then one from which the process expects a gain, then a repeat
// among the best. It is false when none is worth a launch.
func (t *Tuner) propose(best int) (int32, bool) {
	if t.search > 0 {
		if a := t.find(t.start); !t.changed && (a == nil || a.Stale) && !t.isBarred(t.start) {
			return t.start, true
		}
		if config, gain := t.expectImprovement(best); gain > worthwhile {
			return config, true
		}
		t.search = 0
	}
	return t.repeat(best)
}

// expectImprovement maximises the expected improvement of the log cost over
// the geometries that have not run, or not since a change. The model of waves
// may be wrong about a parameter altogether: one of which only a single value
// ran after a few launches gets a look whatever the expectation.
func (t *Tuner) expectImprovement(best int) (pick int32, most float64) {
	var p process
	noise := t.noise.sd()
	p.condition(t.space, t.arms[:t.n], noise)
	goal := t.arms[best].Mean
	if t.arms[best].Count < repeats {
		m, _ := p.predict(t.arms[best].config)
		goal = math.Max(goal, m)
	}
	blind, level := t.unseen()
	for c := range int32(len(t.space.shapes)) {
		a := t.find(c)
		if a != nil && !a.Stale || t.isBarred(c) || blind >= 0 && t.space.levels[c][blind] == level {
			continue
		}
		mean, sd := p.predict(c)
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

// unseen is the first axis of which only one value, level, ran since the last
// change although there are others, or -1.
func (t *Tuner) unseen() (axis int, level uint16) {
	var first [axes]uint16
	var several [axes]bool
	ran := 0
	for i := range t.arms[:t.n] {
		a := &t.arms[i]
		if a.Stale {
			continue
		}
		l := &t.space.levels[a.config]
		if ran == 0 {
			first = *l
		}
		for j := range l {
			several[j] = several[j] || l[j] != first[j]
		}
		ran++
	}
	if ran < firstLooks {
		return -1, 0
	}
	for j, seen := range several {
		if !seen && t.space.side[j] > 1 {
			return j, first[j]
		}
	}
	return -1, 0
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
