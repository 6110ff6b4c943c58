package live

import (
	"math"

	"ringmaster/megakernel/policy"
)

// Config of a tuner.
type Config struct {
	Space *Space
	// Own is the policy's own geometry for a launch of the space's slots, the first
	// incumbent. Zero means what the model expects to be fastest.
	Own     policy.Geometry
	BuildNs uint64 // what a look loses if no kernel of its width has run: its build takes the host's cores
}

// Tuner is the tuner of one kernel on one device. It is plain data, and a copy
// is a snapshot. Make one with [New].
type Tuner struct {
	space   *Space
	build   float64
	home    int32 // stands for the policy's own geometry
	current int32 // the incumbent
	next    Suggestion

	account account
	looks   int     // since the start or the last change
	over    bool    // nothing more is worth a look until a change
	thinks  bool    // whether to look is still to be decided by Think
	pause   float64 // no look is thought of before so much time was used
	look    look
	before  launch // the last launch of the incumbent

	pairs [maxPairs]pair
	n     int

	barred [maxBarred]int32 // geometries that do not run here
	bars   int

	noise   spread
	size    slope
	watch   watch
	changes int
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
	built  bool // its kernel had to be built, which is charged
	n      float64
	y, off float64 // means of its launches
}

// New returns a tuner that has no opinion yet: the policy's own geometry runs.
func New(c Config) *Tuner {
	t := &Tuner{space: c.Space, build: float64(c.BuildNs), home: c.Space.start}
	if c.Own != (policy.Geometry{}) {
		t.home = int32(c.Space.Nearest(c.Own))
	}
	t.current = t.home
	t.suggest()
	return t
}

// Suggestion is the geometry of the next launch.
type Suggestion struct {
	Geometry  policy.Geometry
	Look      bool    // it is compared with the incumbent
	NsPerSlot float64 // that the incumbent takes; 0 while nothing was measured
}

func (t *Tuner) suggest() {
	config := t.current
	t.next = Suggestion{Look: t.look.open && t.look.n == 0}
	if t.next.Look {
		config = t.look.config
	}
	t.next.Geometry = t.space.shapes[config]
	if t.before.ran {
		t.next.NsPerSlot = math.Exp(t.level())
	}
}

// level is the logarithm of what a slot takes at the incumbent.
func (t *Tuner) level() float64 {
	if t.watch.n > 0 {
		return t.watch.level
	}
	return t.before.y
}

// Next is the geometry of the next launch. It changes nothing.
func (t *Tuner) Next() Suggestion { return t.next }

// Choice is the incumbent: what runs except for looks at others.
func (t *Tuner) Choice() policy.Geometry { return t.space.shapes[t.current] }

// Own is the geometry of the space that stands for the policy's own. While it is the
// choice the tuner has no opinion.
func (t *Tuner) Own() policy.Geometry { return t.space.shapes[t.home] }

// Space holds the geometries from which the tuner chooses.
func (t *Tuner) Space() *Space { return t.space }

// Changes counts the changes of cost noticed.
func (t *Tuner) Changes() int { return t.changes }

// Noise is the relative standard deviation of a launch.
func (t *Tuner) Noise() float64 { return t.noise.sd() }

// Over says that nothing more is worth a look until the cost changes.
func (t *Tuner) Over() bool { return t.over }

// Looks counts the looks since the start or the last change.
func (t *Tuner) Looks() int { return t.looks }

// Spent is what looks have lost and what they may lose, in nanoseconds on the device, since
// the start or the last change.
func (t *Tuner) Spent() (lost, allowed float64) {
	return t.account.lost, lostShare * t.account.used
}

// Observe is [Tuner.Take] and [Tuner.Think].
func (t *Tuner) Observe(r Report) error {
	err := t.Take(r)
	t.Think()
	return err
}

// Take folds in a launch, in less than a microsecond. A report that cannot be true is
// refused with the reason and changes nothing. Launches of geometries that are neither the
// incumbent nor the look teach nothing: nothing ran beside them. Whether to look at another
// geometry next is left to [Tuner.Think].
func (t *Tuner) Take(r Report) error {
	config, err := t.admit(&r)
	if err != nil {
		return err
	}
	l := t.normalise(&r)
	if err := t.plausible(config, l); err != nil {
		return err
	}
	counts := float64(min(r.CountsNs, r.Ns))
	switch {
	case config == t.current:
		t.ran(l, counts)
	case t.look.open && t.look.config == config:
		t.look.add(l)
		t.account.lost += counts * math.Max(-math.Expm1(t.level()-l.y), 0)
	}
	t.suggest()
	return nil
}

// Missed tells the tuner that in place of the look another geometry ran, because the
// kernel for it is still to be built.
func (t *Tuner) Missed() {
	if t.look.open && !t.look.built {
		t.look.built = true
		t.account.lost += t.build
	}
}

// add takes a launch at the look.
func (k *look) add(l launch) {
	k.n++
	k.y += (l.y - k.y) / k.n
	k.off += (l.off - k.off) / k.n
}

// ran takes a launch of the incumbent, of which so much time counts. It ends the pair if the
// look has run.
func (t *Tuner) ran(l launch, counts float64) {
	if t.look.n > 0 {
		t.keepPair(t.compare(l))
		t.look = look{}
		t.looks++
		t.thinks = true
	}
	t.account.used += counts
	if t.watched(l) {
		t.change()
	}
	a := &t.account
	if counts > 0 && !t.over && !t.look.open && a.used >= t.pause && a.left() >= t.launchNs() {
		t.thinks = true
	}
}

// launchNs is what a launch of the usual size takes at the incumbent.
func (t *Tuner) launchNs() float64 { return math.Exp(t.level()) * float64(t.space.slots) }

// Think replaces the incumbent if another geometry turned out better, and decides whether to
// look at one, which takes about a millisecond, if [Tuner.Take] left that open. It reports
// whether there was something to think about.
func (t *Tuner) Think() bool {
	if !t.thinks {
		return false
	}
	t.thinks = false
	var p process
	p.condition(t.space, t.pairs[:t.n])
	t.replace(&p)
	if t.before.ran { // a new incumbent has to run before a look
		t.lookAround(&p)
	}
	t.suggest()
	return true
}

// lookAround begins a look if one pays and is paid for.
func (t *Tuner) lookAround(p *process) {
	config, worth := t.choose(p)
	switch {
	case t.looks >= maxPairs || !worth:
		t.over = true
	case config >= 0:
		t.look = look{config: config, open: true}
	default:
		t.pause = t.account.used * reconsider
	}
}

// keep makes a geometry the incumbent.
func (t *Tuner) keep(config int32) {
	t.current, t.before, t.watch, t.look = config, launch{}, watch{}, look{}
}

// change begins anew after a change of the cost: all differences are doubtful, and a look has
// to be paid for from then on.
func (t *Tuner) change() {
	t.changes++
	for i := range t.pairs[:t.n] {
		t.pairs[i].variance += staleVar
	}
	t.watch, t.account, t.pause, t.look = watch{}, t.account.anew(), 0, look{}
	t.looks, t.bars, t.over, t.thinks = 0, 0, false, false
}
