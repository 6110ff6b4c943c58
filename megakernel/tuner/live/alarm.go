package live

import (
	"math"
	"slices"
)

const (
	// After an alarm so many launches at the geometry in use tell whether its cost has changed.
	// There are fewer when the alarm follows soon after another.
	maxChecks = 5
	// Of normally distributed differences 1 in 400 exceeds three standard errors.
	checkErrors = 3
)

// checks are launches at the geometry in use after an alarm: whether the cost has changed,
// or only those launches were disturbed.
type checks struct {
	want, n int
	doubt   float64 // variance of the times in addition to that of a launch
	times   [maxChecks]float64
}

func (c *checks) open() bool { return c.n < c.want }

// add takes a difference from the mean and says whether the checks are complete.
func (c *checks) add(d, doubt float64) bool {
	c.doubt = math.Max(c.doubt, doubt)
	c.times[c.n] = d
	c.n++
	return c.n == c.want
}

// middle is the median of the differences and the variance of its error.
func (c *checks) middle(noise float64) (shift, variance float64) {
	times := c.times[:c.n]
	slices.Sort(times)
	return times[c.n/2], (noise*noise + c.doubt) / float64(c.n)
}

// alarm begins an exploration because the cost seems to have changed.
func (t *Tuner) alarm() {
	// A load that never settles is not worth a whole exploration each time.
	if t.changes > 0 && t.quiet < settledAfter {
		t.hasty = min(t.hasty+1, maxHasty)
	} else {
		t.hasty = 0
	}
	t.changes++
	t.explore(max((t.budget+1)/2>>t.hasty, leastBudget), true)
	t.check.want = min(maxChecks, (t.left+1)/2)
}

// checked draws the conclusion from the checks. The cost of all geometries is assumed to have
// moved by as much as that of the one in use, which is the likeliest guess; a round of looks
// tells whether it has.
func (t *Tuner) checked(a *Arm, noise float64) {
	shift, variance := t.check.middle(noise)
	n := float64(t.check.n)
	t.check = checks{}
	t.level += shift
	a.seen = t.clock
	stays := math.Abs(shift) <= checkErrors*math.Sqrt(variance+noise*noise/a.Count)
	switch {
	case t.round.voids > 0: // in the middle of an exploration, which goes on
		if !stays {
			t.changes++
		}
	case stays: // a false alarm
		t.changes--
		t.left, t.open, t.changed = 0, false, false
	default:
		a.Count = math.Min(a.Count, n)
		t.own = own{a.config, 0, true}
		t.round = round{open: true, doubt: math.Min(shift*shift, staleVar)}
		t.doubtAll()
	}
}
