package session

import (
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/live"
)

const (
	// lookAgain is after how many launches a look is asked for again that has not run:
	// its kernel was still to be built, its launch failed, or nobody took the plan.
	lookAgain = 16
	// A look in whose place the engine runs another geometry is given up after so many
	// tries and so much time: building the kernel for it takes a while.
	mostMissed = 4
	missedNs   = 3e9
	// buildNs is what is charged for building kernels of another width, whatever the device:
	// the driver's compiler takes a core. On llvmpipe a kernel took 0.16 to 0.34 s of two
	// busy cores, and a width may need an interpreter and a fused one.
	buildNs = 5e8
	// recallEvery is after how many launches a tuner asks again what others have measured.
	recallEvery = 16
)

// entry is the tuner of one kernel at one size.
type entry struct {
	program Program
	bucket  int
	limits  policy.Limits
	device  string

	live     *live.Tuner // with On
	original *original   // with Reference and the like
	spaces   *Spaces
	room     *Room // that it takes

	used     uint64 // clock of the session
	moment   uint64 // of what was recalled last
	sampled  int    // launches
	waited   int    // launches since the look was offered
	missed   int    // launches of a look that ran at another geometry
	missedNs uint64
	told     state // what was remembered last
}

// state is what makes a tuner worth remembering again.
type state struct {
	settled bool
	changes int
	choice  policy.Geometry
}

func newEntry(env *Env, p Program, bucket int) (*entry, error) {
	e := &entry{program: p, bucket: bucket, limits: env.Limits, device: env.Device, spaces: env.Spaces}
	if mode, is := p.Mode.Original(); is {
		e.original = newOriginal(mode, p.ID, env.Limits, BucketSlots(bucket), env.Device)
		e.original.recall(env.Memory)
		e.told = e.state()
		return e, nil
	}
	space, err := env.Spaces.Of(env.Limits, bucket)
	if err != nil {
		return nil, err
	}
	e.live = live.New(live.Config{Space: space, Own: env.Spaces.own(env.Limits, bucket), BuildNs: buildNs})
	e.consult(env)
	e.told = e.state()
	return e, nil
}

// consult takes over what has become known: what this machine measured, and what others
// say as hints where to look.
func (e *entry) consult(env *Env) {
	if known, ok := e.recall(env); ok && (e.moment != FirstMoment || e.live.Restore(&known) == 0) {
		e.live.Hint(&known)
	}
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
	if known := e.live.Entry(e.key()); len(known.Measurements) > 0 {
		env.Memory.Remember(e.device, known)
	}
}

// observe folds in a launch, which may be that of the look on offer, and of which so much
// time counts. One at a geometry that is not in the tuner's space teaches nothing.
func (e *entry) observe(env *Env, r *Report, looks bool, counts uint64) (err error) {
	report := live.Report{
		Geometry: measured(r.Geometry, BucketSlots(e.bucket)),
		Slots:    uint32(r.Slots), Ns: r.Ns, WallNs: r.WallNs, CountsNs: counts,
	}
	if e.original != nil {
		e.original.recall(env.Memory) // the file may have been read only now
		err = e.original.observe(&report)
	} else {
		err = e.measure(env, &report, r, looks)
	}
	if err == nil {
		e.tell(env)
	}
	return err
}

// tell remembers what is new: a change, another choice once it has run, and that nothing is
// worth a look.
func (e *entry) tell(env *Env) {
	if e.live != nil && e.live.Next().NsPerSlot == 0 {
		return
	}
	if now := e.state(); now != e.told && (e.live != nil || now.settled) {
		e.remember(env)
	}
}

// measure is observe for the mode On. What runs when nothing is asked for is the policy's
// own geometry, whatever that is for a launch of its size.
func (e *entry) measure(env *Env, report *live.Report, r *Report, looks bool) error {
	if r.Plan.Asked == (policy.Geometry{}) {
		report.Geometry = e.live.Own()
	}
	if _, known := e.live.Space().Find(report.Geometry); known {
		if err := e.live.Take(*report); err != nil {
			return err
		}
	} else if err := report.Check(); err != nil {
		return err
	}
	if e.sampled++; e.sampled%recallEvery == 0 && !e.live.Over() {
		e.consult(env)
	}
	e.giveUp(r, looks)
	return nil
}

// giveUp bars what does not run as it is asked for: at once if the plan says otherwise, a
// look also when launches of such plans keep running at others.
func (e *entry) giveUp(r *Report, looks bool) {
	plan := &r.Plan
	asked := plan.Asked != (policy.Geometry{})
	if asked && !gives(plan.Given, plan.Asked) && (looks || plan.Asked == e.keeps()) {
		e.live.Bar(measured(plan.Asked, BucketSlots(e.bucket)))
	}
	if !e.wantsLook() {
		e.waited, e.missed, e.missedNs = 0, 0, 0
		return
	}
	e.waited++
	e.missedNs += r.WallNs
	if looks {
		e.live.Missed()
		e.missed++
	}
	if e.missed >= mostMissed && e.missedNs >= missedNs {
		e.live.Bar(e.live.Next().Geometry)
	}
}

// gives reports whether a plan is what it was asked for.
func gives(plan, asked policy.Geometry) bool {
	same := func(p, a uint32) bool { return a == 0 || p == a }
	return same(plan.Width, asked.Width) && same(plan.Groups, asked.Groups) && same(plan.Chunk, asked.Chunk) && same(plan.Depth, asked.Depth)
}

// keeps is what the policy is asked for without a look: zero for its own geometry.
func (e *entry) keeps() policy.Geometry {
	switch {
	case e.original != nil:
		return e.original.choice
	case e.live.Choice() == e.live.Own():
		return policy.Geometry{}
	}
	return e.ask(e.live.Choice())
}

// wantsLook says whether another geometry is to be tried.
func (e *entry) wantsLook() bool { return e.live != nil && e.live.Next().Look }

// ask is a geometry in the form in which the policy is asked for it.
func (e *entry) ask(g policy.Geometry) policy.Geometry {
	return e.spaces.ask(e.limits, g, BucketSlots(e.bucket))
}

func (e *entry) state() state {
	if e.original != nil {
		return state{settled: e.original.settled, choice: e.original.choice}
	}
	return state{settled: e.live.Over(), changes: e.live.Changes(), choice: e.live.Choice()}
}
