package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/lease"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

const (
	leaseSlots  = 16     // slots of a submission
	leaseRounds = 20_000 // submissions to the lease
	leaseWaves  = 500    // launches by either way
	leaseWords  = 1 << 12
)

// percentiles are of the times from a submission to its results, in µs.
type percentiles struct{ p50, p99 float64 }

func percentilesOf(times []time.Duration) percentiles {
	slices.Sort(times)
	at := func(i int) float64 { return float64(times[i].Nanoseconds()) / 1000 }
	return percentiles{at(len(times) / 2), at(len(times) * 99 / 100)}
}

// benchLease times small submissions of four opcodes, one after another, on a resident kernel by itself, by
// launches on it, and by launches as waves, and checks what they did. A device without a lease has no such rows.
func benchLease(s *session) error {
	resident, err := leaseTimes(s, leaseRounds)
	if errors.Is(err, lease.ErrUnavailable) {
		return nil
	}
	if err != nil {
		return err
	}
	wave, err := launchTimes(s, megakernel.ModeWave)
	if err != nil {
		return err
	}
	launch, err := launchTimes(s, megakernel.ModeLease)
	if err != nil {
		return err
	}
	for _, r := range []struct {
		name        string
		value, wave float64
	}{
		{"lease/p50", resident.p50, wave.p50}, {"lease/p99", resident.p99, wave.p99},
		{"lease/launch/p50", launch.p50, wave.p50}, {"lease/launch/p99", launch.p99, wave.p99},
	} {
		s.row(row{Name: r.name, Value: r.value, Unit: "µs", Yardstick: "wave of the same 16 slots, submission to report", YardstickValue: r.wave})
	}
	return nil
}

// leaseTimes opens a lease on a heap of its own and times rounds.
func leaseTimes(s *session, n int) (p percentiles, err error) {
	var heap gpu.Buffer
	if err = s.device.Do(func() (err error) {
		heap, err = s.device.NewBuffer(leaseWords * ring.WordBytes)
		return err
	}); err != nil {
		return p, err
	}
	defer func() {
		err = errors.Join(err, s.device.Do(func() error {
			s.device.DeleteBuffer(heap)
			return nil
		}))
	}()
	traits := gpu.TraitsOf(s.device)
	l, err := lease.Open(s.device, &traits, lease.Config{Heap: heap, HeapBytes: leaseWords * ring.WordBytes})
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return timeLease(s, l, n)
}

// leaseSlot is slot i of a submission: nop, store, add and load in turn.
func leaseSlot(i uint32) ring.Slot {
	s := ring.Slot{Opcode: uint32([]kernel.Opcode{kernel.OpNop, kernel.OpStore, kernel.OpAdd, kernel.OpLoad}[i&3])}
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
func warmUp(s *session, first int) func(round int) bool {
	warm := leaseWarm
	if s.device.Info().Software {
		warm = 0
	}
	begin := time.Now()
	return func(round int) bool { return round >= first && time.Since(begin) >= warm }
}

// timeLease times rounds; the first tenth is not counted.
func timeLease(s *session, l *lease.Lease, n int) (percentiles, error) {
	w := lease.Window{Tenant: 1, Length: leaseWords}
	slots := make([]ring.Slot, leaseSlots)
	statuses := make([]ring.Status, leaseSlots)
	results := make([]uint32, leaseSlots)
	for i := range slots {
		slots[i] = leaseSlot(uint32(i))
		slots[i].Tenant = w.Tenant
	}
	times := make([]time.Duration, 0, n)
	counts := warmUp(s, n/10)
	for round := 0; len(times) < n; round++ {
		for i := range statuses {
			statuses[i] = ring.NewStatus(ring.Published)
		}
		counted := counts(round)
		begin := time.Now()
		if err := l.Do(w, slots, statuses, results); err != nil {
			return percentiles{}, err
		}
		if took := time.Since(begin); counted {
			times = append(times, took)
		}
		for i, status := range statuses {
			if status.State() != ring.Done || i&3 == 3 && round > 0 && results[i] != uint32(i-2) {
				return percentiles{}, fmt.Errorf("round %d, slot %d: %s, result %d: %w", round, i, status, results[i], megakernel.ErrDevice)
			}
		}
	}
	return percentilesOf(times), nil
}

// launchTimes times the same submissions as launches of an engine.
func launchTimes(s *session, mode megakernel.LaunchMode) (p percentiles, err error) {
	cfg := megakernel.DefaultConfig()
	cfg.Lease = mode != megakernel.ModeWave
	e, err := megakernel.New(s.device, cfg)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	times := make([]time.Duration, 0, leaseWaves)
	counts := warmUp(s, leaseWaves/10)
	for round := 0; len(times) < leaseWaves; round++ {
		slots := make([]ring.Slot, leaseSlots)
		for i := range slots {
			slots[i] = leaseSlot(uint32(i))
		}
		counted := counts(round)
		begin := time.Now()
		if err = e.Submit("bench", megakernel.Batch{Slots: slots, WantResults: true}); err != nil {
			return p, err
		}
		report, err := e.Launch(megakernel.Order{Queue: "bench", Geometry: policy.Geometry{Width: 64, Groups: 1, Chunk: 64}, Mode: mode})
		if err != nil {
			return p, err
		}
		if took := time.Since(begin); counted {
			times = append(times, took)
		}
		if len(report.Finished) != 1 || report.Executed != leaseSlots || report.Leased != (mode != megakernel.ModeWave) {
			return p, fmt.Errorf("launch %d by %s executed %d slots: %w", round, mode, report.Executed, megakernel.ErrDevice)
		}
	}
	return percentilesOf(times), nil
}
