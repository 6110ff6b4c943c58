package whatif

import (
	"fmt"

	"ringmaster/cmd/runtime/costs"
)

// What an estimate takes at least.
const (
	leastOfWay  = 8    // launches of a way that the model alone has to price
	leastAudits = 12   // audits that ran as the alternative would have launched them, and as many that were controls
	reach       = 1.25 // how far beyond the slots of the launches of a way its line is believed
)

// Answer is what an alternative would have cost. Costs are nanoseconds of the device for a slot.
type Answer struct {
	Name     string  `json:"name"`
	Launches uint64  `json:"launches"` // that would have been others
	Audits   uint64  `json:"audits"`   // of them, how many ran so
	Usual    float64 `json:"usual_ns_per_slot,omitzero"`
	Cost     float64 `json:"ns_per_slot,omitzero"`
	Ratio    float64 `json:"ratio,omitzero"` // of the two, doubly robust
	Low      float64 `json:"ratio_low,omitzero"`
	High     float64 `json:"ratio_high,omitzero"` // of the interval at 95 %
	Model    float64 `json:"ratio_by_model,omitzero"`
	IPS      float64 `json:"ratio_by_propensity,omitzero"`
	Covered  float64 `json:"covered,omitzero"` // share of the slots that the answer is about
	Refused  string  `json:"refused,omitzero"` // why there is no answer, or none about the other slots
}

// estimator prices one alternative of one queue.
type estimator struct {
	q       *queue
	k       int
	covered []bool // by unit
	known   []bool // by way: the model alone prices it
	drawn   int    // units at which an audit might have run so
	control int    // audits of the usual geometry among them
	exact   bool   // every covered unit has a probability
	modeled bool   // every covered unit has a line of its own way
}

// other is the alternative at a unit.
func (e *estimator) other(u *unit) *choice { return &u.others[e.k] }

func (u *unit) same(o *choice) bool { return o.way == u.usual.way && o.launch == u.usual.launch }

// answer prices an alternative, or says why nobody can.
func (q *queue) answer(name string, k int) Answer {
	a := Answer{Name: name}
	e := &estimator{q: q, k: k, exact: true, modeled: true}
	slots, covered := e.cover(&a)
	switch {
	case a.Launches == 0:
		a.Refused = "it launches everything as it was launched"
		return a
	case covered == 0:
		return a
	case e.drawn > 0 && min(a.Audits, uint64(e.control)) < leastAudits:
		a.Refused = fmt.Sprintf("%d of the audits ran so and %d as usual, and it takes %d of each: audit more often, or for longer", a.Audits, e.control, leastAudits)
		return a
	}
	all := make([]int, len(q.units))
	for i := range all {
		all[i] = i
	}
	v := e.value(all)
	low, high, ok := costs.Interval(len(all), func(drawn []int) float64 {
		v := e.value(drawn)
		return v.robust / v.usual
	})
	if !ok || !(v.usual > 0) {
		a.Refused = fmt.Sprintf("%d launches are too few for an interval", len(all))
		return a
	}
	a.Covered = covered / slots
	a.Ratio, a.Low, a.High = v.robust/v.usual, low, high
	a.Usual, a.Cost = v.lines/covered, v.lines/covered*a.Ratio // without what being an audit costs
	if e.modeled {
		a.Model = v.model / v.lines
	}
	if e.exact {
		a.IPS = v.propensity / v.usual
	}
	return a
}

