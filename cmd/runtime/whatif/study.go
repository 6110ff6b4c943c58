package whatif

import (
	"fmt"
	"maps"
	"slices"

	"ringmaster/cmd/runtime/decisions"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/decisionlog"
)

const (
	maxUnits   = 50_000 // launches of a queue, the newest
	maxPending = 1_024  // decisions whose launch is not reported yet
)

// way is how a launch is decided: launches of one way have one cost. A worker may run it otherwise, where its kernel is
// not built yet or a chunk has more steps than a dispatch may take, and would do so with the alternative too: what counts
// is what was decided, whose probability is known.
type way struct {
	geometry policy.Geometry // without a depth; zero on a lease, whose kernel has one
	kernel   policy.Mode
	launch   policy.LaunchMode
}

// String is the geometry, the kernel, and how it is launched.
func (w way) String() string {
	if w.launch == policy.LaunchLease {
		return "a round of the lease"
	}
	return fmt.Sprintf("%v, %v", w.geometry, w.kernel)
}

func wayOf(g policy.Geometry, kernel policy.Mode, launch policy.LaunchMode) way {
	if launch == policy.LaunchLease {
		return way{launch: launch}
	}
	g.Depth = 0
	return way{g, kernel, launch}
}

func planned(r *policy.Recommendation) way { return wayOf(r.Geometry(), r.Mode, r.LaunchMode) }

// choice is one way in which a decision might have been launched.
type choice struct {
	way    int     // its number
	launch float64 // slots of a launch
	p      float64 // how likely an audit was to launch it just so; 0: none did
}

// unit is a decision whose first launch was measured.
type unit struct {
	ran       int  // number of the way that was decided
	audited   bool // it was drawn
	slots, ns float64
	usual     choice   // without an audit, and in one that is a control
	others    []choice // of each alternative
}

// pending is a decision whose launch was not reported yet.
type pending struct {
	unit
	plan  way
	depth uint32          // of what was launched
	arms  map[way]float64 // what an audit might have launched, and how likely that was
}

// queue is what a log says of one queue.
type queue struct {
	ways    map[way]int
	names   []way // by number
	pending map[uint64]*pending
	units   []unit
	fitted  uint64 // launches that ran otherwise than they were decided
}

func (q *queue) number(w way) int {
	n, known := q.ways[w]
	if !known {
		n = len(q.names)
		q.ways[w], q.names = n, append(q.names, w)
	}
	return n
}

// Study is what a log says of all its queues.
type Study struct {
	names   []string // of the alternatives
	queues  map[string]*queue
	audited bool // a decision could have been an audit

	decisions uint64 // that were read
}

// Read reads a log. The alternative is another policy, by its name, or with a nil policy each of the
// neighbours that audits try.
func Read(log *decisions.Source, name string, other *policy.Config) (*Study, error) {
	s := &Study{names: []string{name}, queues: make(map[string]*queue)}
	if other == nil {
		s.names = policy.MoveNames()
	} else {
		alone := *other
		alone.AuditLaunches, other = 0, &alone
	}
	err := decisions.Walk(log, other, func(by *policy.Config, logged, again *decisionlog.Entry, _ bool) {
		s.decisions++
		key := logged.Worker + "." + logged.Queue
		q := s.queues[key]
		if q == nil {
			q = &queue{ways: make(map[way]int), pending: make(map[uint64]*pending)}
			s.queues[key] = q
		}
		for i := range logged.Ran {
			q.ranLaunch(&logged.Ran[i])
		}
		s.audited = s.audited || by.AuditLaunches != 0
		var alternatives []policy.Recommendation
		if other != nil {
			alternatives = []policy.Recommendation{again.Plan}
			if again.Error != "" || again.Undecided {
				return
			}
		}
		q.decided(by, logged, alternatives)
	})
	return s, err
}

// decided keeps a decision until its launch is reported. Without alternatives these are what audits try.
func (q *queue) decided(by *policy.Config, e *decisionlog.Entry, alternatives []policy.Recommendation) {
	if e.Error != "" || e.Undecided || by.AuditLaunches == 0 {
		return
	}
	draws := by.AuditDraws()
	plans := make([]policy.Recommendation, 0, len(draws)+1)
	for _, draw := range append([]uint64{policy.Usual}, draws...) {
		r := e.Request
		if r.Draw != 0 { // else nothing could have been drawn
			r.Draw = draw
		}
		plan, _, err := policy.Decide(by, &r, e.Before)
		if err != nil {
			return
		}
		plans = append(plans, plan)
	}
	p := &pending{unit: unit{audited: e.Plan.Audited()}, plan: planned(&e.Plan), depth: e.Plan.BatchDepth, arms: make(map[way]float64)}
	for i := range plans {
		if plans[i].Audited() {
			p.arms[planned(&plans[i])] += 1 / float64(by.AuditLaunches) / float64(len(draws))
		}
	}
	if expected := planned(&plans[0]); p.audited && p.arms[p.plan] == 0 || !p.audited && p.plan != expected {
		return // it is not the logged policy that decided
	}
	if alternatives == nil {
		alternatives = plans[1:len(draws)] // but for the control
	}
	p.usual = q.choice(&plans[0], e.Request.QueueLen)
	for i := range alternatives {
		p.others = append(p.others, q.choice(&alternatives[i], e.Request.QueueLen))
	}
	if len(q.pending) >= maxPending {
		delete(q.pending, slices.Min(slices.Collect(maps.Keys(q.pending))))
	}
	q.pending[e.Decision] = p
}

// choice is a plan; launch holds for now its depth, and p how many slots waited.
func (q *queue) choice(plan *policy.Recommendation, waiting uint32) choice {
	return choice{way: q.number(planned(plan)), launch: float64(plan.BatchDepth), p: float64(waiting)}
}

// ranLaunch joins a launch to its decision.
func (q *queue) ranLaunch(r *decisionlog.Ran) {
	p := q.pending[r.Decision]
	if p == nil || r.Slots == 0 || r.Ns == 0 {
		return
	}
	delete(q.pending, r.Decision)
	if wayOf(r.Geometry, r.Mode, r.LaunchMode) != p.plan {
		q.fitted++
	}
	u := p.unit
	u.ran, u.slots, u.ns = q.number(p.plan), float64(r.Slots), float64(r.Ns)
	u.usual = p.settle(u.usual, u.slots, q.names)
	for i, o := range u.others {
		u.others[i] = p.settle(o, u.slots, q.names)
	}
	if len(q.units) == maxUnits {
		q.units = append(q.units[:0], q.units[maxUnits/2:]...)
	}
	q.units = append(q.units, u)
}

// settle says of how many slots a choice's launch would have been, and how likely it was: one that fills its depth
// takes what waited, another what there was.
func (p *pending) settle(o choice, slots float64, names []way) choice {
	depth, waiting := o.launch, o.p
	o.launch, o.p = slots, p.arms[names[o.way]]
	switch ran := float64(p.depth); {
	case depth == ran || slots < min(depth, ran):
	case depth < slots:
		o.launch, o.p = depth, 0
	default:
		if o.launch = min(depth, max(waiting, slots)); o.launch != slots {
			o.p = 0
		}
	}
	return o
}
