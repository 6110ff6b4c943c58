package health

import (
	"fmt"
	"time"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/telemetry/natsio"
)

// Reason is one thing that is wrong.
type Reason struct {
	Code string `json:"code"` // one of the constants below
	Text string `json:"text"` // what, since when, and what to do
}

// Codes of reasons.
const (
	Starting    = "starting"            // nobody is served yet
	Stopping    = "stopping"            // the process drains
	Stuck       = "stuck"               // the main loop does not turn
	BusAway     = "bus_away"            // no NATS server answers, or it refuses this user
	NotWritable = "stream_not_writable" // decisions or work cannot be stored
	DeviceLost  = "device_lost"         // the GPU is gone
	Stopped     = "engine_stopped"      // all queues that have work are stopped
	NoDecider   = "no_decider"          // nobody decides for the worker
)

const (
	// stuckAfter is how long the actors' clock, which ticks every second, may stand still.
	stuckAfter = 10 * time.Second
	// unstoredAfter is how long decisions may be in doubt: servers are restarted and leaders elected meanwhile.
	unstoredAfter = 5 * time.Second
	// full is the part of a stream's bytes above which it is as good as full: what is refused is larger than the rest.
	full = 0.99
)

// Live says why the process should be started again; empty: it should not. Whatever passes by itself is no reason.
func Live(r *worker.Reading) (why []Reason) {
	if still := r.At.Sub(r.BeatAt); still > stuckAfter {
		why = append(why, Reason{Stuck, fmt.Sprintf("the main loop has not turned for %v; start the process again", short(still))})
	}
	return why
}

// Ready says why no work should be sent here; empty: it can be.
func Ready(r *worker.Reading) (why []Reason) {
	add := func(code, format string, args ...any) { why = append(why, Reason{code, fmt.Sprintf(format, args...)}) }
	if r.Closing {
		add(Stopping, "the process stops: it finishes what it has and takes nothing new")
	}
	if r.Connection.State != natsio.StateConnected.String() {
		last := ""
		if r.Connection.LastError != "" {
			last = " (" + r.Connection.LastError + ")"
		}
		add(BusAway, "NATS does not answer%s%s; the process keeps trying: check the server, the network and the login", since(r.At, r.Connection.Since), last)
	}
	if text := unwritable(r); text != "" {
		add(NotWritable, "%s", text)
	}
	if r.Ring != nil && !r.Ring.Lost.IsZero() {
		add(DeviceLost, "the device is lost%s; it is opened again by itself: the driver's log says why it was lost", since(r.At, r.Ring.Lost))
	}
	if text := stopped(r); text != "" {
		add(Stopped, "%s", text)
	}
	if r.Fleet.Role == worker.RoleExecuteOnly && r.Fleet.Owner == "" {
		add(NoDecider, "no process decides for worker %s; start `ringmaster run --decide-only`, or this one without --execute-only", r.Worker)
	}
	return append(why, Live(r)...)
}

// unwritable says what cannot be stored.
func unwritable(r *worker.Reading) string {
	for _, s := range r.Streams {
		if s.Refuses && s.MaxBytes > 0 && float64(s.Bytes) >= full*float64(s.MaxBytes) {
			return fmt.Sprintf("the stream %s is full: %d of %d bytes; its batches have to be executed or removed before it takes more", s.Name, s.Bytes, s.MaxBytes)
		}
	}
	if stored := r.Fleet.Stored; stored != nil && stored.Problem != "" {
		return "decisions are not stored: " + stored.Problem
	}
	for _, q := range r.Unstored {
		if r.At.Sub(q.Since) >= unstoredAfter {
			return fmt.Sprintf("decisions of %d queues are not stored, the first is %s.%s%s: %s; check JetStream and the disk of its servers",
				len(r.Unstored), q.Worker, q.Queue, since(r.At, q.Since), q.Why)
		}
	}
	return ""
}

// stopped tells that nothing runs although there is work.
func stopped(r *worker.Reading) string {
	working, resting, why := 0, 0, ""
	for i := range r.Queues {
		q := &r.Queues[i]
		if q.SlotsPending == 0 || q.Worker != r.Worker {
			continue
		}
		working++
		if q.Stopped || q.Halted {
			resting++
			why = q.Recommendation.Error
		}
	}
	if working == 0 || resting < working {
		return ""
	}
	return fmt.Sprintf("all %d queues with work are stopped, for instance: %s; they are tried again by themselves", working, why)
}

// since says for how long something has been so, if that is known.
func since(now, then time.Time) string {
	if then.IsZero() {
		return ""
	}
	return fmt.Sprintf(" since %s (%v)", then.UTC().Format("15:04:05Z"), short(now.Sub(then)))
}

func short(d time.Duration) time.Duration { return max(d, 0).Round(time.Second) }
