package actors

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"math"
	"slices"
	"time"

	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// Counts counts what happened since the start.
type Counts struct {
	Records          uint64 `json:"records"` // accepted
	Folded           uint64 `json:"folded"`  // triggers that a newer one joined before anyone looked
	Decisions        uint64 `json:"decisions"`
	Recommendations  uint64 `json:"recommendations"` // published, without heartbeats
	Heartbeats       uint64 `json:"heartbeats"`
	Launches         uint64 `json:"launches"`        // reported, by local and remote workers
	FailedLaunches   uint64 `json:"failed_launches"` // part of Launches
	SlotsSubmitted   uint64 `json:"slots_submitted"` // taken by a local engine
	SlotsExecuted    uint64 `json:"slots_executed"`
	SlotsFaulted     uint64 `json:"slots_faulted"`
	DeviceNs         uint64 `json:"device_ns"`         // that launches had the device
	PlansChanged     uint64 `json:"plans_changed"`     // decisions whose plan launches something else than the queue's plan before it
	TopologySwitches uint64 `json:"topology_switches"` // decisions that changed the topology
	SwitchesHeld     uint64 `json:"switches_held"`     // decisions in which hysteresis kept the topology
	DecisionsRefused uint64 `json:"decisions_refused"` // that the store had another in place of
	DecisionsDoubted uint64 `json:"decisions_doubted"` // of which the store did not say whether it has them
	DecisionsAlone   uint64 `json:"decisions_alone"`   // that hold here only, as the store was away
	TakeOvers        uint64 `json:"take_overs"`        // times a queue was decided for here after another process had decided
	Stops            uint64 `json:"stops"`             // times a queue was stopped after repeated panics
	Halts            uint64 `json:"halts"`             // times a queue was stopped after launches that failed in a row
}

func (c *Counts) add(o Counts) {
	c.Records += o.Records
	c.Folded += o.Folded
	c.Decisions += o.Decisions
	c.Recommendations += o.Recommendations
	c.Heartbeats += o.Heartbeats
	c.Launches += o.Launches
	c.FailedLaunches += o.FailedLaunches
	c.SlotsSubmitted += o.SlotsSubmitted
	c.SlotsExecuted += o.SlotsExecuted
	c.SlotsFaulted += o.SlotsFaulted
	c.DeviceNs += o.DeviceNs
	c.PlansChanged += o.PlansChanged
	c.TopologySwitches += o.TopologySwitches
	c.SwitchesHeld += o.SwitchesHeld
	c.DecisionsRefused += o.DecisionsRefused
	c.DecisionsDoubted += o.DecisionsDoubted
	c.DecisionsAlone += o.DecisionsAlone
	c.TakeOvers += o.TakeOvers
	c.Stops += o.Stops
	c.Halts += o.Halts
}

// Stats describes the whole system. Counts include forgotten queues.
type Stats struct {
	Counts
	Queues         int               `json:"queues"`          // known
	QueuesStopped  int               `json:"queues_stopped"`  // part of Queues that rest after repeated panics
	Workers        int               `json:"workers"`         // known
	SlotsPending   uint64            `json:"slots_pending"`   // submitted and not finished
	RecordsRefused uint64            `json:"records_refused"` // with an error
	Refusals       map[string]uint64 `json:"refusals"`        // part of RecordsRefused by reason
	ReportsUntuned uint64            `json:"reports_untuned"` // launch reports that the tuner refused
	EchoesDropped  uint64            `json:"echoes_dropped"`  // own launch reports and announcements that came back
	DeadLetters    uint64            `json:"dead_letters"`    // messages to actors that were gone
	Restarts       uint64            `json:"restarts"`        // actors restarted after a panic
	Exploring      Exploring         `json:"exploring"`
	Standing       map[string]int    `json:"standing,omitempty"` // with a store: queues, by how their decisions count
	Unstored       []Unstored        `json:"unstored,omitempty"` // at most maxUnstored of them, the longest first
}

// Unstored is a queue whose decisions are not stored.
type Unstored struct {
	Worker string `json:"worker"`
	Queue  string `json:"queue"`
	Standing
}

const maxUnstored = 32

// Exploring says what tuners try out, over all queues.
type Exploring struct {
	Queues    map[string]int `json:"queues"`     // with tuners, by whether they do, and if not why
	Looks     int            `json:"looks"`      // since the start of each tuner, or the last change of cost
	LostMs    float64        `json:"lost_ms"`    // that looks took longer than usual launches
	AllowedMs float64        `json:"allowed_ms"` // that they may
}

// add counts a queue of which a launch was measured.
func (x *Exploring) add(of *session.Exploring) {
	if of == nil || of.State == "" {
		return
	}
	if x.Queues == nil {
		x.Queues = make(map[string]int)
	}
	x.Queues[of.State]++
	x.Looks += of.Looks
	x.LostMs += of.LostNs / 1e6
	x.AllowedMs += of.AllowedNs / 1e6
}

// QueueStatus is one known queue.
type QueueStatus struct {
	Worker, Queue  string
	Decided        bool // Recommendation is valid
	Recommendation telemetry.Recommendation
	Counts
	HeardAt      time.Time          // when the newest record of any kind was taken in; zero: none was
	DecidedAt    time.Time          // when the recommendation's decision was made, or taken over; zero: there is none
	Applied      telemetry.Geometry // of the launch that was reported last
	SlotsPending uint64             // submitted and not finished
	Halted       bool               // launches nothing after launches that failed in a row
	Stopped      bool               // rests after repeated panics; the recommendation's Error says so
	Standing     Standing
}

