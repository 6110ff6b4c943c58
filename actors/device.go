package actors

import (
	"fmt"
	"log/slog"
	"maps"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// device is one worker: what is known of its limits, its queues, and, if the
// worker is local, the actor that owns its engine.
type device struct {
	system *System
	name   string
	view   atomic.Pointer[deviceView]
	worker atomic.Pointer[workerActor] // nil if the worker is not local
	// working is how many queues have work at the worker, or had some lately.
	working atomic.Int32

	goal    atomic.Uint32 // ms, the least of goals; 0: none
	goalsMu sync.Mutex
	goals   map[*family]uint32 // of the queues with work

	diffusing atomic.Bool // another turn would move the priorities

	supervisor       address
	diffusionAddr    address
	workerSupervisor address // if the worker is local

	families map[string]*family // by queue; guarded by System.mu
	touched  uint64             // tick of the last announcement; guarded by System.mu

	// What the tuners of the worker's queues have while it is not local.
	room   *session.Room
	memory session.Memory

	mu     sync.Mutex
	source announcer
	author uint64 // incarnation whose launches are reported, 0 if none
}

func newDevice(s *System, name string) *device {
	d := &device{system: s, name: name, families: make(map[string]*family), goals: make(map[*family]uint32), room: session.NewRoom(workerTuners, s.room), memory: s.cfg.TunerMemory}
	if s.cfg.RemoteMemory != nil {
		d.memory = s.cfg.RemoteMemory(name)
	}
	d.view.Store(&deviceView{})
	var addresses []address
	d.supervisor, addresses = s.shell.group(name, member{name: "diffusion", receiver: &diffusionActor{device: d, places: make(map[string]int)}})
	d.diffusionAddr = addresses[0]
	return d
}

// queues returns the families of the worker; System.mu is held.
func (d *device) queues() []*family {
	return slices.Collect(maps.Values(d.families))
}

// unknown is why the queues of the worker have no plan.
func (d *device) unknown() error {
	return fmt.Errorf("%w: worker %s has neither announced itself nor an engine here", ErrNoLimits, d.name)
}

// announce takes over what a worker says of its device. It reports whether
// anything a decision depends on has changed.
func (d *device) announce(h *telemetry.Header, w *telemetry.Worker) (changed bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fresh, err := d.source.accept(h)
	if err != nil {
		return false, err
	}
	was := d.view.Load()
	if was.local {
		d.system.complain.Say(slog.LevelError, "another process announces itself as this worker: both take its work, its data and its requests; "+
			"stop one of them or give it another name", d.name, "", "incarnation", h.Incarnation)
		return false, nil
	}
	next := *was
	if fresh {
		next = deviceView{reporting: d.author == h.Incarnation}
	}
	has := w.Has
	take(has, telemetry.HasWorkerMaxWorkgroupSizeX, &next.limits.MaxWorkgroupSizeX, w.MaxWorkgroupSizeX)
	take(has, telemetry.HasWorkerMaxWorkgroupsPerDimension, &next.limits.MaxWorkgroupsPerDimension, w.MaxWorkgroupsPerDimension)
	take(has, telemetry.HasWorkerMaxInvocationsPerWorkgroup, &next.limits.MaxInvocationsPerWorkgroup, w.MaxInvocationsPerWorkgroup)
	take(has, telemetry.HasSubgroupSize, &next.limits.SubgroupSize, w.SubgroupSize)
	take(has, telemetry.HasUnits, &next.limits.Units, w.Units)
	take(has, telemetry.HasUnitLanes, &next.limits.UnitLanes, w.UnitLanes)
	take(has, telemetry.HasLeaseSlots, &next.lease.Slots, w.LeaseSlots)
	take(has, telemetry.HasMemoryBudgetBytes, &next.memoryBudget, w.MemoryBudgetBytes)
	if has.Has(telemetry.HasRenderer) {
		next.identity = IdentityOf(w)
	}
	next.known = true
	d.view.Store(&next)
	return next.limits != was.limits || next.memoryBudget != was.memoryBudget || !was.known, nil
}

// attach makes the worker local: its engine's limits hold from now on.
func (d *device) attach(limits policy.Limits, memoryBudget uint64, e Engine) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.view.Store(&deviceView{
		limits: limits, memoryBudget: memoryBudget, known: true, local: true,
		identity: e.DeviceIdentity(),
	})
}

