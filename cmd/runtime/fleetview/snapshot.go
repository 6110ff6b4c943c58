package fleetview

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Source is where rows come from, as they are now. Its methods may be called by several goroutines.
type Source interface {
	Look() Snapshot
	Detail(worker, queue string) (Detail, bool)
}

// Snapshot is all rows at a moment.
type Snapshot struct {
	At       time.Time `json:"at"`
	Queues   []Queue   `json:"queues"`   // by worker and name
	Beyond   int       `json:"beyond"`   // queues that were heard and have no row
	Workers  []Worker  `json:"workers"`  // by name
	Runtimes []Runtime `json:"runtimes"` // by process
	Events   []Event   `json:"events"`   // the newest last
	Strays   Figure    `json:"refused_without_a_queue_per_second"`
	Stray    string    `json:"refused_without_a_queue,omitempty"` // the last of them
	Unheard  []string  `json:"unheard,omitempty"`                 // what this process is not told, and why
}

// Queue is the row of a queue. Rates are per second over the last five, latencies in seconds over the last minute.
type Queue struct {
	Worker   string `json:"worker"`
	Queue    string `json:"queue"`
	State    State  `json:"state"`
	Why      string `json:"why"`
	Decision uint64 `json:"decision,string"`
	Plan     Plan   `json:"plan"`
	Length   uint32 `json:"queue_len"`
	Age      Figure `json:"age_s"`     // since the recommendation came or was repeated
	Left     Figure `json:"expires_s"` // until it expires; negative: since it has
	Wait     Figure `json:"wait_s"`    // what waits, by the slots a second that are executed
	Stored   Figure `json:"batches_stored"`
	Records  Figure `json:"records_per_second"`
	Decides  Figure `json:"decisions_per_second"`
	Launches Figure `json:"launches_per_second"`
	Slots    Figure `json:"slots_per_second"`
	Batches  Figure `json:"batches_per_second"`
	Refused  Figure `json:"refused_per_second"`
	Refusals uint64 `json:"refused"`
	Answer50 Figure `json:"answer_p50_s"` // from a record's sending to its recommendation's arrival here
	Answer99 Figure `json:"answer_p99_s"`
	Done50   Figure `json:"done_p50_s"` // from a batch's submission to its done record's arrival here
	Done99   Figure `json:"done_p99_s"`
	Device   Figure `json:"device_share"` // of its time that this queue's launches had the device
	Band     string `json:"band"`         // a letter for each ten seconds, the newest last
}

// Worker is the row of a worker.
type Worker struct {
	Name      string `json:"name"`
	State     State  `json:"state"`
	Why       string `json:"why"`
	Device    string `json:"device"`
	Age       Figure `json:"announced_s"` // since the last announcement
	Queues    int    `json:"queues"`
	Wrong     int    `json:"queues_wrong"`
	Launches  Figure `json:"launches_per_second"`
	Failures  Figure `json:"failed_launches_per_second"`
	Slots     Figure `json:"slots_per_second"`
	Busy      Figure `json:"device_share"`   // of its time that launches had the device
	Ring      *Ring  `json:"ring,omitempty"` // as its process says
	DecidedBy string `json:"decided_by,omitempty"`
}

// Runtime is the row of a process that decides.
type Runtime struct {
	Process string            `json:"process"`
	ID      string            `json:"id"`
	State   State             `json:"state"`
	Why     string            `json:"why"`
	Version string            `json:"version"`
	Worker  string            `json:"worker"`
	Role    string            `json:"role"`
	Queues  int               `json:"queues"`
	Age     Figure            `json:"answered_s"`
	Records Figure            `json:"records_per_second"`
	Decides Figure            `json:"decisions_per_second"`
	Refused Figure            `json:"refused_per_second"`
	Reasons map[string]uint64 `json:"refused_by_reason,omitempty"`
}

// Look is all rows at a moment. What has gone wrong since the look before, or right again, is noted in the events.
func (v *View) Look(now time.Time) Snapshot {
	v.forget(now)
	s := Snapshot{At: now, Beyond: len(v.beyond), Strays: v.strays.perSecond(now, v.began), Stray: v.stray, Unheard: v.unknown}
	s.Queues = make([]Queue, 0, len(v.queues))
	wrong, queues := make(map[string]int), make(map[string]int)
	for _, q := range v.queues {
		s.Queues = append(s.Queues, v.row(now, q))
	}
	slices.SortFunc(s.Queues, func(a, b Queue) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Queue, b.Queue))
	})
	for i := range s.Queues { // in order, so that the events of one look have one too
		row := &s.Queues[i]
		queues[row.Worker]++
		if row.State.Wrong() {
			wrong[row.Worker]++
		}
		v.turned(now, row.Worker+"."+row.Queue, &v.queues[queueName{row.Worker, row.Queue}].bad, row.State, row.Why)
	}
	for _, name := range slices.Sorted(maps.Keys(v.workers)) {
		w := v.workers[name]
		row := v.workerRow(now, w)
		row.Queues, row.Wrong = queues[name], wrong[name]
		v.turned(now, name, &w.bad, row.State, row.Why)
		s.Workers = append(s.Workers, row)
	}
	for _, id := range slices.Sorted(maps.Keys(v.runtimes)) {
		r := v.runtimes[id]
		row := r.row(now)
		v.turned(now, row.Process, &r.bad, row.State, row.Why)
		s.Runtimes = append(s.Runtimes, row)
	}
	slices.SortFunc(s.Runtimes, func(a, b Runtime) int { return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.ID, b.ID)) })
	s.Events = slices.Clone(v.events)
	return s
}

