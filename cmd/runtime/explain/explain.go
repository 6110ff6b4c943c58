package explain

import (
	"encoding/json"
	"fmt"
	"time"

	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
)

// Decision is one decision of a queue, as the stream of decisions has it.
type Decision struct {
	Sequence       uint64
	At             time.Time // stored, by the server's clock
	Recommendation *telemetry.Recommendation
	*decisionlog.Decided
}

// Heard is what is known of a queue beside its decisions. What is not known is nil.
type Heard struct {
	Decided *bool   // somebody decides for it now
	Stored  *uint64 // its batches in the stream of work, those that run among them
	By      string  // the process that decides, for people
}

// Explanation is the answer.
type Explanation struct {
	Worker string    `json:"worker"`
	Queue  string    `json:"queue"`
	At     time.Time `json:"at"`
	State  string    `json:"state"` // ok, held, "no plan", expired
	Why    string    `json:"why"`   // the reason that binds, as a sentence
	Next   string    `json:"next"`  // what to do
	Plan   string    `json:"plan"`  // in words; "" where there is none
	Number uint64    `json:"decision,string"`
	Age    float64   `json:"decided_s"` // seconds ago
	By     string    `json:"by"`
	Config string    `json:"config"` // name of the policy's configuration

	Reasons  []fleetview.Reason `json:"reasons"`
	Evidence []Evidence         `json:"evidence"`
	Changes  []Change           `json:"changes"` // of the plan, the newest first
	Kept     int                `json:"decisions_kept"`
	Held     int                `json:"decisions_same_plan"` // decisions in a row that left the plan as it is
	Tuner    string             `json:"tuner"`
	Reports  string             `json:"publisher"`
	Work     string             `json:"work"`
}

// Change is a decision that changed the plan.
type Change struct {
	Number uint64    `json:"decision,string"`
	At     time.Time `json:"at"`
	What   string    `json:"what"`
	Why    string    `json:"why"`
}

// mostChanges is how many changes are told.
const mostChanges = 8

// silentAfter is how long a publisher may say nothing before that is worth a word.
const silentAfter = 10 * time.Second

// Of explains the last of some decisions of a queue, oldest first, of which there is at least one.
func Of(now time.Time, worker, queue string, all []Decision, heard Heard) Explanation {
	last := &all[len(all)-1]
	r := last.Recommendation
	plan := fleetview.PlanOf(r)
	e := Explanation{
		Worker: worker, Queue: queue, At: now, State: "ok", Why: fleetview.Why(r.Reasons, r.Error), Number: r.Decision,
		Age: max(now.Sub(last.At).Seconds(), 0), Config: last.Config, Kept: len(all), By: by(last, heard),
		Plan: planText(&plan, r), Reasons: fleetview.Reasons(r.Reasons), Evidence: evidence(now, all), Tuner: tuner(last),
		Reports: reports(now, last), Work: work(heard),
	}
	e.Changes, e.Held = changes(all)
	if silent := silentEmpty(now, last); silent != "" && r.Error == "" {
		e.Why = silent
	}
	switch {
	case heard.Decided != nil && !*heard.Decided:
		e.State = "expired"
	case r.Error != "":
		e.State = "no plan"
	case r.SwitchHeld:
		e.State = "held"
	}
	e.Next = next(now, &e, last, heard)
	return e
}

func by(d *Decision, heard Heard) string {
	if heard.By != "" {
		return heard.By
	}
	return fmt.Sprintf("process %016x of ringmaster %s", uint64(d.Node), d.Software)
}

// changes are the decisions that changed the plan, the newest first, and how many in a row have not.
func changes(all []Decision) (out []Change, same int) {
	for i := len(all) - 1; i >= 0 && len(out) < mostChanges; i-- {
		what := ""
		switch {
		case i > 0:
			what = difference(all[i-1].Recommendation, all[i].Recommendation)
		case all[0].Recommendation.Decision == 1:
			what = "the first"
		}
		if what == "" {
			if len(out) == 0 {
				same++
			}
			continue
		}
		r := all[i].Recommendation
		out = append(out, Change{Number: r.Decision, At: all[i].At, What: what, Why: because(what, r)})
	}
	return out, same
}

// next is what somebody who asks should do.
func next(now time.Time, e *Explanation, last *Decision, heard Heard) string {
	request := &last.Entry.Request
	silent := silence(now, last)
	switch {
	case e.State == "expired":
		return "nobody decides for the queue now: start `ringmaster run` for its worker, or a decider; launchers go back to their own geometry"
	case last.Entry.Undecided:
		return fmt.Sprintf("the worker has not said what its device can do: start `ringmaster run --worker %s` there, or publish a worker record", e.Worker)
	case e.State == "no plan":
		return "see to what the reason says; the next record of the queue is decided anew"
	case silent > silentAfter && request.QueueLen > 0:
		return fmt.Sprintf("its publisher has said nothing for %s, and %d slots waited then: is it alive?", fleetview.Ago(silent), request.QueueLen)
	case silentEmpty(now, last) != "":
		return "see whether its publisher is alive, unless it reports only changes: what waits now is not known, and the plan is kept for what comes"
	case request.Unmeasured:
		return "no launch of the queue was measured yet: report launches, or let this worker run them, and the plan follows what they take"
	case heard.Stored != nil && *heard.Stored > 0 && request.QueueLen == 0:
		return "batches are in the stream, and the worker reports none: `ringmaster top` says whether it launches, `ringmaster doctor` tries the way"
	}
	return "nothing: the plan follows the load"
}

// silence is how long ago the publisher of a queue sent the record that was answered last; 0 if nobody reports it.
func silence(now time.Time, d *Decision) time.Duration {
	if d.Entry.Records.Incarnation == 0 || d.Entry.Records.SentNs <= 0 {
		return 0
	}
	return now.Sub(time.Unix(0, d.Entry.Records.SentNs))
}

// remembered is what of a decision's memory is explained.
type remembered struct {
	Cell struct {
		Sources [4]struct { // of queue, graph, priority and launch records
			Incarnation uint64 `json:"incarnation,string"`
			Seq         uint64 `json:"seq"`
		} `json:"sources"`
		History struct {
			Launches uint64 `json:"launches"`
		} `json:"history"`
	} `json:"cell"`
	Tuned struct {
		Geometries []policy.Geometry `json:"geometries"`
	} `json:"tuned"`
}

// memoryOf is what a process remembered with a decision; nothing where another version wrote it otherwise.
func memoryOf(d *Decision) (m remembered) {
	if json.Unmarshal(d.Memory, &m) != nil {
		return remembered{}
	}
	return m
}
