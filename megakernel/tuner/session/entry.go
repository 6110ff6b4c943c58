package session

import (
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/live"
)

// A suggestion in whose place the engine runs another geometry is given up after
// so many launches and so much time: building the kernel for it takes a while.
const (
	missedLaunches = 64
	missedNs       = 3e9
)

// entry is the tuner of one kernel at one size.
type entry struct {
	program Program
	bucket  int
	limits  policy.Limits
	device  string

	live     *live.Tuner // with On
	natural  *natural    // with Natural
	original *original   // with Reference and the like
	spaces   *Spaces
	room     *Room // that it takes

	used     uint64 // clock of the session
	moment   uint64 // of what was recalled last
	missed   int    // launches that ran at another geometry than suggested
	missedNs uint64
	told     state // what was remembered last
}

// state is what makes a tuner worth remembering again.
type state struct {
	exploring bool
	changes   int
	next      policy.Geometry
}

func newEntry(env *Env, p Program, bucket int, start policy.Geometry) (*entry, error) {
	e := &entry{program: p, bucket: bucket, limits: env.Limits, device: env.Device, spaces: env.Spaces}
	if mode, is := p.Mode.Original(); is {
		e.original = newOriginal(mode, p.ID, env.Limits, BucketSlots(bucket), env.Device)
		e.original.recall(env.Memory)
		e.told = e.state()
		return e, nil
	}
	known, ok := e.recall(env)
	hint := ok && e.moment != FirstMoment
	if hint && known.Selected != (policy.Geometry{}) {
		start = known.Selected
	}
	if p.Mode == Natural {
		e.natural = newNatural(env.Limits)
	} else {
		space, err := env.Spaces.Of(env.Limits, bucket)
		if err != nil {
			return nil, err
		}
		e.live = live.New(live.Config{Space: space, Start: start})
	}
	switch {
	case hint:
		// A hint says where to begin and to look, not what to choose: it was not measured here.
		if e.natural != nil {
			e.natural.begin(start.Width)
		}
		e.moment = 0 // its measurements are recalled again in the exploration
	case ok && e.live != nil:
		e.live.Restore(&known)
	case ok:
		e.natural.restore(&known)
	}
	e.told = e.state()
	return e, nil
}

func (e *entry) key() cache.Key { return Key(e.program, e.bucket, e.limits, e.device) }

// recall asks for what has become known since the last recall.
func (e *entry) recall(env *Env) (cache.Entry, bool) {
	if env.Memory == nil || e.device == "" {
		return cache.Entry{}, false
	}
	known, moment, ok := env.Memory.Recall(e.device, e.key(), e.moment)
	if ok {
		e.moment = moment
	}
	return known, ok
}

// remember hands the tuner's knowledge, if it has any, to the memory.
func (e *entry) remember(env *Env) {
	e.told = e.state()
	if e.original != nil {
		e.original.remember(env.Memory)
		return
	}
	if env.Memory == nil || e.device == "" {
		return
	}
	var known cache.Entry
	if e.live != nil {
		known = e.live.Entry(e.key())
	} else {
		known = e.natural.entry(e.key())
	}
	if len(known.Measurements) > 0 {
		env.Memory.Remember(e.device, known)
	}
}

// observe folds in a launch. One at a geometry that is not in the tuner's space teaches nothing.
func (e *entry) observe(env *Env, r *Report) (err error) {
	report := live.Report{
		Geometry: measured(r.Geometry, BucketSlots(e.bucket)),
		Slots:    uint32(r.Slots), Ns: r.Ns, WallNs: r.WallNs,
	}
	switch {
	case e.original != nil:
		e.original.recall(env.Memory) // the file may have been read only now
		err = e.original.observe(&report)
	case e.natural != nil:
		err = e.natural.observe(&report)
	default:
		err = e.explore(env, &report, r)
	}
	if err == nil {
		e.tell(env)
	}
	return err
}

// tell remembers what is new: the end of an exploration, a change, another choice.
func (e *entry) tell(env *Env) {
	if now := e.state(); now != e.told && (!now.exploring || now.changes != e.told.changes) {
		e.remember(env)
	}
}

// explore is observe for the mode On.
func (e *entry) explore(env *Env, report *live.Report, r *Report) error {
	if _, known := e.space().Find(report.Geometry); known {
		if err := e.live.Take(*report); err != nil {
			return err
		}
	} else if err := report.Check(); err != nil {
		return err
	}
	if e.exploring() {
		// Others may have measured meanwhile, or the file was read only now.
		if known, ok := e.recall(env); ok && e.moment == FirstMoment {
			e.live.Merge(&known)
		} else if ok {
			e.live.Hint(&known)
		}
	}
	e.giveUp(r, report.Geometry == e.next())
	return nil
}

// giveUp bars a suggestion that is not run as suggested: at once if the plan that was
// asked for it says otherwise, else when launches of such plans keep running at others.
func (e *entry) giveUp(r *Report, ran bool) {
	plan := &r.Plan
	switch {
	case !e.exploring() || ran:
	case plan.Asked != e.ask():
		return // a launch of another suggestion
	case gives(plan.Given, plan.Asked):
		e.missed++
		e.missedNs += r.WallNs
		if e.missed < missedLaunches || e.missedNs < missedNs {
			return
		}
		e.live.Bar(e.next())
	default:
		e.live.Bar(e.next())
	}
	e.missed, e.missedNs = 0, 0
}

// gives reports whether a plan is what it was asked for.
func gives(plan, asked policy.Geometry) bool {
	same := func(p, a uint32) bool { return a == 0 || p == a }
	return same(plan.Width, asked.Width) && same(plan.Groups, asked.Groups) && same(plan.Chunk, asked.Chunk) && same(plan.Depth, asked.Depth)
}

func (e *entry) space() *live.Space { return e.live.Space() }

func (e *entry) next() policy.Geometry {
	switch {
	case e.original != nil:
		return e.original.choice
	case e.natural != nil:
		return policy.Geometry{Width: e.natural.current}
	}
	return e.live.Next().Geometry
}

// ask is the next geometry in the form in which the policy is asked for it.
func (e *entry) ask() policy.Geometry {
	if e.live == nil {
		return e.next()
	}
	return e.spaces.ask(e.limits, e.next(), BucketSlots(e.bucket))
}

func (e *entry) exploring() bool {
	switch {
	case e.original != nil:
		return !e.original.settled
	case e.natural != nil:
		return e.natural.exploring()
	}
	return e.live.Next().Left > 0
}

func (e *entry) state() state {
	s := state{exploring: e.exploring(), next: e.next()}
	if e.live != nil {
		s.changes = e.live.Changes()
	}
	return s
}
