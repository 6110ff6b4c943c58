package actors

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"ringmaster/actors/fence"
	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
)

// storing is the part of a queue actor that has decisions count where all processes see them;
// see package fence for the protocol. While a decision is being written the cell folds on, and
// news of launches waits for the outcome.
type storing struct {
	fence    fence.Writer
	under    *underway // the write under way, nil: none
	asking   bool      // for the last message, and there is no answer yet
	waiting  []message // for the outcome
	alone    bool      // the store is away: decisions hold here without it
	apart    bool      // the store lacks decisions that were made alone
	standing Standing
}

// underway is a decision that is being written.
type underway struct {
	id       uint64 // random
	decision *decision
	view     *view
}

// postpones says whether a message waits for the write under way, or means nothing meanwhile:
// what wakes the queue is in its cell, and a message that came by is kept by the family.
func (s *storing) postpones(msg message) bool {
	if s.under == nil {
		return false
	}
	switch msg.(type) {
	case *written, *lookedUp, beat, owned:
		return false
	case *settled, reported, halted:
		s.waiting = append(s.waiting, msg)
	}
	return true
}

// panicked makes good what a panic left: a write whose beginning panicked is given up, and
// whatever became of it is met by the next one. Answers are handled again.
func (a *queueActor) panicked(lost message) {
	s := &a.storing
	s.asking = false
	switch lost.(type) {
	case wake, owned:
		if s.under != nil {
			s.fence.Forget()
			s.under = nil
			a.busy.Add(-1)
			a.keepAll(s.waiting)
			s.waiting = nil
		}
	}
	if s.under == nil {
		a.cell.abandon()
	}
}

// decidesHere says whether this process decides for the queue now, from all that it has heard.
func (a *queueActor) decidesHere() bool {
	cfg := &a.system.cfg
	if cfg.Store == nil {
		return true
	}
	a.follow()
	if cfg.Owns != nil && !cfg.Owns(a.device.name) {
		a.stand(StandsBy, "")
		return false
	}
	return true
}

// follow takes over the newest message that came by. One that cannot be read is not known after
// that: a write here does not go over it, but is refused and looks it up.
func (a *queueActor) follow() {
	s := &a.storing
	m := a.heard.Load()
	if m == nil || s.fence.Busy() || m.Sequence <= s.fence.Last() && m.Recommendation.Decision <= a.number {
		return
	}
	left, err := a.read(m)
	if err != nil {
		a.system.complain.Warn("a decision of another process cannot be taken over", a.device.name, a.name, "sequence", m.Sequence, "error", err)
		return
	}
	a.adopt(m, left)
	s.fence.Heard(m.Sequence)
}

// write has the store take a decision. Without the store a local engine launches by it all the same.
func (a *queueActor) write(d *decision, v *view) {
	if a.storing.alone {
		a.holdAlone(d, v)
		return
	}
	id := telemetry.NewIncarnation()
	r := a.recommendation(d)
	r.Changed, r.Fenced = d.changed, true
	var err error
	if r.Decided, err = a.encode(d, v, id); err != nil {
		a.system.complain.Warn("a decision cannot be stored, so it does not count", a.device.name, a.name, "error", err)
		a.cell.abandon()
		return
	}
	a.storing.under = &underway{id, d, v}
	a.busy.Add(1) // the queue is not forgotten
	a.system.cfg.Store.Write(a.device.name, a.name, a.storing.fence.Begin(id), r, v.replies, func(sequence uint64, how telemetry.Written) {
		a.post(&written{id, sequence, how})
	})
}

// encode is what other processes need of a decision.
func (a *queueActor) encode(d *decision, v *view, id uint64) ([]byte, error) {
	m := memory{Edition: d.edition, Topology: a.topology.Hysteresis, Plan: a.policy.Hysteresis, Cell: v.memory, Device: a.device.remember()}
	recent := a.recent[max(0, len(a.recent)-carriedRuns):]
	if d.known {
		m.Topology.Issue(d.Decision, d.After.Topology, d.commitOnPublish)
		m.Plan.Issue(d.Decision, d.After.Plan, d.commitOnPublish)
	}
	if !d.local {
		recent = slices.Clone(recent)
		recent.Add(d.Decision, d.After)
	}
	m.Recent = recent[max(0, len(recent)-carriedRuns):]
	if view := a.suggested.Load(); view != nil {
		kept := view.Kept()
		m.Tuned = &kept
	}
	text, err := json.Marshal(&m)
	if err != nil {
		return nil, err
	}
	cfg := &a.system.cfg
	return decisionlog.EncodeDecided(&decisionlog.Decided{
		Node: decisionlog.ID(cfg.Incarnation), Write: decisionlog.ID(id), Previous: a.storing.fence.Last(), Config: a.system.config,
		Software: cfg.Software, Rejoined: a.storing.apart, Entry: d.Entry(), Memory: text,
	})
}

