package top

import (
	"cmp"
	"strings"

	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/cmd/runtime/text"
)

type queueRow = fleetview.Queue

// queueColumns are those of the table of queues. WHY is last and has the rest.
var queueColumns = []column[queueRow]{
	{title: "STATE", wide: 9, cell: func(q *queueRow) string { return q.State.String() }, paint: func(q *queueRow) paint { return paintOf(q.State) }},
	{title: "QUEUE", wide: 14, grows: 40, cell: queueLabel},
	{title: "LENGTH", wide: 7, right: true, rank: 1, cell: func(q *queueRow) string { return figure(q.Length).Number() }},
	{title: "RECORD/s", wide: 8, right: true, rank: 5, cell: func(q *queueRow) string { return q.Records.Number() }},
	{title: "DECIDE/s", wide: 8, right: true, rank: 6, cell: func(q *queueRow) string { return q.Decides.Number() }},
	{title: "SLOT/s", wide: 6, right: true, rank: 1, cell: func(q *queueRow) string { return q.Slots.Number() }},
	{title: "BATCH/s", wide: 7, right: true, rank: 6, cell: func(q *queueRow) string { return q.Batches.Number() }},
	{title: "WAIT", wide: 7, right: true, rank: 3, cell: func(q *queueRow) string { return q.Wait.Span() }},
	{title: "ANSWER99", wide: 8, right: true, rank: 4, cell: func(q *queueRow) string { return q.Answer99.Span() }},
	{title: "DONE50", wide: 7, right: true, rank: 7, cell: func(q *queueRow) string { return q.Done50.Span() }},
	{title: "DONE99", wide: 7, right: true, rank: 3, cell: func(q *queueRow) string { return q.Done99.Span() }},
	{title: "STORED", wide: 6, right: true, rank: 4, cell: func(q *queueRow) string { return q.Stored.Number() }},
	{title: "REFUSE/s", wide: 8, right: true, rank: 4, cell: func(q *queueRow) string { return q.Refused.Number() }},
	{title: "AGE", wide: 6, right: true, rank: 2, cell: func(q *queueRow) string { return q.Age.Ago() }, paint: func(q *queueRow) paint {
		if q.State == fleetview.Lapsed {
			return alarm
		}
		return plain
	}},
	{title: "EXPIRES", wide: 7, right: true, rank: 6, cell: expiry},
	{title: "PLAN", wide: 10, rank: 3, cell: func(q *queueRow) string { return q.Plan.Geometry() }},
	{title: "RUNS", wide: 17, rank: 5, cell: runs},
	{title: "TEN MINUTES", wide: 20, rank: 7, cell: func(q *queueRow) string { return squeeze(q.Band, 20) }},
	{title: "WHY", wide: 20, cell: func(q *queueRow) string { return q.Why }, paint: func(q *queueRow) paint { return paintOf(q.State) }},
}

func queueLabel(q *queueRow) string { return q.Worker + "." + q.Queue }

// runs is how a plan's launches run: the walk of a graph, and the kernel.
func runs(q *queueRow) string {
	return strings.TrimSpace(q.Plan.Walk() + " " + q.Plan.Kernel())
}

func expiry(q *queueRow) string {
	switch {
	case !q.Left.Known:
		return "-"
	case q.Left.Value <= 0:
		return "expired"
	}
	return q.Left.Ago()
}

// order is how rows are sorted. Rows that are equal by it are sorted by their names.
type order struct {
	name    string
	compare func(a, b *queueRow) int // what a person looks for first
}

var orders = []order{
	{"state", func(a, b *queueRow) int { return cmp.Compare(b.State, a.State) }},
	{"name", func(_, _ *queueRow) int { return 0 }},
	{"length", func(a, b *queueRow) int { return cmp.Compare(b.Length, a.Length) }},
	{"slots", larger(func(q *queueRow) fleetview.Figure { return q.Slots })},
	{"wait", larger(func(q *queueRow) fleetview.Figure { return q.Wait })},
	{"done99", larger(func(q *queueRow) fleetview.Figure { return q.Done99 })},
	{"answer99", larger(func(q *queueRow) fleetview.Figure { return q.Answer99 })},
	{"stored", larger(func(q *queueRow) fleetview.Figure { return q.Stored })},
	{"refused", larger(func(q *queueRow) fleetview.Figure { return q.Refused })},
	{"age", larger(func(q *queueRow) fleetview.Figure { return q.Age })},
	{"records", larger(func(q *queueRow) fleetview.Figure { return q.Records })},
}

