//go:build cgo

package megakernel

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/lease"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

// TestLeaseDoesWhatTheReferenceDoes runs random programs in rounds of random
// sizes and compares statuses, results and the whole heap. A kernel that nobody
// submits to ends, so how many rounds meet a running one is up to the host: programs
// follow until enough have.
func TestLeaseDoesWhatTheReferenceDoes(t *testing.T) {
	dev := openDevice(t)
	var heap gpu.Buffer
	if err := dev.Do(func() (err error) { heap, err = dev.NewBuffer(testHeapWords * ring.WordBytes); return err }); err != nil {
		t.Fatal(err)
	}
	traits := gpu.TraitsOf(dev)
	l, err := lease.Open(dev, &traits, lease.Config{Heap: heap, HeapBytes: testHeapWords * ring.WordBytes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	published := func(n int) []ring.Status { return slices.Repeat([]ring.Status{ring.NewStatus(ring.Published)}, n) }
	const programs, wanted, most = 60, 250, 6000
	met := func() uint64 { s := l.Stats(); return s.Rounds - min(s.Rounds, s.Starts) } // a kernel is started for one round
	for seed := uint64(0); seed < programs || met() < wanted; seed++ {
		if seed == most {
			t.Fatalf("%d programs, %+v: hardly a round met a running kernel", most, l.Stats())
		}
		p := randomProgram(seed)
		r := rand.New(rand.NewPCG(seed, 7))
		p.wave.StepBudget = kernel.CopyCap // a lease takes what its slots need
		image := p.image()
		err := errors.Join(l.End(), dev.Do(func() error { dev.WriteBuffer(heap, 0, gpu.Bytes(image.Heap)); return nil }))
		if err != nil {
			t.Fatal(err)
		}
		w := lease.Window{Tenant: p.wave.Tenant, Base: p.wave.WindowBase, Length: p.wave.WindowLength}
		var slots []ring.Slot
		for i, s := range p.slots {
			if p.statuses[i].State() == ring.Published {
				slots = append(slots, s)
			}
		}
		// Submissions follow each other at once, so that they meet running kernels whatever
		// else the machine does; the reference runs afterwards.
		statuses, results := published(len(slots)), make([]uint32, len(slots))
		for at := 0; at < len(slots); {
			n := min(1+r.IntN(2*kernel.MailSlots), len(slots)-at)
			if err := l.Do(w, slots[at:at+n], statuses[at:at+n], results[at:at+n]); err != nil {
				t.Fatal(err)
			}
			at += n
		}
		for i := range slots {
			one := kernel.Image{Slots: slots[i : i+1], Statuses: published(1), Results: make([]uint32, 1),
				Schedule: []ring.Entry{ring.NewEntry(0, 1)}, Heap: image.Heap, Print: image.Print}
			wave := p.wave
			wave.Entries, wave.Chunk, wave.ClaimBudget = 1, 1, 1
			kernel.BuiltIn().Interpret(&one, kernel.Kernel{}, wave, policy.Geometry{Width: 1, Groups: 1, Chunk: 1})
			if statuses[i] != one.Statuses[0] || results[i] != one.Results[0] {
				t.Fatalf("seed %d: %s %v: %s, result %#x; want %s, %#x", seed, kernel.Opcode(slots[i].Opcode), slots[i].Args[:3],
					statuses[i], results[i], one.Statuses[0], one.Results[0])
			}
		}
		got := make([]uint32, testHeapWords)
		err = errors.Join(l.End(), dev.Do(func() error { dev.ReadBuffer(heap, 0, gpu.Bytes(got)); return dev.Check() }))
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] != image.Heap[i] {
				t.Fatalf("seed %d: heap[%d] is %#x, want %#x", seed, i, got[i], image.Heap[i])
			}
		}
	}
}
