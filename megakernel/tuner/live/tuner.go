package live

import (
	"math"
)

// Tuner is the tuner of one kernel on one device. It is plain data, and a copy
// is a snapshot. Make one with [New].
type Tuner struct {
	space  *Space
	budget int
	safety float64
	start  int32

	arms    [MaxArms]Arm
	n       int
	clock   uint64
	level   float64 // by how much launches now take longer than the arms say, as a logarithm
	own     own
	belief  belief
	lag     float64 // recent difference of the geometry in use from the level
	current int32   // geometry in use
	next    Suggestion

	open    bool    // explores, or has not settled since
	thinks  bool    // the next look is still to be chosen by Think
	left    int     // launches left to explore
	held    int     // launches held back for looks
	span    float64 // nanoseconds of the exploration so far
	changed bool    // explores because of a change
	check   checks
	round   round
	wary    wary
	proof   proof

	barred [maxBarred]int32 // geometries that do not run here, until the next exploration
	bars   int
	quiet  int  // launches since the last exploration
	pause  int  // launches before the next look
	hasty  uint // changes in a row that came soon after the one before

	noise   spread
	grows   slope
	off     float64 // log of the recent size of launches over the usual size
	sums    cusum
	spike   bool // the last launch was disturbed, or the cost has changed
	unrest  int  // launches that were disturbed, since the last look
	fast    int
	changes int
	refused uint64
}

// New returns a tuner that explores.
func New(c Config) *Tuner {
	t := &Tuner{space: c.Space, budget: c.Budget, safety: c.Safety, belief: c.Space.guess()}
	if t.budget <= 0 {
		t.budget = defaultBudget
	}
	if t.safety <= 1 {
		t.safety = defaultSafety
	}
	if c.Start != (Geometry{}) {
		t.start = int32(c.Space.Nearest(c.Start))
	} else {
		t.start = c.Space.best(t.belief)
	}
	t.current = t.start
	t.explore(t.budget, false)
	t.decide(true)
	return t
}

func (t *Tuner) explore(budget int, changed bool) {
	t.left, t.held = budget, 0
	if !changed {
		t.held = int(heldShare * float64(budget))
		t.left -= t.held
	}
	t.open, t.changed = true, changed
	t.sums = cusum{}
	t.bars = 0
	t.quiet = 0
	t.span = 0
	t.check, t.round, t.wary, t.proof = checks{}, round{}, wary{}, proof{}
	t.pause = firstPause
	t.unrest = 0
}

// Next is the geometry of the next launch. It changes nothing.
func (t *Tuner) Next() Suggestion { return t.next }

// Choice is the geometry in use: what runs except for looks at others.
func (t *Tuner) Choice() Geometry { return t.space.shapes[t.current] }

// Space holds the geometries from which the tuner chooses.
func (t *Tuner) Space() *Space { return t.space }

// Changes counts the changes of cost noticed.
func (t *Tuner) Changes() int { return t.changes }

// Refused counts the reports refused.
func (t *Tuner) Refused() uint64 { return t.refused }

// Noise is the relative standard deviation of a launch that nothing disturbs.
func (t *Tuner) Noise() float64 { return t.noise.sd() }

// Arms appends what was measured.
func (t *Tuner) Arms(to []Arm) []Arm { return append(to, t.arms[:t.n]...) }

// Observe is [Tuner.Take] and [Tuner.Think].
func (t *Tuner) Observe(r Report) error {
	err := t.Take(r)
	t.Think()
	return err
}

// Take folds in a launch and decides on the next one, in about a microsecond. A report that
// cannot be true is refused with the reason and changes nothing but the count of refusals. Any
// geometry of the space may be reported, suggested or not. If the next look takes longer to
// choose, the best so far is suggested until [Tuner.Think].
func (t *Tuner) Take(r Report) error {
	config, err := t.admit(&r)
	if err != nil {
		t.refused++
		return err
	}
	noise := t.noise.sd()
	total, doubt, away := t.normalise(&r, noise)
	y := total - t.level
	a := t.find(config)
	if err := t.plausible(a, y); err != nil {
		t.refused++
		return err
	}
	t.clock++
	if t.off += sizeGain * away; t.clock == 1 {
		t.off = math.Log(float64(r.Slots) / float64(t.usual(&r)))
	}
	exploring := t.open
	answers := r.Geometry == t.next.Geometry && !t.thinks
	if exploring {
		t.span += float64(r.Ns)
	} else {
		t.quiet++
		if config == t.current {
			t.grows.fold(math.Log(float64(r.Slots)), math.Log(float64(r.Ns)))
		}
	}
	switch {
	case config == t.current && t.check.open():
		if t.check.add(y-a.Mean, doubt) {
			t.checked(a, noise)
		}
		if answers && t.round.voids == 0 { // checks in the middle of a round use up no budget
			t.answered()
		}
	case config == t.current && !exploring && a != nil && !a.Stale && a.Count >= trusted && t.moved(a, y, noise, doubt):
		t.alarm()
	case exploring && t.wary.on && (config == t.current || answers && t.wary.rest == 0):
		t.learn(a, config, y, doubt, noise)
		t.wander(config, total, doubt)
	case exploring && answers && t.paired() && config != t.current:
		t.pair(config, y, doubt)
	case exploring && answers && t.paired() && t.round.between:
		t.judge(a, y, doubt, noise)
	default:
		t.learn(a, config, y, doubt, noise)
		// A launch that was already under way before the suggestion measures
		// something, but does not answer it.
		if exploring && answers && !t.proof.due {
			t.answered()
		}
	}
	if exploring && !t.wary.on && !t.paired() {
		t.prove(config, y, noise)
	}
	if t.careful() {
		t.beWary()
	}
	// What is suggested until Think has run may have changed by now. A suggestion of the
	// exploration that was not answered stays.
	if !exploring || answers || t.thinks || !t.open {
		t.decide(false)
	}
	return nil
}