// larger orders by a figure, the largest first and the unknown last.
func larger(of func(*queueRow) fleetview.Figure) func(a, b *queueRow) int {
	value := func(q *queueRow) float64 {
		if f := of(q); f.Known {
			return f.Value
		}
		return -1
	}
	return func(a, b *queueRow) int { return cmp.Compare(value(b), value(a)) }
}

type workerRow = fleetview.Worker

var workerColumns = []column[workerRow]{
	{title: "STATE", wide: 9, cell: func(w *workerRow) string { return w.State.String() }, paint: func(w *workerRow) paint { return paintOf(w.State) }},
	{title: "WORKER", wide: 10, grows: 30, cell: func(w *workerRow) string { return w.Name }},
	{title: "QUEUES", wide: 6, right: true, rank: 1, cell: func(w *workerRow) string { return text.Grouped(w.Queues) }},
	{title: "WRONG", wide: 5, right: true, rank: 1, cell: func(w *workerRow) string { return text.Grouped(w.Wrong) }, paint: func(w *workerRow) paint {
		if w.Wrong > 0 {
			return alarm
		}
		return plain
	}},
	{title: "BUSY", wide: 5, right: true, rank: 2, cell: func(w *workerRow) string { return w.Busy.Share() }},
	{title: "LAUNCH/s", wide: 8, right: true, rank: 3, cell: func(w *workerRow) string { return w.Launches.Number() }},
	{title: "FAIL/s", wide: 6, right: true, rank: 4, cell: func(w *workerRow) string { return w.Failures.Number() }},
	{title: "SLOT/s", wide: 6, right: true, rank: 3, cell: func(w *workerRow) string { return w.Slots.Number() }},
	{title: "HEARD", wide: 6, right: true, rank: 2, cell: func(w *workerRow) string { return w.Age.Ago() }},
	{title: "DECIDED BY", wide: 14, grows: 30, rank: 5, cell: func(w *workerRow) string { return w.DecidedBy }},
	{title: "DEVICE", wide: 20, cell: device, paint: func(w *workerRow) paint { return paintOf(w.State) }},
}

// device is what a worker runs on, and what is to be said of it, which comes first where something is wrong.
func device(w *workerRow) string {
	switch {
	case w.Why == "":
		return w.Device
	case w.Device == "" || w.State.Wrong():
		return w.Why
	}
	return w.Device + ": " + w.Why
}

type runtimeRow = fleetview.Runtime

var runtimeColumns = []column[runtimeRow]{
	{title: "STATE", wide: 9, cell: func(r *runtimeRow) string { return r.State.String() }, paint: func(r *runtimeRow) paint { return paintOf(r.State) }},
	{title: "RUNTIME", wide: 14, grows: 40, cell: func(r *runtimeRow) string { return r.Process }},
	{title: "ROLE", wide: 12, rank: 2, cell: func(r *runtimeRow) string { return r.Role }},
	{title: "QUEUES", wide: 6, right: true, rank: 1, cell: func(r *runtimeRow) string { return text.Grouped(r.Queues) }},
	{title: "RECORD/s", wide: 8, right: true, rank: 3, cell: func(r *runtimeRow) string { return r.Records.Number() }},
	{title: "DECIDE/s", wide: 8, right: true, rank: 3, cell: func(r *runtimeRow) string { return r.Decides.Number() }},
	{title: "REFUSE/s", wide: 8, right: true, rank: 3, cell: func(r *runtimeRow) string { return r.Refused.Number() }},
	{title: "VERSION", wide: 8, rank: 4, cell: func(r *runtimeRow) string { return r.Version }},
	{title: "", wide: 10, cell: func(r *runtimeRow) string { return r.Why }, paint: func(r *runtimeRow) paint { return paintOf(r.State) }},
}

// figure is a whole number that is known.
func figure(n uint32) fleetview.Figure { return fleetview.Figure{Value: float64(n), Known: true} }

// squeeze is a band in fewer letters. Of the letters that share a place the one that says that something was wrong
// is kept, else the newest.
func squeeze(band string, wide int) string {
	if len(band) <= wide {
		return band
	}
	out := make([]byte, wide)
	for i := range out {
		part := band[i*len(band)/wide : (i+1)*len(band)/wide]
		out[i] = part[len(part)-1]
		if at := strings.IndexAny(part, string([]byte{fleetview.MarkExpired, fleetview.MarkNoPlan})); at >= 0 {
			out[i] = part[at]
		}
	}
	return string(out)
}
