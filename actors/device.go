package actors

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"ringmaster/actors/order"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// device is one worker: what is known of its limits, its queues, and, if the
// worker is local, the actor that owns its engine.
type device struct {
	system  *System
	name    string
	view    atomic.Pointer[deviceView]
	worker  atomic.Pointer[workerActor] // nil if the worker is not local
	sharing sharing
	ahead   atomic.Int64 // nanoseconds of the device that the slots in hand are expected to take, see System.Ahead

	diffusing atomic.Bool // another turn would move the priorities

	supervisor       address
	diffusionAddr    address
	workerSupervisor address // if the worker is local

	families  map[string]*family // by queue; guarded by System.mu
	mentioned atomic.Uint64      // tick of the last announcement, record or batch
	emptied   uint64             // tick at which a queue of it was forgotten; guarded by System.mu
	every     atomic.Uint64      // intervals from one heartbeat of a queue to its next
	pace      allowance          // of queues that become known by telemetry; guarded by System.mu

	// What the tuners of the worker's queues have while it is not local.
	room   *session.Room
	memory session.Memory

	mu     sync.Mutex
	source order.Announcer
	author uint64 // incarnation whose launches are reported, 0 if none
}

func newDevice(s *System, name string) *device {
	d := &device{system: s, name: name, families: make(map[string]*family), sharing: sharing{goals: make(map[*family]uint32)}, room: session.NewRoom(workerTuners, s.room), memory: s.cfg.TunerMemory}
	if s.cfg.RemoteMemory != nil {
		d.memory = s.cfg.RemoteMemory(name)
	}
	d.view.Store(&deviceView{})
	d.every.Store(1)
	d.mention(s.tick.Load())
	var addresses []address
	d.supervisor, addresses = s.shell.group(name, member{name: "diffusion", receiver: &diffusionActor{device: d, places: make(map[string]int)}})
	d.diffusionAddr = addresses[0]
	return d
}

// queues returns the families of the worker; System.mu is held.
func (d *device) queues() []*family {
	return slices.Collect(maps.Values(d.families))
}

// mention notes that somebody spoke of the worker or one of its queues.
func (d *device) mention(tick uint64) {
	if d.mentioned.Load() != tick { // many records come in one tick
		d.mentioned.Store(tick)
	}
}

// unknown is why the queues of the worker have no plan.
func (d *device) unknown() error {
	return fmt.Errorf("%w, %s: start `ringmaster run` there, or publish a worker record", ErrNoLimits, d.name)
}

// announce takes over what a worker says of its device. It reports whether
// anything a decision depends on has changed.
func (d *device) announce(h *telemetry.Header, w *telemetry.Worker) (changed bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fresh, err := d.source.Accept(h)
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
