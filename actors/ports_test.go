package actors

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// recorder collects what happens, by component: components run concurrently,
// so only the order within one is defined.
type recorder struct {
	mu    sync.Mutex
	lines map[string][]string
}

// componentOrder is the order in which a transcript lists them.
var componentOrder = []string{
	"refused", "engine", "queue", "tuner", "diffusion", "worker",
	"recommend", "state", "report", "done", "settled", "log",
}

func (r *recorder) add(component, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lines == nil {
		r.lines = make(map[string][]string)
	}
	r.lines[component] = append(r.lines[component], fmt.Sprintf(format, args...))
}

// take returns the lines since the last take.
func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, component := range componentOrder {
		switch component {
		case "recommend", "state", "log": // queues are concurrent
			slices.SortStableFunc(r.lines[component], func(a, b string) int {
				qa, _, _ := strings.Cut(a, " ")
				qb, _, _ := strings.Cut(b, " ")
				return strings.Compare(qa, qb)
			})
		case "worker": // so are its senders
			slices.Sort(r.lines[component])
		}
		for _, line := range r.lines[component] {
			fmt.Fprintf(&b, "%s: %s\n", component, line)
		}
		delete(r.lines, component)
	}
	for component := range r.lines {
		panic("component without a place in the order: " + component)
	}
	return b.String()
}

// recordingPublisher writes down what is published. Done records are confirmed
// at once, unless held or told to fail.
type recordingPublisher struct {
	*recorder
	mu        sync.Mutex
	hold      bool
	failDone  bool
	held      []func(error)
	panics    int    // times to come in Recommend
	panicsFor string // only there, if not empty
}

func (p *recordingPublisher) Recommend(worker, queue string, r *telemetry.Recommendation, replies []string) {
	p.mu.Lock()
	fail := p.panics > 0 && (p.panicsFor == "" || p.panicsFor == queue)
	if fail {
		p.panics--
	}
	p.mu.Unlock()
	if fail {
		panic("scripted: recommend")
	}
	line := fmt.Sprintf("%s/%s decision %d answers %d/%d: ", worker, queue, r.Decision, r.AnsweredIncarnation, r.AnsweredSeq)
	if r.WorkgroupSizeX == 0 {
		line += "no plan"
	} else {
		line += fmt.Sprintf("len %d %s %s %dx%dx%d hits %d", r.QueueLen, r.Topology, r.ExecutionMode,
			r.WorkgroupSizeX, r.Groups, r.ClaimChunk, r.HitCapacity)
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{r.Changed, "changed"}, {r.SwitchHeld, "held"}, {r.CommittedOnPublish, "committed"}, {r.Heartbeat, "heartbeat"}} {
		if flag.set {
			line += " " + flag.name
		}
	}
	if r.Error != "" {
		line += " error=" + fmt.Sprintf("%q", r.Error)
	}
	if len(replies) > 0 {
		line += " replies=" + strings.Join(replies, ",")
	}
	p.add("recommend", "%s", line)
}

func (p *recordingPublisher) Report(worker, queue string, l *telemetry.Launch) {
	line := fmt.Sprintf("%s/%s launch %d decision %d %v executed %d faulted %d idle %dms", worker, queue, l.Launch, l.Decision, l.Status,
		l.Executed, l.Faulted, l.IdleNs/1_000_000)
	if l.Error != "" {
		line += fmt.Sprintf(" error=%q", l.Error)
	}
	p.add("report", "%s", line)
}

func (p *recordingPublisher) Done(worker, queue string, d *telemetry.Done, sent func(error)) {
	dropped := ""
	if d.Dropped > 0 {
		dropped = fmt.Sprintf(" dropped %d: %s", d.Dropped, d.Error)
	}
	p.add("done", "%s/%s batch %s executed %d faulted %d sent_ns %d%s", worker, queue, d.Batch, d.Executed, d.Faulted, d.WorkSentNs, dropped)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.hold:
		p.held = append(p.held, sent)
	case p.failDone:
		sent(errors.New("no server"))
	default:
		sent(nil)
	}
}

// release confirms the held done records.
func (p *recordingPublisher) release(err error) {
	p.mu.Lock()
	held := p.held
	p.held, p.hold = nil, false
	p.mu.Unlock()
	for _, sent := range held {
		sent(err)
	}
}

// plainEngine is the part of an engine that most tests do not ask for.
type plainEngine struct{}

