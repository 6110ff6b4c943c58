package fleetview

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
)

// worker is what is known of one device.
type worker struct {
	name      string
	heard     time.Time // announced, or launched something
	announced time.Time
	device    string
	launches  rate
	failures  rate
	slots     rate
	busyNs    rate
	timed     bool // its launches tell device times
	bad       State
}

// worker finds a worker or makes room for one; nil where there is none.
func (v *View) worker(now time.Time, name string) *worker {
	w := v.workers[name]
	if w == nil {
		if len(v.workers) >= v.limits.Workers {
			return nil
		}
		w = &worker{name: name}
		v.workers[name] = w
	}
	w.heard = now
	return w
}

// Worker takes a worker's announcement of its device.
func (v *View) Worker(now time.Time, name string, a *telemetry.Worker) {
	w := v.worker(now, name)
	if w == nil {
		return
	}
	w.announced = now
	w.device = text.Plain(strings.TrimSpace(a.Renderer))
}

func (w *worker) launched(now time.Time, l *telemetry.Launch) {
	w.launches.add(now, 1)
	if l.Status == telemetry.LaunchFailed {
		w.failures.add(now, 1)
	}
	w.slots.add(now, l.Executed)
	if l.TimeSource != telemetry.TimeNone {
		w.timed = true
		w.busyNs.add(now, l.ElapsedNs)
	}
}

// state is how a worker is, and why.
func (w *worker) state(now time.Time) (State, string) {
	switch {
	case w.announced.IsZero():
		return OK, "has not announced a device"
	case now.Sub(w.announced) > silentAfter:
		return Silent, fmt.Sprintf("no announcement for %s: is its process up?", Ago(now.Sub(w.announced)))
	case software(w.device):
		return OK, "a software renderer, no GPU"
	}
	return OK, ""
}

// software tells a renderer that runs on the processor, by its name.
func software(device string) bool {
	device = strings.ToLower(device)
	return strings.Contains(device, "llvmpipe") || strings.Contains(device, "softpipe") || strings.Contains(device, "swiftshader")
}

// RuntimeSaid is what a process that decides says of itself.
type RuntimeSaid struct {
	ID, Version, Worker string
	Status              RuntimeStatus
}

// RuntimeStatus is what the view reads of a runtime's status.
type RuntimeStatus struct {
	Records        uint64            `json:"records"`
	Decisions      uint64            `json:"decisions"`
	Queues         int               `json:"queues"`
	QueuesStopped  int               `json:"queues_stopped"`
	RecordsRefused uint64            `json:"records_refused"`
	Refusals       map[string]uint64 `json:"refused_by_reason"`
	Fleet          struct {
		Role     string `json:"role"`
		Owner    string `json:"owner"`
		Unstored string `json:"unstored"`
	} `json:"fleet"`
	Deciders []struct {
		Process string `json:"process"`
	} `json:"deciders"`
	Ring       *Ring `json:"ring"` // nil without a device
	Connection struct {
		SlowConsumers uint64 `json:"slow_consumers"`
	} `json:"connection"`
}

// Ring is how full the ring of a device is.
type Ring struct {
	Pages    int `json:"pages"`
	Free     int `json:"pages_free"`
	InFlight int `json:"launches_in_flight"`
}

// ParseStatus reads a status.
func ParseStatus(answer []byte) (s RuntimeStatus, err error) {
	if err := json.Unmarshal(answer, &s); err != nil {
		return RuntimeStatus{}, fmt.Errorf("status of a runtime: %w", err)
	}
	if r := s.Ring; r != nil && (r.Free < 0 || r.Pages < r.Free || r.InFlight < 0) {
		s.Ring = nil // it says nothing
	}
	return s, nil
}

// runtime is what is known of one.
type runtime struct {
	RuntimeSaid
	heard    time.Time
	records  Figure
	decides  Figure
	refusals Figure
	bad      State
}

// Runtime takes a runtime's answer.
func (v *View) Runtime(now time.Time, said RuntimeSaid) {
	r := v.runtimes[said.ID]
	if r == nil {
		if len(v.runtimes) >= v.limits.Workers {
			return
		}
		r = &runtime{}
		v.runtimes[said.ID] = r
	} else if over := now.Sub(r.heard).Seconds(); over > 0 {
		was, is := &r.Status, &said.Status
		r.records = difference(was.Records, is.Records, over)
		r.decides = difference(was.Decisions, is.Decisions, over)
		r.refusals = difference(was.RecordsRefused, is.RecordsRefused, over)
	}
	r.RuntimeSaid, r.heard = said, now
}

// difference is how fast a counter grew; a counter that went back is that of another process.
func difference(was, is uint64, seconds float64) Figure {
	if is < was {
		return Figure{}
	}
	return known(float64(is-was) / seconds)
}

// process is the name of a runtime for people: its process, which the status says, or its id.
func (r *runtime) process() string {
	if len(r.Status.Deciders) > 0 && r.Status.Deciders[0].Process != "" {
		return text.Plain(r.Status.Deciders[0].Process)
	}
	return text.Plain(r.ID)
}

func (r *runtime) state(now time.Time) (State, string) {
	switch {
	case now.Sub(r.heard) > silentAfter:
		return Silent, fmt.Sprintf("has not answered for %s", Ago(now.Sub(r.heard)))
	case r.Status.QueuesStopped > 0:
		return Failing, text.Plural(uint64(r.Status.QueuesStopped), "queue") + " stopped after repeated panics"
	case r.Status.Fleet.Unstored != "":
		return OK, "decisions are not stored: " + text.Plain(r.Status.Fleet.Unstored)
	case r.Status.Connection.SlowConsumers > 0:
		return OK, text.Plural(r.Status.Connection.SlowConsumers, "time") + " too slow for its messages"
	}
	return OK, ""
}
