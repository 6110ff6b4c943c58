package megakernel

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/ring"
)

// Sizes of the benchmark of a lease.
const (
	LeaseBenchSlots  = 16     // slots of a submission
	LeaseBenchRounds = 20_000 // submissions to the lease
	leaseBenchWaves  = 500    // launches by either way
)

// Percentiles are of the times from a submission to its results.
type Percentiles struct {
	P50, P99 time.Duration
	Count    int
}

func percentiles(times []time.Duration) Percentiles {
	slices.Sort(times)
	n := len(times)
	return Percentiles{P50: times[n/2], P99: times[n*99/100], Count: n}
}

// LeaseTimes is what small submissions take by either way, in the same run.
type LeaseTimes struct {
	Lease   Percentiles // Resident.Do
	Launch  Percentiles // Engine.Submit and Engine.Launch, on the resident kernel
	Wave    Percentiles // likewise, as a wave
	Support LeaseSupport
	Stats   LeaseStats
}

// LeaseBench times submissions of LeaseBenchSlots slots of four opcodes, one
// after another, by a lease and by waves, and checks what they did. The error
// is one of OpenLease if the device has no lease.
func LeaseBench(dev gpu.Device, rounds int) (t LeaseTimes, err error) {
	const words = 1 << 12
	var heap gpu.Buffer
	if err = dev.Do(func() (err error) {
		heap, err = dev.NewBuffer(words * ring.WordBytes)
		return err
	}); err != nil {
		return t, err
	}
	defer func() {
		err = errors.Join(err, dev.Do(func() error {
			dev.DeleteBuffer(heap)
			return nil
		}))
	}()
	l, err := OpenLease(dev, LeaseConfig{Heap: heap, HeapBytes: words * ring.WordBytes})
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	t.Support = l.Support()
	if t.Lease, err = timeLease(l, Window{Tenant: 1, Length: words}, rounds); err != nil {
		return t, err
	}
	if err = l.End(LeaseEndWave); err != nil {
		return t, err
	}
	t.Stats = l.Stats()
	if t.Wave, err = timeLaunches(dev, ModeWave); err == nil {
		t.Launch, err = timeLaunches(dev, ModeLease)
	}
	return t, err
}

// leaseBenchSlot is slot i of a submission: nop, store, add and load in turn.
func leaseBenchSlot(i uint32) ring.Slot {
	s := ring.Slot{Opcode: uint32([]Opcode{OpNop, OpStore, OpAdd, OpLoad}[i&3])}
	switch i & 3 {
	case 1:
		s.Args[0], s.Args[1] = i, i
	case 2:
		s.Args[0], s.Args[1] = 1, i
	case 3:
		s.Args[0] = i - 2 // what the store before it writes
	}
	return s
}

// leaseWarm is how long a GPU runs submissions before they are counted. Its clock
// falls while it has little to do: after two seconds without work a round was seen
// to take 10 µs instead of 4, for the 0.4 s until the clock had risen.
const leaseWarm = 600 * time.Millisecond

// warmUp returns a function that reports whether a benchmark's rounds count yet:
// not its first ones, and not before a GPU is at its clock.
func warmUp(dev gpu.Device, first int) func(round int) bool {
	warm := leaseWarm
	if dev.Software() {
		warm = 0
	}
	begin := time.Now()
	return func(round int) bool {
		if round >= first && warm > 0 && time.Since(begin) >= warm {
			warm = 0
		}
		return round >= first && warm == 0
	}
}

// timeLease times rounds; the first tenth is not counted.
func timeLease(l *Resident, w Window, rounds int) (Percentiles, error) {
	slots := make([]ring.Slot, LeaseBenchSlots)
	statuses := make([]ring.Status, LeaseBenchSlots)
	results := make([]uint32, LeaseBenchSlots)
	for i := range slots {
		slots[i] = leaseBenchSlot(uint32(i))
		slots[i].Tenant = w.Tenant
	}
	times := make([]time.Duration, 0, rounds)
	counts := warmUp(l.dev, rounds/10)
	for round := 0; len(times) < rounds; round++ {
		for i := range statuses {
			statuses[i] = ring.NewStatus(ring.Published)
		}
		counted := counts(round)
		begin := time.Now()
		if err := l.Do(w, slots, statuses, results); err != nil {
			return Percentiles{}, err
		}
		if took := time.Since(begin); counted {
			times = append(times, took)
		}
		for i, status := range statuses {
			if status.State() != ring.Done || i&3 == 3 && round > 0 && results[i] != uint32(i-2) {
				return Percentiles{}, fmt.Errorf("megakernel: lease: round %d, slot %d: %s, result %d: %w", round, i, status, results[i], ErrDevice)
			}
		}
	}
	return percentiles(times), nil
}

// timeLaunches times the same submissions as launches of an engine.
func timeLaunches(dev gpu.Device, mode LaunchMode) (p Percentiles, err error) {
	cfg := DefaultConfig()
	cfg.Lease = mode != ModeWave
	e, err := New(dev, cfg)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	times := make([]time.Duration, 0, leaseBenchWaves)
	counts := warmUp(dev, leaseBenchWaves/10)
	for round := 0; len(times) < leaseBenchWaves; round++ {
		slots := make([]ring.Slot, LeaseBenchSlots)
		for i := range slots {
			slots[i] = leaseBenchSlot(uint32(i))
		}
		counted := counts(round)
		begin := time.Now()
		if err = e.Submit("bench", Batch{Slots: slots, WantResults: true}); err != nil {
			return p, err
		}
		report, err := e.Launch(Order{Queue: "bench", Geometry: Geometry{Width: leaseWidth, Groups: 1, Chunk: leaseWidth}, Mode: mode})
		if err != nil {
			return p, err
		}
		if took := time.Since(begin); counted {
			times = append(times, took)
		}
		if len(report.Finished) != 1 || report.Executed != LeaseBenchSlots || report.Leased != (mode != ModeWave) {
			return p, fmt.Errorf("megakernel: launch %d by %s executed %d slots: %w", round, mode, report.Executed, ErrDevice)
		}
	}
	return percentiles(times), nil
}