// Backlogs visits the queues of a local worker of which no publisher tells the length: how many of
// their slots are submitted and not finished.
func (s *System) Backlogs(worker string, visit func(queue string, slots uint32)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	d := s.devices[worker]
	if d == nil {
		return
	}
	for name, f := range d.families {
		if slots, untold := f.cell.untoldBacklog(s.cfg.Incarnation); untold {
			visit(name, slots)
		}
	}
}

// Stats returns the counts of all queues.
func (s *System) Stats() Stats {
	s.mu.RLock()
	families, retired, workers := slices.Clone(s.roster), s.retired, len(s.devices)
	s.mu.RUnlock()
	out := Stats{
		Counts: retired, Queues: len(families), Workers: workers,
		QueuesStopped: int(s.stopped.Load()),
		EchoesDropped: s.echoes.Load(), ReportsUntuned: s.reportsUntuned.Load(),
		DeadLetters: s.shell.deadLetters.Load(), Restarts: s.shell.restarts.Load(),
	}
	out.RecordsRefused, out.Refusals = s.refusalCounts()
	for _, f := range families {
		out.Counts.add(f.cell.totals())
		out.Exploring.add(f.exploring.Load())
		out.SlotsPending += uint64(f.pending.Load())
		out.stands(f)
	}
	slices.SortFunc(out.Unstored, func(a, b Unstored) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Queue, b.Queue))
	})
	out.Unstored = out.Unstored[:min(len(out.Unstored), maxUnstored)]
	return out
}

// stands counts how a queue's decisions count.
func (s *Stats) stands(f *family) {
	now := f.standing.Load()
	if now == nil {
		return
	}
	if s.Standing == nil {
		s.Standing = make(map[string]int)
	}
	s.Standing[now.State]++
	if now.State == StandsInDoubt || now.State == StandsAlone {
		s.Unstored = append(s.Unstored, Unstored{f.device.name, f.name, *now})
	}
}

// Queues returns the known queues, ordered by worker and queue.
func (s *System) Queues() []QueueStatus {
	s.mu.RLock()
	families := slices.Clone(s.roster)
	s.mu.RUnlock()
	rows := make([]QueueStatus, 0, len(families))
	for _, f := range families {
		row := QueueStatus{
			Worker: f.device.name, Queue: f.name,
			SlotsPending: uint64(f.pending.Load()), Stopped: f.quarantine.Load() != nil,
		}
		f.cell.status(&row)
		if r := f.latest.Load(); r != nil {
			row.Decided, row.DecidedAt, row.Recommendation = true, r.at, *f.recommendation(r)
			row.Halted = f.gaveUp(r)
		}
		if now := f.standing.Load(); now != nil {
			row.Standing = *now
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b QueueStatus) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Queue, b.Queue))
	})
	return rows
}

// Standing is how a queue's decisions count.
type Standing struct {
	State string    `json:"state"`        // one of the Stands words, "" before the first decision or without a store
	Why   string    `json:"why,omitzero"` // empty where nothing is wrong
	Since time.Time `json:"since"`        // of the state
}

// How a queue's decisions count.
const (
	StandsStored  = "stored"   // they hold when the store has them
	StandsBy      = "standby"  // another process decides
	StandsInDoubt = "in doubt" // the store does not say what it has
	StandsAlone   = "alone"    // the store is away, and a local engine goes on by decisions that it lacks
)

// stand notes how decisions count from now on.
func (a *queueActor) stand(state, why string) {
	if now := &a.storing.standing; now.State != state || now.Why != why {
		since := now.Since
		if now.State != state {
			since = time.Now()
		}
		*now = Standing{State: state, Why: why, Since: since}
		shown := *now
		a.standing.Store(&shown)
		if state == StandsAlone || state == StandsInDoubt {
			a.system.complain.Warn("decisions are not stored: "+state, a.device.name, a.name, "error", why)
		}
	}
}

// refuse counts a record that was refused, and logs it.
func (s *System) refuse(worker, queue string, r *telemetry.Record, err error) error {
	reason := err
	for next := errors.Unwrap(reason); next != nil; next = errors.Unwrap(reason) {
		reason = next
	}
	s.refusalsMu.Lock()
	s.refusals[reason.Error()]++
	s.refusalsMu.Unlock()
	if !telemetry.ValidToken(worker) || queue != "" && !telemetry.ValidToken(queue) {
		worker, queue = "", "" // not a name
	}
	s.complain.Warn("record refused: "+reason.Error(), worker, queue, "kind", r.Kind, "incarnation", r.Incarnation, "error", err)
	return err
}

func (s *System) refusalCounts() (all uint64, by map[string]uint64) {
	s.refusalsMu.Lock()
	defer s.refusalsMu.Unlock()
	for _, n := range s.refusals {
		all += n
	}
	if all > 0 {
		by = maps.Clone(s.refusals)
	}
	return all, by
}

// tellLaunch says how long a reported launch had the device, and logs what went wrong.
func (f *family) tellLaunch(l *telemetry.Launch) {
	f.system.cfg.Meter.Launched(time.Duration(min(deviceNs(l), math.MaxInt64)))
	if l.Status != telemetry.LaunchOK {
		f.system.complain.Warn("launch failed", f.device.name, f.name, "launch", l.Launch, "error", l.Error)
	}
	if l.Faulted > 0 {
		f.system.complain.Warn("slots faulted; their done records say which and why", f.device.name, f.name, "launch", l.Launch, "slots", l.Faulted)
	}
}

// untuned counts a launch report that the tuner refused, and logs it. Of a worker of this
// process that is no more than an odd reading of its own clock.
func (f *family) untuned(reason error) {
	f.system.reportsUntuned.Add(1)
	level := slog.LevelWarn
	if f.device.view.Load().local {
		level = slog.LevelDebug
	}
	f.system.complain.Say(level, "an implausible launch is not used for tuning", f.device.name, f.name, "error", reason)
}
