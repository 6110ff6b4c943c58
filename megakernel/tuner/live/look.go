package live

import (
	"math"
	"slices"
)

const (
	// A launch that took longer by so many standard deviations was disturbed: of undisturbed
	// ones only one in three million takes so long.
	disturbance = 5.0
	// A machine is restless if so many launches were disturbed, or if launches scatter by so
	// much.
	restlessAfter = 2
	restlessNoise = 0.05
	// The first look after an exploration comes after firstPause launches; each pause is
	// pauseGrows times as long as the one before.
	firstPause = 32
	pauseGrows = 2
	maxPause   = 1 << 16
	// An exploration of fewer nanoseconds may have seen only a passing state of the machine.
	brief = 0.25e9
)

// round is a series of looks at other geometries than the one in use, one for each parameter:
// the best that differs in it. The one in use runs in between, so that each look is compared
// with it in the same state of the machine.
type round struct {
	open    bool
	between bool // the next launch is at the geometry in use
	axis    int
	refuted int     // geometries whose cost has changed
	doubt   float64 // variance of what was measured before
	looks   [axes]int32
	n       int // number of looks
	rival   rival
	voids   int // pairs that were of no use
}

// rival is a launch that waits for the next one at the geometry in use.
type rival struct {
	config   int32
	y, doubt float64
}

// order is the order in which parameters are looked at. The number of workgroups comes first,
// because it depends most on what else a machine does.
var order = [axes]int{1, 0, 2, 3}

// paired says that every other launch is at the geometry in use.
func (t *Tuner) paired() bool { return t.changed || t.round.open }

// disturb counts launches that took longer than noise explains and were followed by one that
// did not.
func (t *Tuner) disturb(d, noise float64) {
	noise = math.Max(noise, noisePrior)
	switch {
	case d > disturbance*noise:
		t.spike = true
	case t.spike && d < disturbance/2*noise:
		t.spike = false
		t.unrest++
	}
}

// passing says that the exploration may have seen only a passing state of the machine.
func (t *Tuner) passing() bool {
	return t.span < brief && (t.unrest > 0 || t.noise.sd() > restlessNoise)
}

// due says that it is time for a look. A machine at rest needs none, because the detector
// notices its changes. A restless one may have been in a state in which other geometries were
// best, and the one in use need not have become slower since.
func (t *Tuner) due() bool {
	if t.quiet < t.pause || t.spike || t.unrest < restlessAfter && t.noise.sd() <= restlessNoise {
		return false
	}
	now := t.find(t.current)
	return now != nil && !now.Stale
}

// look begins a round.
func (t *Tuner) look() {
	t.left = axes
	if t.held > 0 {
		t.left = min(axes, t.held)
		t.held -= t.left
	}
	t.open, t.changed = true, false
	t.round = round{open: true}
	t.doubtAll()
	t.level += t.lag // the level follows slowly, and what is looked at must not profit from that
	t.lag = 0
	t.quiet, t.unrest = 0, 0
	t.pause = min(t.pause*pauseGrows, maxPause)
}

// doubtAll makes all measurements doubtful except those of the geometry in use.
func (t *Tuner) doubtAll() {
	for i := range t.arms[:t.n] {
		if a := &t.arms[i]; a.config != t.current && !a.Stale {
			a.Stale, a.doubted = true, true
		}
	}
}

// closeRound ends a round. If no look contradicted the earlier measurements, they count again.
func (t *Tuner) closeRound() {
	for i := range t.arms[:t.n] {
		a := &t.arms[i]
		if a.doubted && t.round.open && t.round.refuted == 0 {
			a.Stale = false
		}
		a.doubted = false
	}
	t.round = round{}
}

// staleness is the variance that is added to what was measured before a change.
func (t *Tuner) staleness() float64 {
	if t.round.doubt > 0 {
		return t.round.doubt
	}
	return staleVar
}

// alternative is the next geometry of a round.
func (t *Tuner) alternative() (int32, bool) {
	now := &t.space.levels[t.current]
	bound := t.find(t.current).Mean + math.Log(t.safety)
	noise := t.noise.sd()
	for ; t.round.axis < axes; t.round.axis++ {
		j := order[t.round.axis]
		pick := -1
		for i := range t.arms[:t.n] {
			a := &t.arms[i]
			if t.space.levels[a.config][j] != now[j] && !t.isBarred(a.config) && (pick < 0 || a.Mean < t.arms[pick].Mean) {
				pick = i
			}
		}
		if pick < 0 || slices.Contains(t.round.looks[:t.round.n], t.arms[pick].config) {
			continue
		}
		if a := &t.arms[pick]; a.Mean-2*noise/math.Sqrt(a.Count) <= bound {
			return a.config, true
		}
	}
	return 0, false
}

// pair keeps a rival's launch until the geometry in use has run again.
func (t *Tuner) pair(config int32, y, doubt float64) {
	r := &t.round
	r.rival = rival{config, y, doubt}
	r.between = true
	if r.open && r.n < len(r.looks) {
		r.looks[r.n] = config
		r.n++
		r.axis++
	}
}

// judge ends a pair. If the launch at the geometry in use did not take what it usually takes,
// the pair is of no use, and after two such pairs the level is measured anew.
func (t *Tuner) judge(a *Arm, y, doubt, noise float64) {
	r := &t.round
	r.between = false
	if d := y - a.Mean; math.Abs(d) > checkErrors*math.Sqrt(noise*noise*(1+1/a.Count)+doubt) {
		if r.voids++; r.voids%2 == 0 {
			t.check = checks{want: maxChecks}
		}
	} else {
		level := t.level
		t.learn(a, t.current, y, doubt, noise)
		// The level of the two launches is known better now than when the rival ran.
		t.learn(t.find(r.rival.config), r.rival.config, r.rival.y-(t.level-level), r.rival.doubt, noise)
	}
	t.answered()
}

// recognise compares a launch of a doubtful geometry with what was measured before. Outside
// of a round the earlier measurements are forgotten.
func (t *Tuner) recognise(a *Arm, y, noise float64) {
	a.doubted = false
	limit := checkErrors * noise * math.Sqrt(1+1/a.Count+roundGain)
	// If there was no change, only a geometry that has become faster matters.
	if t.round.open && (math.Abs(y-a.Mean) <= limit || !t.changed && y > a.Mean) {
		a.Stale = false
		a.Count = math.Min(a.Count, restored)
		return
	}
	*a = Arm{Geometry: a.Geometry, config: a.config}
	if !t.round.open {
		return
	}
	t.round.refuted++
	if !t.changed {
		// The geometry that was best in the exploration is not the best now.
		t.changed = true
		t.changes++
		if t.held > 0 {
			t.left, t.held = max(t.left, t.held), 0
		} else {
			t.left = max(t.left, (t.budget+1)/2)
		}
	}
}