func (plainEngine) OnEnded(func(string, []telemetry.Done)) {}
func (plainEngine) Cancel(string, string) Canceled         { return Canceled{} }
func (plainEngine) Lease() policy.Lease                    { return policy.Lease{} }
func (plainEngine) DeviceIdentity() string                 { return "" }

// scriptedEngine takes work and launches, and lets the script say what becomes of them.
type scriptedEngine struct {
	plainEngine
	*recorder
	worker  string
	mu      sync.Mutex
	pending map[string]int // slots by queue
	open    map[string]int // slots by batch
	order   Order
	settle  func(Report)
	ns      uint64 // a slot
	refuse  error  // for the next Submit
	panics  string // "submit" or "launch"
	tell    func(queue string, done []telemetry.Done)
}

func newScriptedEngine(r *recorder, worker string) *scriptedEngine {
	return &scriptedEngine{recorder: r, worker: worker, pending: make(map[string]int), open: make(map[string]int), ns: 10}
}

func (e *scriptedEngine) Submit(queue string, w *telemetry.Work) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.panics == "submit" {
		e.panics = ""
		panic("scripted: submit")
	}
	if err := e.refuse; err != nil {
		e.refuse = nil
		e.add("engine", "%s refuses batch %s of %s", e.worker, w.Batch, queue)
		return err
	}
	e.add("engine", "%s takes batch %s of %s, %d slots", e.worker, w.Batch, queue, len(w.Slots))
	e.pending[queue] += len(w.Slots)
	e.open[w.Batch] = len(w.Slots)
	return nil
}

func (e *scriptedEngine) Launch(o Order, settled func(Report)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.panics == "launch" {
		e.panics = ""
		panic("scripted: launch")
	}
	e.add("engine", "%s launch %d of %s at decision %d: %dx%dx%d", e.worker, o.Launch, o.Queue, o.Decision,
		o.Plan.WorkgroupSizeX, o.Plan.DispatchGrid[0], o.Plan.ClaimChunk)
	e.order, e.settle = o, settled
}

// Cancel drops a batch at once, unless a launch of its queue is under way: then that has all of it.
func (e *scriptedEngine) Cancel(queue, batch string) Canceled {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.panics == "cancel" {
		e.panics = ""
		panic("scripted: cancel")
	}
	slots, found := e.open[batch]
	e.add("engine", "%s cancels batch %s of %s", e.worker, batch, queue)
	if !found || e.settle != nil && e.order.Queue == queue {
		return Canceled{Found: found}
	}
	delete(e.open, batch)
	e.pending[queue] -= slots
	return Canceled{Found: true, Slots: slots, Done: []telemetry.Done{{Batch: batch, Dropped: uint32(slots), Error: "canceled"}}}
}

func (e *scriptedEngine) OnEnded(tell func(queue string, done []telemetry.Done)) { e.tell = tell }

// expire ends a batch that no launch has at its deadline.
func (e *scriptedEngine) expire(queue, batch string) {
	e.mu.Lock()
	slots := e.open[batch]
	delete(e.open, batch)
	e.pending[queue] -= slots
	e.add("engine", "%s ends batch %s of %s", e.worker, batch, queue)
	e.mu.Unlock()
	e.tell(queue, []telemetry.Done{{Batch: batch, Dropped: uint32(slots), Error: "deadline"}})
}

// land reports the launch under way: with an error it ran nothing, else it ran
// slots of the queue and finished the named batches.
func (e *scriptedEngine) land(slots, faulted, requeued int, batches []string, failure string) error {
	e.mu.Lock()
	settle, o := e.settle, e.order
	e.settle = nil
	if settle == nil {
		e.mu.Unlock()
		return errors.New("no launch under way")
	}
	r := Report{Launch: telemetry.Launch{Fingerprint: bytes.Repeat([]byte{1}, 32), Applied: WireGeometry(o.Plan.Geometry()), Executed: uint64(slots - faulted), Faulted: uint64(faulted), Requeued: uint64(requeued), ElapsedNs: e.ns * uint64(slots)}}
	if failure != "" {
		r.Launch = telemetry.Launch{Status: telemetry.LaunchFailed, Error: failure}
		slots, batches = 0, nil
	}
	slices.Sort(batches)
	for _, b := range batches {
		r.Done = append(r.Done, telemetry.Done{Batch: b, Executed: uint32(e.open[b] - faulted), Faulted: uint32(faulted)})
		delete(e.open, b)
	}
	e.pending[o.Queue] -= slots
	r.Pending = e.pending[o.Queue]
	e.mu.Unlock()
	settle(r)
	return nil
}
