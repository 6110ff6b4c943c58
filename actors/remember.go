package actors

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"ringmaster/actors/order"
	"ringmaster/actors/stage"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
)

// memory is what the next decision of a queue builds on: with it, a process that did not make
// the decision before makes the next one as its maker would have.
type memory struct {
	Edition  uint64                                 `json:"edition,omitzero"` // of the plan
	Topology stage.Hysteresis[policy.TopologyState] `json:"topology,omitzero"`
	Plan     stage.Hysteresis[policy.PlanState]     `json:"plan,omitzero"`
	Recent   stage.Recent                           `json:"recent,omitempty"` // the newest carriedRuns
	Cell     cellMemory                             `json:"cell,omitzero"`
	Device   deviceMemory                           `json:"device,omitzero"`
	Tuned    *session.Kept                          `json:"tuned,omitempty"`
}

// carriedRuns is how many runs of recent decisions are carried: launches of a remote worker
// that are reported later than that many decisions settle nothing after a restart.
const carriedRuns = 8

// cellMemory is what a cell had when a decision took it.
type cellMemory struct {
	Sources [4]order.Source `json:"sources,omitzero"` // of queue, graph, priority and launch records
	// Said is what publishers said and what holds of it: up to one queue, graph and priority
	// record, as the wire has them.
	Said             []byte         `json:"said,omitempty"`
	Seen             SequenceRange  `json:"seen,omitzero"` // records that the last decision named
	Requeues         uint64         `json:"requeues,omitzero"`
	Executed         uint64         `json:"executed,omitzero"`
	RequeuesReported uint64         `json:"requeues_reported,omitzero"`
	ExecutedReported uint64         `json:"executed_reported,omitzero"`
	RequeuedHits     uint64         `json:"requeued_hits,omitzero"`
	Outcomes         []outcome      `json:"outcomes,omitempty"` // reported and not settled: they settle behind the decision
	Ran              bool           `json:"ran,omitzero"`       // a launch was reported
	Compiled         bool           `json:"compiled,omitzero"`
	History          policy.History `json:"history,omitzero"`
}

// deviceMemory is what a worker elsewhere said of its device.
type deviceMemory struct {
	Limits       policy.Limits `json:"limits,omitzero"`
	MemoryBudget uint64        `json:"memory_budget,omitzero"`
	LeaseSlots   uint32        `json:"lease_slots,omitzero"`
	Identity     string        `json:"identity,omitzero"`
	Author       uint64        `json:"author,string,omitzero"` // incarnation whose launches were reported
}

// remember is what the cell has; c.mu is held.
func (c *cell) remember() cellMemory {
	m := cellMemory{
		Sources: c.sources, Seen: c.seen,
		Requeues: c.requeues, Executed: c.executed, RequeuesReported: c.requeuesReported, ExecutedReported: c.executedReported,
		RequeuedHits: c.lastRequeuedHits, Outcomes: slices.Clone(c.outcomes), Ran: c.ran(), Compiled: c.compiled, History: c.history,
	}
	said := telemetry.Header{Incarnation: 1, Seq: 1} // of whom is in Sources
	if c.queue.Has != 0 {
		m.Said = telemetry.Append(m.Said, telemetry.EncodingArray, said, &c.queue)
	}
	if c.graph.Has != 0 {
		m.Said = telemetry.Append(m.Said, telemetry.EncodingArray, said, &c.graph)
	}
	if c.priority.Has != 0 {
		m.Said = telemetry.Append(m.Said, telemetry.EncodingArray, said, &c.priority)
	}
	return m
}

// ran says whether a launch was reported, here or to who decided before; c.mu is held.
func (c *cell) ran() bool { return c.counts.Launches > 0 || c.ranElsewhere }

// said is what publishers said, decoded.
type said struct {
	queue    telemetry.Queue
	graph    telemetry.Graph
	priority telemetry.Priority
}

func (m *cellMemory) decode() (s said, err error) {
	if len(m.Said) == 0 {
		return said{}, nil
	}
	if _, err := telemetry.Check(m.Said, telemetry.DefaultTelemetryLimits); err != nil {
		return said{}, err
	}
	var decoder telemetry.Decoder
	var r telemetry.Record
	for decoder.Reset(m.Said); ; {
		switch err := decoder.Next(&r); {
		case errors.Is(err, io.EOF):
			return s, nil
		case err != nil:
			return said{}, err
		}
		switch r.Kind {
		case telemetry.KindQueue:
			s.queue = r.Queue
		case telemetry.KindGraph:
			s.graph = r.Graph
		case telemetry.KindPriority:
			s.priority = r.Priority
		default:
			return said{}, fmt.Errorf("%w: %v", ErrKind, r.Kind)
		}
	}
}