// onWritten settles a write, or finds out what became of it.
func (a *queueActor) onWritten(m *written) {
	s := &a.storing
	if s.under == nil || s.under.id != m.id {
		return // given up
	}
	switch m.how {
	case telemetry.WrittenStored:
		s.fence.Stored(m.sequence)
		a.accepted()
	case telemetry.WrittenAway:
		s.fence.Forget()
		a.away("the stream of decisions is away")
	default:
		s.fence.Doubt()
		if m.how == telemetry.WrittenRefused {
			a.cell.count(func(n *Counts) { n.DecisionsRefused++ })
			a.system.cfg.Adviser.DecisionRefused(a.device.name, a.name, s.under.decision.Decision)
		} else {
			a.cell.count(func(n *Counts) { n.DecisionsDoubted++ })
			a.stand(StandsInDoubt, "the stream of decisions did not answer")
		}
		a.lookUp()
	}
}

// lookUp asks for the queue's last message: to clear up a doubt, or, alone, to join again.
func (a *queueActor) lookUp() {
	id := uint64(0)
	if u := a.storing.under; u != nil {
		id = u.id
	}
	a.storing.asking = true
	a.system.cfg.Store.Last(a.device.name, a.name, func(last *telemetry.Stored, err error) {
		a.post(&lookedUp{id, last, err})
	})
}

// onLookedUp clears up a doubt: the decision holds, or what another message left is taken over.
// A process that was alone goes on from the message, if it does not lack what is known here.
func (a *queueActor) onLookedUp(m *lookedUp) {
	s := &a.storing
	if u := s.under; u == nil && (m.id != 0 || !s.alone) || u != nil && u.id != m.id {
		return // an answer to a question that is no longer asked
	}
	s.asking = false
	left, err := (*inheritance)(nil), m.err
	if err == nil && m.last != nil {
		left, err = a.read(m.last)
	}
	if m.err != nil || errors.Is(err, decisionlog.ErrNewer) {
		a.system.complain.Warn("it is not known which decision of the queue is the last", a.device.name, a.name, "error", err)
		if s.under != nil {
			a.away(err.Error())
		}
		return
	}
	mine := left != nil && s.under != nil && uint64(left.decided.Write) == s.under.id
	var sequence, id uint64
	switch {
	case m.last == nil:
		s.apart = s.apart || a.number > 0
	case err != nil:
		a.system.complain.Warn("the last decision in the stream is damaged; this process goes on from what it knows", a.device.name, a.name, "sequence", m.last.Sequence, "error", err)
		sequence, s.apart = m.last.Sequence, true
		a.number = max(a.number, m.last.Recommendation.Decision)
	default:
		sequence, id = m.last.Sequence, uint64(left.decided.Write)
		if !mine {
			a.adopt(m.last, left) // before it counts as known: a panic here leaves it unknown
		}
	}
	s.fence.Read(sequence, id)
	switch {
	case mine:
		a.accepted()
	case s.under != nil:
		a.overtaken(left)
	default:
		s.alone = false
		a.dispatch(a.cell.requestDecision()) // the store gets what was decided alone
	}
}

// accepted ends a write that the store has.
func (a *queueActor) accepted() {
	u := a.storing.under
	u.decision.fenced = true
	a.stored.Store(u.decision)
	a.storing.alone, a.storing.apart = false, false
	a.timed(u.view)
	if a.storing.standing.State == StandsBy {
		a.cell.count(func(n *Counts) { n.TakeOvers++ })
		a.system.cfg.Adviser.TookOver(a.device.name, a.name, u.decision.Decision)
	}
	a.stand(StandsStored, "")
	a.hold(u.decision)
	a.policy.unannounced = false // the server tells subscribers
	a.cell.count(func(n *Counts) { n.Recommendations++ })
	a.finish(u.decision, u.view)
	a.endWrite()
}

// overtaken ends a write that does not hold, because of another one that may be known. What neither
// that one nor those that came by since have seen is decided on now.
func (a *queueActor) overtaken(by *inheritance) {
	v := a.storing.under.view
	a.endWrite() // which follows what came by
	if by != nil && len(v.replies) == 0 && a.stored.Load().answers(&v.records) {
		a.cell.drop()
	} else {
		a.cell.abandon()
	}
	a.dispatch(a.cell.lostWakes() & wakeDecision)
}

