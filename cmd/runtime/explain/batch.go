package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/cmd/runtime/text"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// Found is what is known of a batch. What was not found is nil; of several the first counts, as the stream of work
// gives a batch up last.
type Found struct {
	Stored *Stored
	Aside  *Aside
	Ended  *Ended
	Past   *Past
	Cost   policy.Cost // of the queue's launches; zero if none was measured
	Depth  uint32      // most slots of one of them by the last plan, 0 if there is none
}

// Stored is a batch in the stream of work.
type Stored struct {
	Sequence          uint64
	At                time.Time
	Slots             int
	Ahead, AheadSlots int  // of its queue
	Served            bool // somebody takes batches for the worker, or the pool
	HandedOut         bool // somebody has taken this one
	Holder            *Holder
}

// Holder is what a worker says of a batch that it has.
type Holder struct {
	Taken         time.Time
	Deliveries    uint64
	MaxDeliveries uint64 // 0 for no bound
	Held          bool   // it is kept to be begun later
}

// Aside is a batch that was set aside.
type Aside struct {
	Number     uint64
	At         time.Time
	Slots      int
	Deliveries uint64
}

// Ended is a done record, and when it was stored.
type Ended struct {
	At time.Time
	*telemetry.Done
}

// Past is how far back the streams tell what became of a queue's batches.
type Past struct {
	Submitted uint64        // batches that the stream of work has taken since it was made, of all queues
	Kept      bool          // done records are kept
	Since     time.Time     // a batch that was submitted since, and is over, has its done record
	Made      bool          // that is when the streams were made
	MaxAge    time.Duration // after which a done record is removed, 0 for never
	PerQueue  int64         // records of a queue beyond which the oldest is removed, 0 or less for no bound
}

// Batch says where a batch is and what it waits for.
type Batch struct {
	Worker string    `json:"worker"` // or pool.NAME
	Queue  string    `json:"queue"`
	Batch  string    `json:"batch"`
	At     time.Time `json:"at"`
	State  string    `json:"state"` // waiting, held, done, withdrawn, expired, dropped, "set aside", "not submitted", unknown
	Where  string    `json:"where"` // as a sentence
	Next   string    `json:"next"`  // what to do

	Since      *time.Time `json:"since,omitempty"`         // of the state
	Whole      *time.Time `json:"records_since,omitempty"` // of one that is unknown: submitted since, it would have a done record if it had ended
	Stored     *time.Time `json:"stored,omitempty"`
	Sequence   uint64     `json:"sequence,string,omitzero"` // in the stream of work
	Number     uint64     `json:"number,string,omitzero"`   // of a batch set aside, as `ringmaster work` names it
	Slots      int        `json:"slots"`
	Ahead      int        `json:"batches_ahead"`
	AheadSlots int        `json:"slots_ahead"`
	AheadS     float64    `json:"device_s_ahead,omitzero"` // device time of those, left out where no launch was measured
	Deliveries uint64     `json:"deliveries,omitzero"`
	Most       uint64     `json:"max_deliveries,omitzero"`
	Executed   uint32     `json:"executed"`
	Faulted    uint32     `json:"faulted"`
	Dropped    uint32     `json:"dropped"`
	Error      string     `json:"error,omitzero"` // why slots were dropped
}

// OfBatch says where a batch of a queue is.
func OfBatch(now time.Time, worker, queue, batch string, found Found) Batch {
	b := Batch{Worker: worker, Queue: queue, Batch: batch, At: now}
	ago := func(at time.Time) string { return fleetview.Ago(max(now.Sub(at), 0)) }
	switch {
	case found.Stored != nil:
		b.stored(&found, ago)
	case found.Aside != nil:
		a := found.Aside
		b.State, b.Since, b.Number, b.Slots, b.Deliveries = "set aside", &a.At, a.Number, a.Slots, a.Deliveries
		b.Where = fmt.Sprintf("set aside %s ago, after %d deliveries without an outcome: whatever takes it may end", ago(a.At), a.Deliveries)
		b.Next = fmt.Sprintf("`ringmaster work show %d` prints it, `ringmaster work run %d` submits it again, `ringmaster work purge %d` removes it", a.Number, a.Number, a.Number)
	case found.Ended != nil:
		b.ended(found.Ended, ago)
	default:
		b.gone(cmp.Or(found.Past, new(Past)), ago)
	}
	return b
}

