package live

import "math"

// Config of a tuner. Zero fields have the defaults.
type Config struct {
	Space  *Space
	Start  Geometry // run first; zero for the model's choice. Brought to the nearest of the space
	Budget int      // launches of an exploration, 24; one after a change has half of it
	// Safety is the bound above which a geometry is not run again, as a
	// multiple of the best: 1.5.
	Safety float64
}

const (
	defaultBudget = 24
	defaultSafety = 1.5
	// Of a budget, at most this share proposes new geometries; the rest
	// measures the best ones again.
	searchShare = 0.8
	// An expected gain below this fraction ends the search early.
	worthwhile = 0.004
	// Of normal differences 1 in 1,000 exceeds three standard errors.
	switchErrors = 3
	switchGain   = 0.01 // a smaller gain is not worth a change
	// A change within so many launches of the exploration before halves the
	// budget of the next one, down to a bound.
	settledAfter = 128
	maxHasty     = 3
	leastBudget  = 2
	firstLooks   = 3 // geometries before every axis must have been varied
	repeats      = 3 // launches of each of the best before one is chosen
)

// Why says what a suggestion is for.
type Why uint8

// The reasons of a suggestion.
const (
	Exploring   Why = iota // a launch of the exploration's budget
	Exploiting             // the best that was measured
	Held                   // another looks better, by less than the noise
	Reexploring            // as Exploring, after a change of cost
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
	current int32 // geometry in use
	left    int   // launches left to explore
	search  int   // of them, launches left to search
	changed bool  // explores because of a change
	next    Suggestion

	barred [maxBarred]int32 // geometries that do not run here, until the next exploration
	bars   int
	quiet  int  // launches since the last exploration
	hasty  uint // changes in a row that came soon after the one before

	noise   spread
	grows   slope
	sums    cusum
	fast    int
	changes int
	refused uint64
}

// New returns a tuner that explores.
func New(c Config) *Tuner {
	t := &Tuner{space: c.Space, budget: c.Budget, safety: c.Safety}
	if t.budget <= 0 {
		t.budget = defaultBudget
	}
	if t.safety <= 1 {
		t.safety = defaultSafety
	}
	if c.Start != (Geometry{}) {
		t.start = int32(c.Space.Nearest(c.Start))
	} else {
		for i, p := range c.Space.prior {
			if p < c.Space.prior[t.start] {
				t.start = int32(i)
			}
		}
	}
	t.current = t.start
	t.explore(t.budget, false)
	t.decide()
	return t
}

func (t *Tuner) explore(budget int, changed bool) {
	t.left = budget
	t.search = int(searchShare * float64(budget))
	t.changed = changed
	t.sums = cusum{}
	t.bars = 0
	t.quiet = 0
}

// Next is the geometry of the next launch. It changes nothing.
func (t *Tuner) Next() Suggestion { return t.next }

// Space is what the tuner chooses from.
func (t *Tuner) Space() *Space { return t.space }

// Changes counts the changes of cost noticed.
func (t *Tuner) Changes() int { return t.changes }

// Refused counts the reports refused.
func (t *Tuner) Refused() uint64 { return t.refused }

// Noise is the relative standard deviation of a launch.
func (t *Tuner) Noise() float64 { return t.noise.sd() }

// Arms appends what was measured.
func (t *Tuner) Arms(to []Arm) []Arm { return append(to, t.arms[:t.n]...) }

// Observe folds in a launch and decides on the next one. A report that cannot
// be true is refused with the reason and changes nothing else. Any geometry of
// the space may be reported, suggested or not.
func (t *Tuner) Observe(r Report) error {
	config, err := t.check(&r)
	if err != nil {
		t.refused++
		return err
	}
	noise := t.noise.sd()
	y, doubt := t.normalise(&r, noise)
	a := t.find(config)
	if err := t.plausible(a, y); err != nil {
		t.refused++
		return err
	}
	t.clock++
	exploring := t.left > 0
	if a == nil || a.Stale {
		a = t.fresh(a, config)
	}
	a.seen = t.clock
	weight := noise * noise / (noise*noise + doubt)
	if !exploring && config == t.current && a.Count >= trusted && t.moved(a, y, noise, doubt) {
		t.change(a, y)
	} else {
		before := a.Count
		d := a.fold(y, weight, noise)
		if before > 0 {
			t.noise.fold(d*math.Sqrt(weight), before)
		}
	}
	if !exploring {
		t.quiet++
	}
	if config == t.current && !exploring {
		t.grows.fold(math.Log(float64(r.Slots)), math.Log(float64(r.Ns)))
	}
	// A launch that was on its way before the suggestion measures something,
	// but does not answer it.
	if exploring && r.Geometry == t.next.Geometry {
		t.left--
		t.search--
		if t.left == 0 {
			t.settle()
		}
	}
	t.decide()
	return nil
}

// normalise is the log time of a slot, brought to the usual size of a launch
// of this geometry, and the variance that this adds.
func (t *Tuner) normalise(r *Report, noise float64) (y, doubt float64) {
	x := math.Log(float64(r.Slots))
	usual := t.space.slots
	if d := r.Geometry.Depth; d != 0 && r.Slots <= d {
		usual = min(usual, d)
	}
	y = math.Log(float64(r.Ns)) - x
	if r.Slots == usual {
		return y, 0
	}
	beta, variance := t.grows.of(noise)
	off := x - math.Log(float64(usual))
	doubt = variance * off * off
	if math.Abs(off) > farSize {
		doubt += off * off
	}
	return y + (1-beta)*off, doubt
}

func (t *Tuner) find(config int32) *Arm {
	for i := range t.arms[:t.n] {
		if t.arms[i].config == config {
			return &t.arms[i]
		}
	}
	return nil
}

// fresh makes room for a geometry, or empties its stale record.
func (t *Tuner) fresh(a *Arm, config int32) *Arm {
	if a == nil && t.n < MaxArms {
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

// moved feeds the detector with a launch of the current geometry. The mean it
// is held against is itself uncertain.
func (t *Tuner) moved(a *Arm, y, noise, doubt float64) bool {
	return t.sums.add((y - a.Mean) / math.Sqrt(noise*noise*(1+1/a.Count)+doubt))
}

// change makes what was measured doubtful. The other geometries are moved by
// as much as the current one, which is the likeliest guess until they run.
func (t *Tuner) change(a *Arm, y float64) {
	shift := y - a.Mean
	for i := range t.arms[:t.n] {
		t.arms[i].Mean += shift
		t.arms[i].Stale = true
	}
	*a = Arm{Geometry: a.Geometry, Count: 1, Mean: y, config: a.config, seen: t.clock}
	// A load that never settles is not worth a whole exploration each time.
	if t.changes > 0 && t.quiet < settledAfter {
		t.hasty = min(t.hasty+1, maxHasty)
	} else {
		t.hasty = 0
	}
	t.changes++
	t.explore(max((t.budget+1)/2>>t.hasty, leastBudget), true)
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

// banned says that a geometry's confidence interval lies above the bound.
func (t *Tuner) banned(a *Arm, best, noise float64) bool {
	return !a.Stale && a.Mean-2*noise/math.Sqrt(a.Count) > best+math.Log(t.safety)
}