// learn folds a launch into what is known about its geometry, and into the level of all.
func (t *Tuner) learn(a *Arm, config int32, y, doubt, noise float64) {
	weight := noise * noise / (noise*noise + doubt)
	if a == nil {
		a = t.fresh(config)
	} else if a.Stale {
		t.recognise(a, y, noise)
	}
	a.seen = t.clock
	before := a.Count
	if before > 0 && (!t.wary.on || config == t.current) {
		d := y - a.Mean
		t.disturb(d, noise)
		d = math.Max(math.Min(d, levelClip*noise), -levelClip*noise)
		t.level += d * weight * t.follow(before)
		if config == t.current {
			t.lag += (d - t.lag) * lagGain
		}
	}
	mean := a.Mean
	d := a.fold(y, weight, noise)
	if before > 0 {
		t.noise.fold(d*math.Sqrt(weight), before)
	}
	if before > 0 && config == t.current {
		step := a.Mean - mean
		a.Mean = mean + step*t.own.share(config)
		t.level += mean + step - a.Mean
	}
}

// normalise returns the log time of a slot, converted to the usual size of a launch of
// this geometry, the variance that this adds to its difference from the recent
// launches, and by how much its log size differs from theirs.
func (t *Tuner) normalise(r *Report, noise float64) (y, doubt, away float64) {
	x := math.Log(float64(r.Slots))
	y = math.Log(float64(r.Ns)) - x
	off := x - math.Log(float64(t.usual(r)))
	beta, variance := t.grows.of(noise)
	if away = off - t.off; t.clock == 0 {
		away = 0
	}
	doubt = variance * away * away
	if math.Abs(away) > farSize {
		doubt += away * away
	}
	return y + (1-beta)*off, doubt, away
}

// usual is the usual size of a launch of a report's geometry.
func (t *Tuner) usual(r *Report) uint32 {
	if d := r.Geometry.Depth; d != 0 && r.Slots <= d {
		return min(t.space.slots, d)
	}
	return t.space.slots
}

func (t *Tuner) find(config int32) *Arm {
	for i := range t.arms[:t.n] {
		if t.arms[i].config == config {
			return &t.arms[i]
		}
	}
	return nil
}

// fresh makes room for a geometry.
func (t *Tuner) fresh(config int32) *Arm {
	var a *Arm
	if t.n < MaxArms {
		a = &t.arms[t.n]
		t.n++
	}
	if a == nil {
		for i := range t.arms[:t.n] {
			if b := &t.arms[i]; b.config != t.current && (a == nil || b.seen < a.seen) {
				a = b
			}
		}
	}
	*a = Arm{Geometry: t.space.shapes[config], config: config}
	return a
}

// best is the arm with the lowest mean that is not stale, -1 without any.
func (t *Tuner) best() int {
	best := -1
	for i := range t.arms[:t.n] {
		if a := &t.arms[i]; !a.Stale && (best < 0 || a.Mean < t.arms[best].Mean) {
			best = i
		}
	}
	return best
}

// nsPerSlot is what a geometry is expected to take now.
func (t *Tuner) nsPerSlot(a *Arm) float64 { return math.Exp(a.Mean + t.level) }

// banned says that a geometry's confidence interval lies above the bound.
func (t *Tuner) banned(a *Arm, best, noise float64) bool {
	return !a.Stale && a.Mean-2*noise/math.Sqrt(a.Count) > best+math.Log(t.safety)
}

// moved feeds the detector with a launch of the current geometry. It allows for the
// uncertainty of the mean with which the launch is compared.
func (t *Tuner) moved(a *Arm, y, noise, doubt float64) bool {
	return t.sums.add((y - a.Mean) / math.Sqrt(noise*noise*(1+1/a.Count)+doubt))
}

// own tells what a geometry takes from what the machine does to all of them. Launches of the
// geometry in use alone cannot: they only say what both are together. What it takes became known
// when it was compared with others; afterwards its launches say less and less about it, and after
// a change of cost nothing. The rest goes to the level. Otherwise a load that rises in steps, with
// which the level rises, and falls slowly, would carry away what is believed of all others.
type own struct {
	config int32
	part   float64
	known  bool
}

// share is the part of a step of the mean that is the geometry's own.
func (o *own) share(config int32) float64 {
	if !o.known || config != o.config {
		*o = own{config, 1, true}
	}
	now := o.part
	o.part *= 1 - levelGain
	return now
}

// follow is how much of a launch's difference from the mean goes to the level.
func (t *Tuner) follow(count float64) float64 {
	gain := levelGain
	if t.round.open || t.wary.on {
		gain = roundGain
	}
	return gain * count / (count + 1)
}