// recall takes over what another process knew of the queue, where it knew more. What was folded
// here and not there stays, and asks for a decision still. It asks the diffusion actor to look if
// the priority is another.
func (c *cell) recall(m *cellMemory, s *said, now time.Time) wakes {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recallLocked(m, s, now)
}

// recallFirst is recall in a cell that knows nothing yet: the first record after it is then folded
// into what its predecessors said, whenever the actor gets to the message.
func (c *cell) recallFirst(m *cellMemory, s *said, now time.Time) wakes {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.deciding || c.walked || c.hasBacklog
	for i := range c.sources {
		known = known || c.sources[i].Known()
	}
	if known {
		return 0
	}
	return c.recallLocked(m, s, now)
}

func (c *cell) recallLocked(m *cellMemory, s *said, now time.Time) (w wakes) {
	requeues := addSaturating(m.Requeues, c.requeuesBeyond(m))
	for i := range m.Sources {
		here, there := &c.sources[i], &m.Sources[i]
		switch {
		case behind(here, there):
			*here = *there
			here.Last = now
			w |= c.replace(telemetry.KindQueue+telemetry.Kind(i), m, s)
		case here.Known() && here.Incarnation == there.Incarnation:
			w |= c.underlay(telemetry.KindQueue+telemetry.Kind(i), s)
		}
	}
	if m.History.Launches() > c.history.Launches() {
		c.history, c.compiled = m.History, m.Compiled
	}
	c.ranElsewhere = c.ranElsewhere || m.Ran
	// What both have seen of the counters' growth is decided; what only this process has seen is not.
	c.requeues, c.requeuesDecided = max(c.requeues, requeues), m.Requeues
	c.executed = max(c.executed, m.Executed)
	if c.seen.within(&m.Seen) { // else a decision in hand has seen more, and is made again
		c.seen = m.Seen
	}
	c.pacer.triggers = 0 // another process has answered them
	switch {
	case c.records.within(&m.Seen):
		c.records = SequenceRange{}
		c.dirty = c.dirty && len(c.replies) > 0
	case !c.dirty: // they came before the queue was known
		w |= c.trigger()
	}
	return w
}

// replace takes over what the maker of a message knew of one kind; c.mu is held.
func (c *cell) replace(kind telemetry.Kind, m *cellMemory, s *said) (w wakes) {
	switch kind {
	case telemetry.KindQueue:
		c.queue, c.requeuesReported, c.executedReported = s.queue, m.RequeuesReported, m.ExecutedReported
		c.target.Store(c.queue.LatencyTargetMs)
	case telemetry.KindGraph:
		c.graph, c.lastRequeuedHits = s.graph, m.RequeuedHits
	case telemetry.KindPriority:
		c.priority = s.priority
		w = c.rank()
	}
	return w
}

// underlay puts what a publisher said to the maker of a message, and not here, under what it has
// said here since; c.mu is held.
func (c *cell) underlay(kind telemetry.Kind, s *said) (w wakes) {
	switch kind {
	case telemetry.KindQueue:
		q := s.queue
		q.Merge(&c.queue)
		c.queue = q
		c.target.Store(q.LatencyTargetMs)
	case telemetry.KindGraph:
		g := s.graph
		g.Merge(&c.graph)
		c.graph = g
	case telemetry.KindPriority:
		p := s.priority
		if p.Merge(&c.priority); p != c.priority {
			c.priority = p
			w = c.rank()
		}
	}
	return w
}

// requeuesBeyond is by how much the publisher's counts have grown since another process heard of
// them; c.mu is held.
func (c *cell) requeuesBeyond(m *cellMemory) (n uint64) {
	grown := func(kind telemetry.Kind, here, there uint64) {
		if c.source(kind).PublishedBy(m.Sources[kind-telemetry.KindQueue].Incarnation) && here > there {
			n = addSaturating(n, here-there)
		}
	}
	grown(telemetry.KindQueue, c.requeuesReported, m.RequeuesReported)
	grown(telemetry.KindGraph, c.lastRequeuedHits, m.RequeuedHits)
	return n
}