// reports notes that an incarnation of the remote worker reports its launches,
// so that decisions commit on its reports from now on.
func (d *device) reports(incarnation uint64) {
	if v := d.view.Load(); v.reporting {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.author = incarnation
	next := *d.view.Load()
	next.reporting = true
	d.view.Store(&next)
}

// IdentityOf names the kind of a device and its driver: two devices of one
// model under one driver have the same. It is "" if the renderer is not known.
func IdentityOf(w *telemetry.Worker) string {
	if w.Renderer == "" {
		return ""
	}
	return fmt.Sprintf("%s; %s; %s", w.Vendor, w.Renderer, w.Driver)
}

// take overwrites dst if the record carries the field.
func take[T any](has, field telemetry.Presence, dst *T, v T) {
	if has.Has(field) {
		*dst = v
	}
}

// recently is for how long a queue without work still counts as one with work: whoever
// sends small batches, one after the other, is there all the time. A decision has no clock,
// so it is told how many there are.
const recently = time.Second

// quiet looks whether a lane has had no work for long enough.
type quiet struct{ lane *lane }

// others is how many other queues of the worker have work, or had some lately.
func (f *family) others() uint32 {
	n := f.device.working.Load()
	if f.working.Load() {
		n--
	}
	return uint32(max(n, 0))
}

// works counts the queue as one with work, or no longer. It says how many there are then, or 0
// if nothing changes.
func (f *family) works(has bool) (now int32) {
	if f.working.Swap(has) == has {
		return 0
	}
	defer f.tellGoal()
	if has {
		return f.device.working.Add(1)
	}
	return f.device.working.Add(-1)
}

// hasSlots takes in whether records say that a queue of a worker elsewhere has work. Of a
// worker here its lanes tell, and nothing is known from before it was here.
func (a *queueActor) hasSlots(has bool) {
	switch {
	case has && !a.device.view.Load().local:
		a.slotsAt = time.Now()
		a.works(true)
	case !a.slotsAt.IsZero() && time.Since(a.slotsAt) > recently && a.pending.Load() == 0:
		a.slotsAt = time.Time{}
		a.works(false)
	}
}

// soonest is the less of two targets or deadlines, of which 0 is none.
func soonest(a, b uint32) uint32 {
	if a == 0 || b == 0 {
		return a | b
	}
	return min(a, b)
}

// goal is within how many milliseconds slots of the queue are wanted: by its latency target,
// or the shortest deadline of its batches of late. 0: nobody said.
func (f *family) goal() uint32 { return soonest(f.cell.target.Load(), f.deadline.Load()) }

// urgent says whether somebody waits for the queue's slots by the clock.
func (f *family) urgent() bool { return f.goal() != 0 }

// goalWithWork is the goal of a queue that has work, else 0.
func (f *family) goalWithWork() uint32 {
	if !f.working.Load() {
		return 0
	}
	return f.goal()
}

// tellGoal has the worker's other queues know the goal of a queue that has work. If that is the
// least now, or was, the next launches here are of plans that know.
func (f *family) tellGoal() {
	if f.goalWithWork() == f.told.Load() {
		return // as with every record but a few
	}
	if d := f.device; d.takeGoal(f) {
		if w := d.worker.Load(); w != nil {
			w.post(sharedAnew{})
		}
	}
}

// takeGoal keeps the least of the goals and says whether it has changed by so much that the
// other queues should know at once: to another power of two, so that batches whose deadlines
// differ a little do not have all queues decide with each of them.
func (d *device) takeGoal(f *family) (changed bool) {
	d.goalsMu.Lock()
	defer d.goalsMu.Unlock()
	goal, before, least := f.goalWithWork(), f.told.Load(), d.goal.Load()
	if goal == before {
		return false
	}
	f.told.Store(goal)
	if goal == 0 {
		delete(d.goals, f)
	} else {
		d.goals[f] = goal
	}
	if next := soonest(least, goal); before != least || goal != 0 && goal < least {
		d.goal.Store(next)
		return bits.Len32(next) != bits.Len32(least)
	}
	next := uint32(0) // it may have been the least
	for _, g := range d.goals {
		next = soonest(next, g)
	}
	d.goal.Store(next)
	return bits.Len32(next) != bits.Len32(least)
}

// hasWork notes that a lane has work, or has none from now on.
func (w *workerActor) hasWork(l *lane, has bool) {
	if !has {
		l.idleSince = time.Now()
		w.waitQuiet(l, recently)
		return
	}
	if l.family.works(true) == 2 {
		w.share()
	}
}

func (w *workerActor) waitQuiet(l *lane, wait time.Duration) {
	if !l.quietDue {
		l.quietDue = true
		time.AfterFunc(wait, func() { w.post(&quiet{l}) })
	}
}

// fallsQuiet no longer counts a lane that has had no work for long enough.
func (w *workerActor) fallsQuiet(l *lane) {
	l.quietDue = false
	if l.pending > 0 {
		return
	}
	if wait := recently - time.Since(l.idleSince); wait > 0 {
		w.waitQuiet(l, wait)
		return
	}
	l.family.deadline.Store(0)
	if l.family.works(false) == 1 {
		w.share()
	}
}

// sharedAnew has the worker actor share.
type sharedAnew struct{}

// share has the queues that count as working decide again when one of them is no longer
// alone, or is from now on, or when the least of their goals is another, so that their next
// launches are of a plan that knows. Nothing follows from that for a queue of which no launch was
// measured: it was alone when it decided on its first launch.
func (w *workerActor) share() {
	for _, l := range w.lanes {
		if l.family.working.Load() && l.family.cell.measured() {
			l.family.dispatch(l.family.cell.requestDecision())
		}
	}
}
