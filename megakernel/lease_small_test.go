//go:build cgo

package megakernel

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"ringmaster/ring"
)

// TestRoundsOfFewOpcodesHaveASmallerKernel follows which kernel runs what, and why one ends.
func TestRoundsOfFewOpcodesHaveASmallerKernel(t *testing.T) {
	dev := openDevice(t)
	hot := NewOpcodeSet(OpAdd, OpLoad)
	l, _ := openLease(t, dev, 64, func(c *LeaseConfig) { c.Hot = hot })
	l.limit(l.turns, ^uint32(0)) // none ends for want of rounds
	do := func(small bool, s ring.Slot, want uint32) error {
		status, result := published(1), make([]uint32, 1)
		if err := l.Do(Window{Length: 64}, []ring.Slot{s}, status, result); err != nil || status[0].State() != ring.Done {
			t.Fatalf("%s, %v", status[0], err)
		}
		k, fingerprint := l.last()
		if fingerprint != Fingerprint(l.catalog.Source(k)) || k.Kind != Lease || result[0] != want {
			t.Fatalf("opcode %d by %s: result %d, want %d", s.Opcode, k, result[0], want)
		}
		if (k.Hot == hot) != small {
			return fmt.Errorf("opcode %d ran on %s", s.Opcode, k)
		}
		return nil
	}
	end := func() error { return l.End(LeaseEndWave) }
	scenario := func() error {
		return errors.Join(
			do(true, slot(OpAdd, 0, 5, 3), 0),
			do(false, slot(OpCompareSwap, 0, 3, 5, 9), 5), // the small one ends
			do(false, slot(OpLoad, 0, 3), 9),              // the other takes all
			end(),
			do(false, slot(OpAdd, 0, ^uint32(8), 3), 0), // the one before was needed
			end(),
			do(true, slot(OpLoad, 0, 3), 0), // this one was not
			end(),
		)
	}
	own := func(s LeaseStats) uint64 { return s.Ends[LeaseEndTurns] + s.Ends[LeaseEndIdle] + s.Ends[LeaseEndTime] }
	// Kernels also end by their count of turns, of which a busy host may let any number pass.
	for range 100 {
		before := l.Stats()
		err := scenario()
		after := l.Stats()
		if own(after) != own(before) {
			continue
		}
		if n := after.Ends[LeaseEndKernel] - before.Ends[LeaseEndKernel]; err != nil || n != 1 || after.Starts-before.Starts != 4 {
			t.Errorf("%d kernels ended for another one: %v", n, err)
		}
		return
	}
	t.Error("kernels ended by themselves a hundred times")
}

// TestEverySlotRunsOnceWhicheverKernelIsThere mixes submissions of the small kernel's
// opcodes and of others, while kernels also end by themselves.
func TestEverySlotRunsOnceWhicheverKernelIsThere(t *testing.T) {
	const words = 256
	dev := openDevice(t)
	l, heap := openLease(t, dev, words, func(c *LeaseConfig) { c.Hot = NewOpcodeSet(OpAdd) })
	r := rand.New(rand.NewPCG(7, 8))
	want, got := make([]uint32, words), make([]uint32, words)
	for range 600 {
		l.limit(l.round+r.Uint32N(300), 1+r.Uint32N(400))
		slots := make([]ring.Slot, 1+r.IntN(40))
		wide := r.IntN(4) == 0
		for i := range slots {
			word := r.Uint32N(words / 2)
			slots[i] = slot(OpAdd, 0, 1, word)
			want[word]++
			if wide && r.IntN(3) == 0 {
				slots[i], want[word] = slot(OpPacked, 0), want[word]+1
				slots[i].Args, _ = Pack(Part{OpAdd, []uint32{1, word}}, Part{OpAdd, []uint32{1, word}})
			}
		}
		status, result := published(len(slots)), make([]uint32, len(slots))
		if err := l.Do(Window{Length: words}, slots, status, result); err != nil {
			t.Fatal(err)
		}
		for i, s := range status {
			if s.State() != ring.Done {
				t.Fatalf("slot %d of opcode %d is %s", i, slots[i].Opcode, s)
			}
		}
	}
	err := l.Exclusive(LeaseEndTransfer, func() error {
		return dev.Do(func() error { dev.ReadBuffer(heap, 0, bytesOf(got)); return dev.Check() })
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("word %d is %d, want %d", i, got[i], want[i])
		}
	}
	if s := l.Stats(); s.Starts < 20 {
		t.Errorf("%+v", s)
	}
}
