package doctor

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/worker"
)

// Finding is one line.
type Finding struct {
	Missing bool // it keeps the process from its work, or is not what was expected
	Says    string
}

// mostQueues is how many queues with something wrong are named.
const mostQueues = 8

// Running says how a process is. mine is the version of who asks, unexpected why the device is not the expected one.
func Running(s *worker.State, mine string, unexpected error) (found []Finding) {
	add := func(missing bool, format string, args ...any) {
		found = append(found, Finding{missing, fmt.Sprintf(format, args...)})
	}
	other := ""
	if s.Version != mine {
		other = fmt.Sprintf("; this is version %s", mine)
	}
	add(false, "version %s, %s%s", cmp.Or(text.Plain(s.Version), "unknown"), text.Plain(string(s.Role)), other)
	switch d := s.Device; {
	case d == nil:
		add(false, "device: none")
	case unexpected != nil:
		add(true, "%s", text.Plain(unexpected.Error()))
	case d.Software:
		add(false, "warning: device: %s, a software renderer; --expect-device gpu has run refuse that", text.Plain(d.Name))
	default:
		add(false, "device: %s", text.Plain(d.Name))
	}
	for _, why := range s.Wrong {
		add(true, "%s", text.Plain(why))
	}
	add(false, "main loop: turned %s ago", ago(s.BeatS))
	queues(s, add)
	add(false, "refused: %s since it began", text.Plural(s.Refused, "record"))
	return found
}

// queues tells how old decisions are, what waits, and which queues have something wrong.
func queues(s *worker.State, add func(missing bool, format string, args ...any)) {
	newest, stored, pending := math.Inf(1), uint64(0), uint64(0)
	wrong := 0
	for i := range s.Queues {
		q := &s.Queues[i]
		stored, pending = stored+q.Batches, pending+q.Pending
		if q.DecisionS != nil {
			newest = min(newest, *q.DecisionS)
		}
		why := text.Plain(q.Why)
		switch {
		case q.Stopped:
			why = "stopped after repeated panics: " + why
		case q.Halted:
			why = "stopped after launches that failed in a row: " + why
		case why == "":
			continue
		}
		if wrong++; wrong <= mostQueues {
			add(false, "warning: %s.%s: %s", text.Plain(q.Worker), text.Plain(q.Queue), why)
		}
	}
	if wrong > mostQueues {
		add(false, "warning: and %s more with something wrong", text.Plural(uint64(wrong-mostQueues), "queue"))
	}
	known := text.Plural(uint64(len(s.Queues)+max(s.LeftOut, 0)), "queue")
	if math.IsInf(newest, 1) {
		add(false, "decisions: none of %s", known)
	} else {
		add(false, "decisions: of %s, the newest %s ago", known, ago(newest))
	}
	add(false, "backlog: %s in the stream, %d of them in hand, %s not finished", text.Plural(stored, "batch"), len(s.Batches)+max(s.NotListed, 0), text.Plural(pending, "slot"))
}

// ago is an age in seconds, for people.
func ago(seconds float64) string {
	const longest = 365 * 24 * 3600
	return fleetview.Ago(time.Duration(min(max(seconds, 0), longest) * float64(time.Second)))
}
