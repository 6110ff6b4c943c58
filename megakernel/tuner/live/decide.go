package live

import "math"

// Config of a tuner. Zero fields mean the defaults.
type Config struct {
	Space  *Space
	Start  Geometry // run first, or the nearest to it in the space; zero means the model's choice
	Budget int      // launches of an exploration, by default 24; one after a change has half of them
	// Safety is the bound above which a geometry is not run again, as a multiple of
	// the best, by default 1.5.
	Safety float64
}

const (
	defaultBudget = 24
	defaultSafety = 1.5
	// At least this share of a budget measures the best again, and more the
	// noisier launches are; the rest goes to new geometries.
	repeatShare     = 0.2
	mostRepeatShare = 0.35
	// This share of a budget is held back for later if the exploration was short
	// and launches were disturbed.
	heldShare = 1.0 / 3
	// An expected gain below this fraction ends the search early.
	worthwhile = 0.004
	// Of normally distributed differences 1 in 1,000 exceeds three standard errors.
	switchErrors = 3
	switchGain   = 0.01 // a smaller gain is not worth a change
	// A change within so many launches after an exploration halves the budget of the
	// next one, down to a bound.
	settledAfter = 128
	maxHasty     = 3
	leastBudget  = 2
	firstLooks   = 3 // geometries looked at before every axis must have been varied
	repeats      = 3 // launches of each of the best before one is chosen
	// Of so many launches of a search one repeats the best, which tells how noisy launches are.
	repeatEvery = 8
)

// Why says what a suggestion is for.
type Why uint8

// The reasons of a suggestion.
const (
	Exploring   Why = iota // a launch of the exploration's budget
	Exploiting             // the best that was measured
	Held                   // the geometry in use: another looks better, but by less than the noise
	Reexploring            // like Exploring, after a change of cost
)

func (w Why) String() string {
	return [...]string{"exploring", "exploiting", "held", "re-exploring"}[w&3]
}

// Suggestion is the geometry of the next launch.
type Suggestion struct {
	Geometry  Geometry
	Why       Why
	NsPerSlot float64 // expected; 0 while nothing was measured
	Left      int     // launches left of the exploration
}

// decide makes the next suggestion. If that needs the process, the suggestion is the best so
// far, unless deep is set.
func (t *Tuner) decide(deep bool) {
	t.thinks = false
	best := t.best()
	if best < 0 {
		t.next = Suggestion{Geometry: t.space.shapes[t.start], Left: t.left}
		return
	}
	if !t.open && t.due() {
		t.look()
	}
	if !t.open {
		t.exploit()
		return
	}
	config, ok := t.soon()
	switch {
	case ok:
	case !deep:
		t.thinks = true
		if config = t.arms[best].config; t.changed || t.wary.on {
			config = t.current
		}
	default:
		t.belief = t.likeliest()
		if config, ok = t.propose(best); !ok {
			t.settle()
			t.exploit()
			return
		}
	}
	t.next = Suggestion{Geometry: t.space.shapes[config], Why: Exploring, NsPerSlot: t.nsPerSlot(&t.arms[best]), Left: t.left}
	if t.changed {
		t.next.Why = Reexploring
	} else if config == t.current && (t.round.between || t.wary.on || t.proof.due) {
		t.next.Why = Exploiting
	}
}

// Think chooses the next look if [Tuner.Take] left it open, which takes up to a millisecond,
// and reports whether the suggestion has changed.
func (t *Tuner) Think() (changed bool) {
	if !t.thinks {
		return false
	}
	before := t.next
	t.decide(true)
	return t.next != before
}

// answered counts a launch of the exploration.
func (t *Tuner) answered() {
	if t.left == 0 {
		return
	}
	t.left--
	if t.held > 0 && !t.paired() && !t.searching() && !t.passing() {
		t.left += t.held
		t.held = 0
	}
}

// settle ends an exploration with the best of the geometries that were measured enough.
func (t *Tuner) settle() {
	if t.wary.on {
		t.conclude()
		t.sums = cusum{}
		t.left, t.open = 0, false
		t.closeRound()
		return
	}
	noise := t.noise.sd()
	var p process
	p.condition(t.space, t.belief, t.arms[:t.n], noise, t.staleness())
	pick, least := int32(-1), math.Inf(1)
	for i := range t.arms[:t.n] {
		a := &t.arms[i]
		if a.Stale {
			continue
		}
		// Similar geometries say something about a geometry with few launches; what looks
		// best of such is partly luck.
		mean, _ := p.predict(a.config, absolute)
		if v := mean + noise/math.Sqrt(a.Count)/2 + t.caution(a.config, t.current); v < least {
			pick, least = a.config, v
		}
	}
	if t.changed && pick != t.current {
		if now := t.find(t.current); now != nil && !now.Stale && now.Mean-t.find(pick).Mean <= t.margin(now, t.find(pick), noise) {
			pick = t.current
		}
	}
	if t.changed {
		t.unrest = restlessAfter // a machine that has changed may change back
	}
	t.current = pick
	t.sums = cusum{}
	t.left, t.open = 0, false
	t.closeRound()
}

// margin is the gain that a switch of geometry requires.
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
	t.next = Suggestion{Geometry: now.Geometry, Why: why, NsPerSlot: t.nsPerSlot(now)}
}