// cover says which units can be priced, and notes why others cannot.
func (e *estimator) cover(a *Answer) (slots, covered float64) {
	points, least, most := make([]int, len(e.q.names)), make([]float64, len(e.q.names)), make([]float64, len(e.q.names))
	for i := range e.q.units {
		u := &e.q.units[i]
		if points[u.ran]++; points[u.ran] == 1 {
			least[u.ran] = u.slots
		}
		least[u.ran], most[u.ran] = min(least[u.ran], u.slots), max(most[u.ran], u.slots)
	}
	e.covered, e.known = make([]bool, len(e.q.units)), make([]bool, len(e.q.names))
	for w, n := range points {
		e.known[w] = n >= leastOfWay
	}
	for i := range e.q.units {
		u := &e.q.units[i]
		o := e.other(u)
		slots += u.slots
		same := u.same(o)
		if !same {
			a.Launches++
			if o.p > 0 {
				e.drawn++
			}
			if o.p > 0 && u.audited && u.ran == o.way {
				a.Audits++
			}
			if o.p > 0 && u.audited && u.ran == u.usual.way {
				e.control++
			}
		}
		switch {
		case same || o.p > 0 && points[o.way] > 0:
			e.modeled = e.modeled && e.known[o.way]
		case !e.known[o.way]:
			a.Refused = fmt.Sprintf("fewer than %d launches ran at %v", leastOfWay, e.q.names[o.way])
			continue
		case o.launch < least[o.way]/reach || o.launch > most[o.way]*reach:
			a.Refused = fmt.Sprintf("no launch of about %.0f slots ran at %v", o.launch, e.q.names[o.way])
			continue
		default:
			e.exact = false
		}
		e.covered[i] = true
		covered += u.slots
	}
	return slots, covered
}

// values are nanoseconds of the device for all that is covered: as it was, and as audits, by lines alone and corrected.
type values struct {
	lines, usual  float64 // as usual
	model, robust float64 // as the alternative
	propensity    float64 // the same, by weights alone
}

// sample is a sum over audits, each weighed by how improbable it was.
type sample struct{ slots, ns, off float64 }

// add takes an audit in, and by how much the model was off there.
func (s *sample) add(u *unit, p, model float64) {
	s.slots += u.slots / p
	s.ns += u.ns / p
	s.off += (u.ns - model) / p
}

// share is what a sum comes to for some slots. Weights are divided by their sum: how many audits there happened to be
// does not count.
func (s *sample) share(sum, slots float64) float64 {
	if s.slots == 0 {
		return 0
	}
	return sum / s.slots * slots
}

// value prices the drawn units.
func (e *estimator) value(drawn []int) (v values) {
	takes := e.model(drawn)
	var control, audits sample
	slots, auditable := 0.0, 0.0
	for _, i := range drawn {
		if !e.covered[i] {
			continue
		}
		u := &e.q.units[i]
		o := e.other(u)
		usual, other := takes(u, &u.usual), takes(u, o)
		slots += u.slots
		v.lines += usual
		v.model += other
		if o.p == 0 || u.usual.p == 0 {
			continue // where lines stand for the alternative, they stand for both
		}
		auditable += u.slots
		if u.audited && u.ran == u.usual.way {
			control.add(u, u.usual.p, usual)
		}
		if u.audited && u.ran == o.way {
			audits.add(u, o.p, other)
		}
	}
	v.robust = v.model + audits.share(audits.off, auditable)
	v.usual = v.lines + control.share(control.off, auditable)
	v.propensity = audits.share(audits.ns, slots)
	return v
}

// model is the time that a unit's slots take by a choice, from lines through the drawn units. Where a way has too few
// launches for a line, that of the usual way or of all stands in: the doubly robust estimate is right with any.
func (e *estimator) model(drawn []int) func(u *unit, o *choice) float64 {
	type line struct {
		costs.Line
		a, b float64
	}
	lines := make([]line, len(e.q.names)+1)
	all := len(e.q.names)
	for _, i := range drawn {
		u := &e.q.units[i]
		lines[u.ran].Add(u.slots, u.ns)
		lines[all].Add(u.slots, u.ns)
	}
	for i := range lines {
		lines[i].a, lines[i].b = lines[i].Fit()
	}
	return func(u *unit, o *choice) float64 {
		l := &lines[o.way]
		if !e.known[o.way] || l.Points() == 0 {
			l = &lines[u.usual.way]
		}
		if l.Points() == 0 {
			l = &lines[all]
		}
		return (l.a + l.b*o.launch) * u.slots / o.launch
	}
}