// stored says what a batch in the stream of work waits for.
func (b *Batch) stored(found *Found, ago func(time.Time) string) {
	s := found.Stored
	b.Stored, b.Since, b.Sequence, b.Slots, b.Ahead, b.AheadSlots = &s.At, &s.At, s.Sequence, s.Slots, s.Ahead, s.AheadSlots
	b.AheadS = deviceTime(s.AheadSlots, found).Seconds()
	behind := ", and is the next of its queue"
	if s.Ahead > 0 {
		behind = fmt.Sprintf(", behind %s with %s", text.Plural(uint64(s.Ahead), "batch"), slots(uint64(s.AheadSlots)))
		if b.AheadS > 0 {
			behind += fmt.Sprintf(", about %s of device time", fleetview.Short(deviceTime(s.AheadSlots, found)))
		}
	}
	switch h := s.Holder; {
	case h != nil:
		b.State, b.Since, b.Deliveries, b.Most = "held", &h.Taken, h.Deliveries, h.MaxDeliveries
		b.Where = fmt.Sprintf("worker %s has had it for %s, delivery %d", b.Worker, ago(h.Taken), h.Deliveries)
		if h.MaxDeliveries > 0 {
			b.Where += fmt.Sprintf(" of %d", h.MaxDeliveries)
		}
		b.Where += behind
		b.Next = fmt.Sprintf("nothing; if that does not end, `ringmaster explain %s.%s` says whether the queue has a plan, and the worker's log whether launches fail", b.Worker, b.Queue)
		if h.Held {
			b.Next = "it is begun when its queue has room: see its limits, and whether the worker has stopped it"
		}
	case !s.Served:
		b.State = "waiting"
		b.Where = fmt.Sprintf("in the stream for %s%s; nobody takes batches of %s", ago(s.At), behind, b.Worker)
		b.Next = fmt.Sprintf("start `ringmaster run --worker %s`, or `ringmaster cancel` it once that runs", b.Worker)
		if pool, is := telemetry.PoolOf(b.Worker); is {
			b.Next = fmt.Sprintf("start `ringmaster run --pool %s` on a host with a device", pool)
		}
	case s.HandedOut:
		b.State = "held"
		b.Where = "handed out, and who has it does not say so"
		b.Next = "nothing: whoever has it finishes it, and if that process ended it comes again within a minute"
	default:
		b.State = "waiting"
		b.Where = fmt.Sprintf("in the stream for %s%s", ago(s.At), behind)
		b.Next = fmt.Sprintf("nothing: %s takes it in turn", b.Worker)
	}
}

// deviceTime is what so many slots take on the device by what the queue's launches took, 0 if that is not known.
func deviceTime(slots int, found *Found) time.Duration {
	if found.Cost.SlotPs == 0 {
		return 0
	}
	depth := cmp.Or(int(found.Depth), max(slots, 1))
	launches := (slots + depth - 1) / depth
	const longest = 365 * 24 * float64(time.Hour)
	ns := float64(launches)*float64(found.Cost.LaunchNs) + float64(slots)*float64(found.Cost.SlotPs)/1000
	return time.Duration(min(ns, longest))
}

// ended says what became of a batch.
func (b *Batch) ended(e *Ended, ago func(time.Time) string) {
	b.Since, b.Executed, b.Faulted, b.Dropped, b.Error = &e.At, e.Executed, e.Faulted, e.Dropped, text.Plain(e.Error)
	b.Slots = int(e.Executed) + int(e.Faulted) + int(e.Dropped)
	counts := fmt.Sprintf("%s executed, %d faulted, %d dropped", slots(uint64(e.Executed)), e.Faulted, e.Dropped)
	switch {
	case e.Error == "canceled":
		b.State, b.Next = "withdrawn", "nothing"
	case e.Error == "deadline":
		b.State, b.Next = "expired", "submit it again with a longer --deadline, or see with `ringmaster explain` why the queue is slow"
	case e.Dropped > 0:
		b.State, b.Next = "dropped", "see to the reason, and submit it again under another name"
		counts += ": " + cmp.Or(b.Error, "the worker gave no reason")
	default:
		b.State, b.Next = "done", "nothing"
		if e.Faulted > 0 {
			b.Next = "look at the slots that faulted: submit prints them, and the done record lists the first"
		}
	}
	b.Where = fmt.Sprintf("%s %s ago: %s", b.State, ago(e.At), counts)
}

// gone says what may have become of a batch of which nothing is found.
func (b *Batch) gone(p *Past, ago func(time.Time) string) {
	const refused = "it did not arrive, or was refused: its submitter was told, and the log of who takes the queue's batches says why"
	b.State = "unknown"
	switch {
	case p.Submitted == 0:
		b.State, b.Where, b.Next = "not submitted", "the stream of batches has taken none yet, of any queue", "see that its submitter uses this server and this --prefix"
	case !p.Kept:
		b.Where = "not in the stream, and nobody keeps done records here"
		b.Next = "if it was submitted, it ended or was refused, which its submitter was told; `ringmaster run --done-stream always` keeps what ends from now on"
	case p.Made:
		b.Whole = &p.Since
		b.Where = fmt.Sprintf("not in the stream, and no done record of it is kept, though none was removed since the stream of them was made %s ago", ago(p.Since))
		b.Next = "submit it if nobody did; else " + refused
	default:
		b.Whole = &p.Since
		b.Where = fmt.Sprintf("not in the stream, and no done record of it is kept; those of what was submitted since %s (%s ago) are complete", p.Since.UTC().Format(time.RFC3339), ago(p.Since))
		b.Next = "if it was submitted after that, " + refused + "; if before, its record may have been removed" + p.bounds()
	}
}

// bounds are those of the stream of done records, as an apposition.
func (p *Past) bounds() string {
	var kept []string
	if p.MaxAge > 0 {
		kept = append(kept, "for "+fleetview.Short(p.MaxAge))
	}
	if p.PerQueue > 0 {
		kept = append(kept, "the last "+text.Grouped(p.PerQueue)+" of a queue")
	}
	if len(kept) == 0 {
		return ""
	}
	return ": done records are kept " + strings.Join(kept, ", ")
}

// Text is where a batch is, for people.
func (b *Batch) Text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "batch %s of %s.%s is %s: %s\nnext: %s\n", b.Batch, b.Worker, b.Queue, b.State, strings.TrimPrefix(b.Where, b.State+" "), b.Next)
	if b.Stored != nil {
		fmt.Fprintf(&out, "\n%-10s %s, as number %d of the stream\n%-10s %s\n", "stored", b.Stored.UTC().Format(time.RFC3339), b.Sequence, "slots", text.Grouped(b.Slots))
	}
	return out.String()
}
