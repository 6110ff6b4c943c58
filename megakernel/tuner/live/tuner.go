package live

import (
	"math"

	"ringmaster/megakernel/policy"
)

// Config of a tuner. Zero fields mean the defaults.
type Config struct {
	Space  *Space
	Start  policy.Geometry // the first incumbent, or the nearest to it in the space; zero means the model's choice
	Budget int             // looks of an exploration, by default 24; one after a change has half of them
}

// Tuner is the tuner of one kernel on one device. It is plain data, and a copy
// is a snapshot. Make one with [New].
type Tuner struct {
	space   *Space
	budget  int
	current int32 // the incumbent
	next    Suggestion
	thinks  bool // the next look is still to be chosen by Think

	left    int  // looks of the exploration, with the one under way; 0: the incumbent is kept
	changed bool // it explores because of a change
	look    look
	before  launch // the last launch of the incumbent

	pairs  [maxPairs]pair
	n      int
	recent int // pairs of the exploration under way

	barred [maxBarred]int32 // geometries that do not run here, until the next exploration
	bars   int

	noise   spread
	size    slope
	watch   watch
	changes int
	hasty   int // changes in a row that came soon after an exploration
	clock   uint64
	fast    int
}

// launch is a launch of a geometry: the logarithm of the time of a slot, converted to
// the usual size, and by how much its own size is off, as a logarithm. The zero value
// is none.
type launch struct {
	ran    bool
	raw    float64 // logarithm of its time
	y, off float64
}

// look is the geometry that is compared with the incumbent; of launches under way
// several may be at it.
type look struct {
	config int32
	open   bool
	n      float64
	y, off float64 // means of its launches
}

// New returns a tuner that explores.
func New(c Config) *Tuner {
	t := &Tuner{space: c.Space, budget: c.Budget}
	if t.budget <= 0 {
		t.budget = defaultBudget
	}
	t.current = c.Space.start
	if c.Start != (policy.Geometry{}) {
		t.current = int32(c.Space.Nearest(c.Start))
	}
	t.left = t.budget
	t.suggest(t.current)
	return t
}

// Why says what a suggestion is for.
type Why uint8

// The reasons of a suggestion.
const (
	Exploring   Why = iota // a look of the exploration's budget
	Exploiting             // the incumbent
	Reexploring            // like Exploring, after a change of cost
)

func (w Why) String() string { return [...]string{"exploring", "exploiting", "re-exploring"}[w] }

// Suggestion is the geometry of the next launch.
type Suggestion struct {
	Geometry  policy.Geometry
	Why       Why
	NsPerSlot float64 // that the incumbent takes; 0 while nothing was measured
	Left      int     // looks left of the exploration, 0 if there is none
}

func (t *Tuner) suggest(config int32) {
	t.next = Suggestion{Geometry: t.space.shapes[config], Why: Exploiting, Left: t.left}
	if config != t.current {
		t.next.Why = Exploring
		if t.changed {
			t.next.Why = Reexploring
		}
	}
	if t.before.ran {
		t.next.NsPerSlot = math.Exp(t.level())
	}
}

// level is the logarithm of what a slot takes at the incumbent.
func (t *Tuner) level() float64 {
	if t.left == 0 && t.watch.n > 0 {
		return t.watch.level
	}
	return t.before.y
}

// Next is the geometry of the next launch. It changes nothing.
func (t *Tuner) Next() Suggestion { return t.next }

// Choice is the incumbent: what runs except for looks at others.
func (t *Tuner) Choice() policy.Geometry { return t.space.shapes[t.current] }

// Space holds the geometries from which the tuner chooses.
func (t *Tuner) Space() *Space { return t.space }

// Changes counts the changes of cost noticed.
func (t *Tuner) Changes() int { return t.changes }

// Noise is the relative standard deviation of a launch.
func (t *Tuner) Noise() float64 { return t.noise.sd() }

// Observe is [Tuner.Take] and [Tuner.Think].
func (t *Tuner) Observe(r Report) error {
	err := t.Take(r)
	t.Think()
	return err
}

// Take folds in a launch and decides on the next one, in less than a microsecond. A
// report that cannot be true is refused with the reason and changes nothing. Launches of geometries that are neither the incumbent nor the
// look teach nothing: nothing ran beside them. If the next look is to be chosen, the
// incumbent is suggested until [Tuner.Think].
func (t *Tuner) Take(r Report) error {
	config, err := t.admit(&r)
	if err != nil {
		return err
	}
	l := t.normalise(&r)
	if err := t.plausible(config, l); err != nil {
		return err
	}
	t.clock++
	switch {
	case config != t.current:
		if t.look.open && t.look.config == config {
			t.look.add(l)
		}
	case t.left == 0:
		t.kept(l)
	default:
		t.beside(l)
	}
	if t.look.open && t.look.n == 0 {
		t.suggest(t.look.config)
	} else {
		t.suggest(t.current)
	}
	return nil
}

// add takes a launch at the look.
func (k *look) add(l launch) {
	k.n++
	k.y += (l.y - k.y) / k.n
	k.off += (l.off - k.off) / k.n
}

// beside takes a launch of the incumbent during an exploration. It ends the pair if
// the look has run.
func (t *Tuner) beside(l launch) {
	if t.look.n > 0 {
		t.keepPair(t.compare(l))
		t.look = look{}
		t.left--
	} else if t.before.ran {
		t.noise.fold(l.y - t.before.y)
	}
	t.thinks = !t.look.open
	t.before = l
}

// Think chooses the next look if [Tuner.Take] left it open, which takes about a
// millisecond, and reports whether the suggestion has changed.
func (t *Tuner) Think() (changed bool) {
	if !t.thinks {
		return false
	}
	t.thinks = false
	before := t.next
	var p process
	p.condition(t.space, t.pairs[:t.n])
	if t.changed && t.recent == confirming && t.agree() {
		for i := range t.pairs[:t.n] {
			t.pairs[i].stale = false
		}
		t.left = 0
	}
	t.replace(&p)
	config, ok := int32(0), false
	if t.left > 0 {
		config, ok = t.choose(&p)
	}
	switch {
	case !ok:
		t.settle()
	case t.before.ran:
		t.look = look{config: config, open: true}
		t.suggest(config)
	default: // the new incumbent has to run before a look
		t.suggest(t.current)
	}
	return t.next != before
}

// settle ends an exploration.
func (t *Tuner) settle() {
	t.left, t.changed, t.thinks, t.look = 0, false, false, look{}
	t.watch = watch{}
	t.suggest(t.current)
}

// explore begins an exploration after a change.
func (t *Tuner) explore() {
	if t.changes > 0 && t.watch.quiet < settledAfter {
		t.hasty = min(t.hasty+1, maxHasty)
	} else {
		t.hasty = 0
	}
	t.changes++
	for i := range t.pairs[:t.n] {
		t.pairs[i].stale = true
	}
	t.left, t.changed, t.recent, t.bars = max((t.budget+1)/2>>t.hasty, leastBudget), true, 0, 0
	t.thinks = true
}
