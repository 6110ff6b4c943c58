package fleetview

import (
	"fmt"
	"time"

	"ringmaster/cmd/runtime/text"
)

// State is how a queue or a worker is, the worse the larger.
type State uint8

// States.
const (
	OK        State = iota
	Held            // hysteresis keeps a walk that the values no longer ask for
	Undecided       // it is reported, and nobody decides for it
	Refused         // of what is sent about it something was refused in the last minute
	Waiting         // slots wait and none was executed for some seconds
	Failing         // launches failed in the last minute
	Planless        // the decision has no plan, so nothing may be launched
	Silent          // a worker that has not announced itself for too long
	Lapsed          // nobody decides any more: the last plan is no longer valid
)

var stateNames = [...]string{
	OK: "ok", Held: "held", Undecided: "undecided", Refused: "refused", Waiting: "waiting", Failing: "failing", Planless: "no plan", Silent: "silent", Lapsed: "EXPIRED",
}

// String is the state in a word or two.
func (s State) String() string { return stateNames[s] }

// MarshalText is String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Wrong reports whether somebody has to look after it.
func (s State) Wrong() bool { return s >= Undecided }

const (
	undecidedAfter = 3 * time.Second  // a first decision takes a fraction of a millisecond
	waitingAfter   = 5 * time.Second  // longer than a launch on any device takes
	silentAfter    = 15 * time.Second // a worker announces itself every 5 s
)

// state is how the queue is, and why in words. began is when this process began to listen.
func (q *queue) state(now, began time.Time) (State, string) {
	switch {
	case q.advised && !now.Before(q.until):
		return Lapsed, fmt.Sprintf("nobody has decided for %s: is the runtime up?", Ago(now.Sub(q.at)))
	case q.advised && q.failure != "":
		return Planless, "no plan: " + q.failure
	case !q.failedAt.IsZero() && now.Sub(q.failedAt) < lately:
		return Failing, fmt.Sprintf("a launch failed %s ago: %s", Ago(now.Sub(q.failedAt)), q.failed)
	case q.waits(now):
		return Waiting, fmt.Sprintf("%s, none executed for %s", text.Plural(uint64(q.length), "slot")+" waiting", Ago(now.Sub(q.progress)))
	case !q.lastRefusalAt.IsZero() && now.Sub(q.lastRefusalAt) < lately:
		return Refused, q.lastRefusal
	case !q.advised && q.records.total > 0 && now.Sub(began) >= undecidedAfter && now.Sub(q.heard) < undecidedAfter:
		return Undecided, "records arrive and nobody decides: is a runtime up, on this prefix?"
	case !q.advised:
		return OK, "no recommendation heard yet"
	case q.held:
		return Held, Why(q.reasons, "")
	case q.publisher != 0 && q.reportedLen == 0 && q.length == 0 && now.Sub(q.reported) > silentAfter:
		return OK, SilentEmpty(q.publisher, now.Sub(q.reported))
	}
	return OK, Why(q.reasons, "")
}

// SilentEmpty says that a queue is empty by a publisher that has said nothing for long, and may be gone.
func SilentEmpty(publisher uint64, silent time.Duration) string {
	return fmt.Sprintf("publisher %016x silent for %s, its last record said the queue is empty", publisher, Ago(silent))
}

// waits reports whether slots wait and nothing has been executed for too long, on a worker whose launches are heard.
func (q *queue) waits(now time.Time) bool {
	return q.launches.total > 0 && q.length > 0 && now.Sub(q.progress) >= waitingAfter
}

// Ago is a time that has passed, short: 0.4 s, 12 s, 3 min, 2 h.
func Ago(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 100*time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d h", d/time.Hour)
}
