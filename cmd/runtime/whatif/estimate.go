package whatif

import (
	"fmt"

	"ringmaster/cmd/runtime/costs"
)

// What an estimate takes at least.
const (
	leastOfWay  = 8    // launches of a way that the model alone has to price
	leastAudits = 12   // launches that ran as the alternative would have launched them, and not as usual
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
	case e.drawn > 0 && a.Audits < leastAudits:
		a.Refused = fmt.Sprintf("%d of the audits ran so, and it takes %d: audit more often, or for longer", a.Audits, leastAudits)
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
	a.Usual, a.Cost = v.usual/covered, v.robust/covered
	a.Ratio, a.Low, a.High = v.robust/v.usual, low, high
	if e.modeled {
		a.Model = v.model / v.usual
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
			if o.p > 0 && u.ran == o.way {
				a.Audits++
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

// values are nanoseconds of the device for all that is covered.
type values struct{ usual, model, propensity, robust float64 }

// value prices the drawn units.
func (e *estimator) value(drawn []int) (v values) {
	takes := e.model(drawn)
	slots, weighed, weights := 0.0, 0.0, 0.0
	for _, i := range drawn {
		if !e.covered[i] {
			continue
		}
		u := &e.q.units[i]
		o := e.other(u)
		usual, other := takes(u, &u.usual), takes(u, o)
		slots += u.slots
		v.usual += usual
		v.model += other
		v.robust += other
		if u.ran == u.usual.way && u.usual.p > 0 {
			v.usual += (u.ns - usual) / u.usual.p
		}
		if o.p > 0 && u.ran == o.way {
			v.robust += (u.ns - other) / o.p
			weighed += u.ns / o.p
			weights += u.slots / o.p
		}
	}
	v.propensity = weighed / weights * slots
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