// reportsOf is up to which record another process knew of the reports of launches that this one
// knows: all, if they are another publisher's.
func (c *cell) reportsOf(m *cellMemory) (seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	there := &m.Sources[telemetry.KindLaunch-telemetry.KindQueue]
	if there.Known() && !there.PublishedBy(c.source(telemetry.KindLaunch).Incarnation) {
		return math.MaxUint64
	}
	return there.Seq
}

// within says that nothing is newer than the records that a decision has named.
func (r *SequenceRange) within(seen *SequenceRange) bool {
	return r.Last == 0 || r.Incarnation == seen.Incarnation && r.Last <= seen.Last
}

// behind says that another process has heard more of a publisher than this one.
func behind(here, there *order.Source) bool {
	return there.Known() && (!here.Known() || here.Incarnation == there.Incarnation && here.Seq < there.Seq)
}

// remember is what is known of a worker elsewhere.
func (d *device) remember() (m deviceMemory) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v := d.view.Load(); v.known && !v.local {
		m = deviceMemory{Limits: v.limits, MemoryBudget: v.memoryBudget, LeaseSlots: v.lease.Slots, Identity: v.identity, Author: d.author}
	}
	return m
}

// recall takes what a worker elsewhere said of its device, if it has said nothing here yet.
func (d *device) recall(m *deviceMemory) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := *d.view.Load()
	if !v.known && m.Limits != (policy.Limits{}) {
		v.known, v.limits, v.memoryBudget, v.lease.Slots, v.identity = true, m.Limits, m.MemoryBudget, m.LeaseSlots, m.Identity
	}
	if v.known && !v.local && !v.reporting && m.Author != 0 {
		v.reporting, d.author = true, m.Author
	}
	d.view.Store(&v)
}

// inheritance is what a message of the store left to whoever decides next.
type inheritance struct {
	decided *decisionlog.Decided
	memory  memory
	said    said
}

// read reads a message of the queue. Whoever may write to the store may write anything, so what
// no process can have written is refused.
func (f *family) read(m *telemetry.Stored) (*inheritance, error) {
	decided, err := decisionlog.DecodeDecided(m.Recommendation.Decided)
	if err != nil {
		return nil, err
	}
	left := &inheritance{decided: decided}
	if err := decided.Recall(&left.memory); err != nil {
		return nil, fmt.Errorf("what the next decision builds on is damaged: %w", err)
	}
	e := &decided.Entry
	switch most := f.system.cfg.Policy.Sizing.MaxInFlight; {
	case e.Worker != f.device.name || e.Queue != f.name:
		return nil, fmt.Errorf("the message is of queue %s of worker %s", e.Queue, e.Worker)
	case e.Decision != m.Recommendation.Decision:
		return nil, fmt.Errorf("the message is of decision %d, and says %d inside", m.Recommendation.Decision, e.Decision)
	case e.Plan.ReasonCount > policy.MaxReasons || e.Plan.InFlight > most:
		return nil, fmt.Errorf("the plan has %d reasons and %d launches in flight, at most %d and %d are possible", e.Plan.ReasonCount, e.Plan.InFlight, policy.MaxReasons, most)
	}
	if err := left.memory.check(e.Decision); err != nil {
		return nil, err
	}
	left.said, err = left.memory.Cell.decode()
	return left, err
}

var errMemory = errors.New("what the next decision builds on contradicts itself")

// check refuses what is no memory behind a decision.
func (m *memory) check(decision uint64) error {
	last := uint64(0)
	for _, run := range m.Recent {
		if run.First <= last || run.Last < run.First || run.Last > decision {
			return fmt.Errorf("%w: its recent decisions %d to %d", errMemory, run.First, run.Last)
		}
		last = run.Last
	}
	switch {
	case len(m.Recent) > carriedRuns || len(m.Cell.Outcomes) > maxOutcomes:
		return fmt.Errorf("%w: %d runs of decisions and %d launches", errMemory, len(m.Recent), len(m.Cell.Outcomes))
	case !m.Topology.Within(decision) || !m.Plan.Within(decision):
		return fmt.Errorf("%w: a stage has decided more than the queue", errMemory)
	}
	return nil
}