// turned notes that something went wrong, went wrong otherwise, or right again.
func (v *View) turned(now time.Time, name string, was *State, is State, why string) {
	switch {
	case is == *was || !is.Wrong() && !was.Wrong():
	case is.Wrong():
		v.note(Event{At: now, State: is, Name: name, Text: why})
	default:
		v.note(Event{At: now, State: OK, Name: name, Text: "is right again, was: " + was.String()})
	}
	*was = is
}

func (v *View) row(now time.Time, q *queue) Queue {
	row := Queue{
		Worker: q.worker, Queue: q.name, Decision: q.decision, Plan: q.plan, Length: q.length, Stored: q.stored,
		Records: q.records.perSecond(now, v.began), Decides: q.decisions.perSecond(now, v.began), Refused: q.refusals.perSecond(now, v.began),
		Batches: q.batches.perSecond(now, v.began), Refusals: q.refusals.total, Band: q.past.band(now),
	}
	row.State, row.Why = q.state(now, v.began)
	if !q.advised {
		row.Length = q.reportedLen
	} else {
		row.Age, row.Left = known(now.Sub(q.at).Seconds()), known(q.until.Sub(now).Seconds())
	}
	if q.launches.total > 0 { // else nobody here hears its launches
		row.Launches, row.Slots = q.launches.perSecond(now, v.began), q.slots.perSecond(now, v.began)
		row.Device = deviceShare(now, v.began, &q.busyNs, q.timed)
		if row.Slots.Known && row.Slots.Value > 0 || row.Length == 0 {
			row.Wait = known(float64(row.Length) / max(row.Slots.Value, 1))
		}
	}
	answer, done := q.answer.quantiles(now, 500, 990), q.done.quantiles(now, 500, 990)
	row.Answer50, row.Answer99, row.Done50, row.Done99 = answer[0], answer[1], done[0], done[1]
	return row
}

func (v *View) workerRow(now time.Time, w *worker) Worker {
	row := Worker{Name: w.name, Device: w.device, Launches: w.launches.perSecond(now, v.began), Slots: w.slots.perSecond(now, v.began), Failures: w.failures.perSecond(now, v.began)}
	row.State, row.Why = w.state(now)
	if !w.announced.IsZero() {
		row.Age = known(now.Sub(w.announced).Seconds())
	}
	row.Busy = deviceShare(now, v.began, &w.busyNs, w.timed)
	for _, r := range v.runtimes {
		if r.Worker != w.name {
			continue
		}
		if r.Status.Fleet.Owner != "" {
			row.DecidedBy = word(r.Status.Fleet.Owner)
		}
		if r.Status.Ring != nil {
			row.Ring = r.Status.Ring
		}
	}
	return row
}

// deviceShare is the part of a device's time that launches had; unknown unless they tell device times.
func deviceShare(now, began time.Time, busyNs *rate, timed bool) Figure {
	if !timed {
		return Figure{}
	}
	share := busyNs.perSecond(now, began)
	share.Value = min(share.Value/1e9, 1)
	return share
}

func (r *runtime) row(now time.Time) Runtime {
	row := Runtime{
		Process: r.process(), ID: word(r.ID), Version: word(r.Version), Worker: word(r.Worker), Role: word(r.Status.Fleet.Role), Queues: r.Status.Queues,
		Age: known(now.Sub(r.heard).Seconds()), Records: r.records, Decides: r.decides, Refused: r.refusals,
	}
	row.State, row.Why = r.state(now)
	for reason, n := range r.Status.Refusals {
		if row.Reasons == nil {
			row.Reasons = make(map[string]uint64)
		}
		countReason(row.Reasons, word(reason), n)
	}
	return row
}

// Detail is all that is known of one queue.
type Detail struct {
	Queue
	Reasons     []Reason // of the newest decision
	Changes     []Change // of the plan, the newest last
	Topologies  []Span   // over ten minutes
	Modes       []Span   // over ten minutes
	Geometries  []Span   // over ten minutes
	Publisher   uint64   // incarnation; 0: none was heard
	ReportedAge Figure   // since its newest queue record
	TargetMs    uint32
	Launched    *Launched // last
	LaunchAge   Figure
	RefusedBy   map[string]uint64
	LastRefusal string
}

// Detail is what is known of a queue; false if nothing is.
func (v *View) Detail(now time.Time, worker, name string) (Detail, bool) {
	q := v.queues[queueName{worker, name}]
	if q == nil {
		return Detail{}, false
	}
	d := Detail{
		Queue: v.row(now, q), Reasons: Reasons(q.reasons), Changes: slices.Clone(q.changes), Publisher: q.publisher, TargetMs: q.target,
		RefusedBy: maps.Clone(q.reasonsOf), LastRefusal: q.lastRefusal,
		Topologies: q.past.spans(now, func(p *Plan) string { return p.Topology }),
		Modes:      q.past.spans(now, (*Plan).Kernel),
		Geometries: q.past.spans(now, (*Plan).Geometry),
	}
	if !q.reported.IsZero() {
		d.ReportedAge = known(now.Sub(q.reported).Seconds())
	}
	if !q.launchAt.IsZero() {
		launched := q.launch
		d.Launched, d.LaunchAge = &launched, known(now.Sub(q.launchAt).Seconds())
	}
	return d, true
}
