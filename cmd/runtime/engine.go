package main

import (
	"errors"
	"fmt"
	"time"

	"ringmaster/actors"
	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/ring"
	"ringmaster/telemetry"
)

// engine is the worker actor's port to a ring. It translates between wire
// records and ring batches, and runs launches on goroutines of its own, so that
// the actor never waits for the device; see pipeline.go.
type engine struct {
	ring     *megakernel.Engine
	mode     megakernel.LaunchMode
	keeper   rebuilder
	watchdog *watchdog // nil: launches may take as long as they like
	orders   chan launchOrder
	repairs  chan struct{} // holds one token if the device may be lost
	waits    chan megakernel.Ticket
	landed   chan landing
	prints   printShelf
	done     chan struct{}
	binaries *disk.Dir // nil: none
}

type launchOrder struct {
	actors.Order
	settled func(actors.Report)
}

// newEngine makes a ring with the given opcodes (nil: the built-in ones) on a
// device. Its close also closes the device and the binaries.
func newEngine(device glDevice, opcodes *megakernel.Catalog, binaries *disk.Dir, lease leaseChoice, keeper rebuilder, watchdog *watchdog, change ...func(*megakernel.Config)) (*engine, error) {
	cfg := megakernel.DefaultConfig()
	cfg.Catalog = opcodes
	cfg.Beside, cfg.Binaries, cfg.Log = beside, binaries, keeper.log
	cfg.Lease, cfg.LeaseDuration = lease.mode != megakernel.ModeWave, lease.duration
	for _, change := range change {
		change(&cfg)
	}
	ring, err := megakernel.New(device, cfg)
	if err != nil {
		return nil, err
	}
	ring.Prefetch(candidateKernels(device)...)
	keeper.device = device
	keeper.attend(watchdog)
	e := &engine{
		ring: ring, mode: lease.mode, keeper: keeper, watchdog: watchdog, binaries: binaries,
		orders: make(chan launchOrder, megakernel.MaxInFlight), repairs: make(chan struct{}, 1), done: make(chan struct{}),
		waits: make(chan megakernel.Ticket, 1), landed: make(chan landing, 1),
	}
	go e.wait()
	go e.loop()
	return e, nil
}

// close stops the loop, frees the ring and closes its device. The worker actor must
// have been drained before.
func (e *engine) close() error {
	close(e.keeper.quit)
	close(e.orders)
	<-e.done
	e.watchdog.stop()
	err := errors.Join(e.ring.Close(), e.keeper.close())
	if e.binaries != nil {
		err = errors.Join(err, e.binaries.Close())
	}
	return err
}

// borrow lends the device to users other than the ring. The watchdog times each turn.
func (e *engine) borrow(fn func(gpu.Device) error) error {
	defer e.watchdog.use("a turn of a graph request")()
	return e.ring.Borrow(fn)
}

// repair has a lost device rebuilt now instead of at the next launch. It does not wait.
func (e *engine) repair() {
	select {
	case e.repairs <- struct{}{}:
	default:
	}
}

// LaunchMode implements actors.Engine.
func (e *engine) LaunchMode() string { return e.mode.String() }

// Submit implements actors.Engine.
func (e *engine) Submit(queue string, w *telemetry.Work) error {
	batch := megakernel.Batch{ID: w.Batch, WantResults: w.WantResults, Slots: make([]ring.Slot, len(w.Slots))}
	for i := range w.Slots {
		s := &w.Slots[i]
		batch.Slots[i] = ring.Slot{Opcode: s.Opcode, Priority: s.Priority, Args: s.Args}
	}
	if w.Has.Has(telemetry.HasEpoch) {
		batch.Epoch = w.Epoch
	}
	if w.Has.Has(telemetry.HasDeadlineMs) && w.DeadlineMs > 0 {
		batch.Deadline = time.Now().Add(time.Duration(w.DeadlineMs) * time.Millisecond)
	}
	err := e.ring.Submit(queue, batch)
	if errors.Is(err, megakernel.ErrQuota) {
		return fmt.Errorf("%w: %w", actors.ErrQuota, err)
	}
	if errors.Is(err, megakernel.ErrBacklog) || errors.Is(err, megakernel.ErrQueues) || errors.Is(err, megakernel.ErrMoving) {
		return fmt.Errorf("%w: %w", actors.ErrBusy, err)
	}
	return err
}

// Launch implements actors.Engine. It never blocks the worker actor, which has fewer
// launches under way than the channel holds.
func (e *engine) Launch(o actors.Order, settled func(actors.Report)) {
	e.orders <- launchOrder{o, settled}
}