// answers says whether a decision has seen the records.
func (d *decision) answers(records *SequenceRange) bool {
	return d != nil && records.Incarnation == d.Records.Incarnation && records.Last <= d.Records.Last
}

// away ends a write while the store cannot be asked. A local engine goes on by its own decisions;
// for others nothing is decided until the store is back.
func (a *queueActor) away(why string) {
	u := a.storing.under
	if u.decision.local {
		a.storing.fence.Forget()
		a.stand(StandsAlone, why)
		a.endWrite()
		a.holdAlone(u.decision, u.view)
		return
	}
	a.stand(StandsInDoubt, why)
	if !a.storing.fence.Busy() { // nothing was sent
		a.endWrite()
		a.cell.abandon()
	}
}

// holdAlone has a decision count in this process only.
func (a *queueActor) holdAlone(d *decision, v *view) {
	a.storing.alone, a.storing.apart = true, true
	a.cell.count(func(n *Counts) { n.DecisionsAlone++ })
	a.hold(d)
	a.finish(d, v)
}

// endWrite ends the write under way, and takes up what waited for it.
func (a *queueActor) endWrite() {
	s := &a.storing
	s.under, s.asking = nil, false
	a.busy.Add(-1)
	for len(s.waiting) > 0 {
		m := s.waiting[0]
		s.waiting = s.waiting[1:]
		a.receive(m)
	}
	s.waiting = nil
	a.follow()
}

// tryAgain is what a beat has to do with the store.
func (a *queueActor) tryAgain() {
	s := &a.storing
	switch {
	case a.system.cfg.Store == nil:
	case s.asking:
	case s.under != nil && s.fence.Reading(), s.under == nil && s.alone:
		a.lookUp()
	case s.under == nil:
		a.dispatch(a.cell.lostWakes() & wakeDecision)
	}
}

// newestTold is the newest decision that subscribers know: with a store the newest that it has.
func (f *family) newestTold() *decision {
	if f.system.cfg.Store != nil {
		return f.stored.Load()
	}
	return f.latest.Load()
}

// repeated is the decision that a repetition tells. It is nil in a process that does not decide
// for the queue.
func (f *family) repeated() *decision {
	if owns := f.system.cfg.Owns; owns != nil && !owns(f.device.name) {
		return nil
	}
	return f.newestTold()
}

// adopt takes over what another message left: what decides next, and what is launched.
func (a *queueActor) adopt(m *telemetry.Stored, left *inheritance) {
	number, known := left.decided.Entry.Decision, a.storing.fence.Last()
	switch {
	case m.Sequence == known && number <= a.number:
		return // it is what this process went on from
	case m.Sequence < known && number <= a.number:
		a.storing.apart = true // a stream that was restored: it lacks what is known here
		return
	}
	a.storing.apart = a.storing.apart && a.number > number // numbers that were used alone are not used again
	a.number = max(number, a.number)
	a.topology.Hysteresis, a.policy.Hysteresis, a.recent = left.memory.Topology, left.memory.Plan, left.memory.Recent
	if left.memory.Tuned != nil && a.suggested.Load() == nil {
		view := left.memory.Tuned.View()
		a.suggested.Store(&view)
	}
	if !a.device.view.Load().local {
		a.device.recall(&left.memory.Device)
		a.hasSlots(left.decided.Entry.Request.QueueLen > 0 && time.Since(time.Unix(0, m.Header.SentNs)) < recently)
	}
	d := left.decision(m)
	a.stored.Store(d)
	a.show(d)
	a.dispatch(a.cell.recall(&left.memory.Cell, &left.said, time.Now()))
	a.settleAnew(&left.memory.Cell)
	if w := a.device.worker.Load(); w != nil {
		a.system.shell.send(w.self, planned{})
	}
}

// recallFirst has a queue that nobody has mentioned here go on from what a message says of it, and
// its worker's other queues too, from what it says of the device. The actor adopts the rest.
func (f *family) recallFirst(m *telemetry.Stored) {
	left, err := f.read(m)
	if err != nil {
		return // the actor says so
	}
	if !f.device.view.Load().local {
		f.device.recall(&left.memory.Device)
	}
	f.dispatch(f.cell.recallFirst(&left.memory.Cell, &left.said, time.Now()))
}