// launchRecord is the wire form of a report.
func launchRecord(r *megakernel.Report) telemetry.Launch {
	l := telemetry.Launch{
		Launch: r.Launch, Decision: r.Decision, Status: telemetry.LaunchOK,
		Applied: geometryRecord(r.Applied), Recommended: geometryRecord(r.Recommended), NotApplied: r.NotApplied,
		ElapsedNs: r.ElapsedNs, TimeSource: timeSource(r.TimeSource), IdleNs: r.IdleNs, WallNs: r.WallNs,
		Executed: uint64(r.Executed), Faulted: uint64(r.Faulted), Requeued: uint64(r.Requeued),
		OpcodeCounts: r.Opcodes[:], Fingerprint: r.Fingerprint[:],
	}
	if r.Leased {
		l.Mode = telemetry.ModeLease
	}
	l.Has = telemetry.HasLaunch | telemetry.HasDecision | telemetry.HasStatus |
		telemetry.HasAppliedWorkgroupSizeX | telemetry.HasAppliedGroups | telemetry.HasAppliedClaimChunk |
		telemetry.HasRecommendedWorkgroupSizeX | telemetry.HasRecommendedGroups | telemetry.HasRecommendedClaimChunk |
		telemetry.HasElapsedNs | telemetry.HasTimeSource | telemetry.HasIdleNs | telemetry.HasWallNs |
		telemetry.HasExecuted | telemetry.HasFaulted | telemetry.HasRequeued | telemetry.HasOpcodeCounts | telemetry.HasFingerprint
	if l.NotApplied != "" {
		l.Has |= telemetry.HasNotApplied
	}
	if r.TimeSource != megakernel.TimeNone { // else nothing ran
		l.Kernel = r.Kernel.String()
		l.Has |= telemetry.HasMode | telemetry.HasKernel
	}
	return l
}

func geometryRecord(g megakernel.Geometry) telemetry.Geometry {
	return telemetry.Geometry{WorkgroupSizeX: g.Width, Groups: g.Groups, ClaimChunk: g.Chunk}
}

func timeSource(t megakernel.TimeSource) telemetry.TimeSource {
	switch t {
	case megakernel.TimeDevice:
		return telemetry.TimeQuery
	case megakernel.TimeFinish:
		return telemetry.TimeWall
	}
	return telemetry.TimeNone
}

func doneRecord(b *megakernel.BatchResult) telemetry.Done {
	d := telemetry.Done{Batch: b.ID, Executed: b.Executed, Faulted: b.Faulted, Results: b.Results, Dropped: b.Dropped, Error: droppedBecause(b.Err)}
	for _, f := range b.Faults[:min(len(b.Faults), telemetry.MaxFaults)] {
		d.Faults = append(d.Faults, telemetry.Fault{Index: f.Index, Code: uint32(f.Code)})
	}
	return d
}

// droppedBecause is what a done record says of why slots did not run.
func droppedBecause(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, megakernel.ErrHeapLost):
		return "heap lost"
	case errors.Is(err, megakernel.ErrCanceled):
		return "canceled"
	case errors.Is(err, megakernel.ErrDeadline):
		return "deadline"
	case gpu.Lost(err):
		return "device lost"
	}
	return err.Error()
}

// announcement describes the device and the operator's opcodes to everybody else.
// A nil catalog has the built-in opcodes only.
func announcement(device glDevice, opcodes *megakernel.Catalog) telemetry.Worker {
	info := device.Info()
	w := telemetry.Worker{
		Vendor: info.Vendor, Renderer: info.Renderer, Driver: info.Version,
		DeviceUUID: info.Capabilities.DeviceUUID, SubgroupSize: info.Capabilities.SubgroupSize,
		Capabilities: info.Capabilities.List(),
	}
	w.MaxWorkgroupSizeX, w.MaxWorkgroupsPerDimension, w.MaxInvocationsPerWorkgroup = device.WorkgroupLimits()
	w.Has = telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension | telemetry.HasWorkerMaxInvocationsPerWorkgroup |
		telemetry.HasSubgroupSize | telemetry.HasVendor | telemetry.HasRenderer | telemetry.HasDriver |
		telemetry.HasDeviceUUID | telemetry.HasMemoryBudgetBytes | telemetry.HasCapabilities | telemetry.HasOpcodes
	if opcodes != nil {
		for _, op := range opcodes.User() {
			w.Opcodes = append(w.Opcodes, telemetry.Opcode{ID: op.ID, Name: op.Name})
		}
	}
	return w
}
