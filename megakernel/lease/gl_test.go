//go:build cgo

package lease

import (
	"errors"
	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel/gpu"
	"testing"

	"go.uber.org/goleak"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernel/kerneltest"
	"ringmaster/ring"
)

func TestDeviceHasALeaseAndSaysHowLong(t *testing.T) {
	dev := gltest.Open(t)
	l, heap := openLease(t, dev, 1<<10, nil)
	s := l.Support()
	if s.Turn <= 0 || s.Round <= 0 || s.Turns <= l.round {
		t.Errorf("%+v", s)
	}
	t.Log(s)
	_ = heap
}

// openLease opens a lease on a heap of its own.
func openLease(t testing.TB, dev gpu.Device, heapWords int, change func(*Config)) (l *Lease, heap gpu.Buffer) {
	t.Helper()
	cfg := Config{HeapBytes: heapWords * 4}
	err := dev.Do(func() (err error) {
		heap, err = dev.NewBuffer(cfg.HeapBytes)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Heap = heap
	if change != nil {
		change(&cfg)
	}
	traits := gpu.TraitsOf(dev)
	l, err = Open(dev, &traits, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		dev.Do(func() error { dev.DeleteBuffer(heap); return nil })
	})
	return l, heap
}

func TestEverySlotRunsOnceOnTheDeviceWheneverAKernelEnds(t *testing.T) {
	dev := gltest.Open(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const words = 1 << 14
	l, heap := openLease(t, dev, words, nil)
	used := uint32(0)
	counts := make([]uint32, words)
	for seed := range uint64(12) {
		// Kernels of few turns end by themselves all the time.
		l.limit(l.round+[]uint32{0, 1, 3, 50, 1000, 1 << 14}[seed%6], []uint32{1, 20, 5000}[seed%3])
		err := dev.Do(func() error { dev.ClearBuffer(heap, 0, words*4); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if used, err = countedSlots(l, seed, 120, kernel.MailSlots, words); err != nil {
			t.Fatal(err)
		}
		err = errors.Join(l.End(), dev.Do(func() error { dev.ReadBuffer(heap, 0, gpu.Bytes(counts)); return dev.Check() }))
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range counts {
			if want := uint32(0); n != want && i >= int(used) || n != 1 && i < int(used) {
				t.Fatalf("seed %d: word %d of %d used: added %d times", seed, i, used, n)
			}
		}
	}
	t.Logf("%+v", l.Stats())
}

// TestNextKernelFindsTheRoundOfOneThatEndedByItself has kernels end by each of their own counts,
// waits for that, and gives the lease its next round only then.
func TestNextKernelFindsTheRoundOfOneThatEndedByItself(t *testing.T) {
	dev := gltest.Open(t)
	l, _ := openLease(t, dev, 1<<10, func(c *Config) { c.Duration = MaxDuration })
	allowed := l.support.Turns
	do := func(s ring.Slot) uint32 {
		t.Helper()
		result := make([]uint32, 1)
		if err := l.Do(Window{Length: 1 << 10}, []ring.Slot{s}, published(1), result); err != nil {
			t.Fatal(err)
		}
		return result[0]
	}
	do(slot(kernel.OpStore, 0, 0, 0))
	added := uint32(0)
	add := func() {
		t.Helper()
		do(slot(kernel.OpAdd, 0, 1, 0))
		added++
	}
	for _, own := range []struct {
		cause       kernel.Cause
		turns, idle uint32
	}{{kernel.CauseTurns, l.round + 1, 1 << 30}, {kernel.CauseIdle, allowed, 1}} {
		l.limit(own.turns, own.idle)
		// Again if the host has stopped for so long that a kernel's time was over first.
		for met := false; !met; {
			if err := l.End(); err != nil {
				t.Fatal(err)
			}
			add()
			l.mu.Lock()
			last := l.kernel
			l.mu.Unlock()
			<-last.gone
			met = kernel.Cause(l.word(kernel.MailCause)) == own.cause
			before := l.Stats().Resubmitted
			add()
			if l.Stats().Resubmitted == before {
				t.Errorf("cause %d: a round found a kernel that had ended", own.cause)
			}
		}
	}
	if sum := do(slot(kernel.OpLoad, 0, 0)); sum != added {
		t.Errorf("%d rounds added 1, the word is %d", added, sum)
	}
}

// roundKinds are rounds that cost many loop iterations, each in another of the
// kernel's loops.
var roundKinds = []struct {
	name string
	fill func(r uint32, slots []ring.Slot)
	n    int
}{
	{"copies", func(r uint32, slots []ring.Slot) {
		for i := range slots {
			slots[i] = slot(kernel.OpCopy, 0, 0, 2048, kernel.CopyCap)
		}
	}, kernel.MailSlots},
	{"one copy", func(r uint32, slots []ring.Slot) { slots[0] = slot(kernel.OpCopy, 0, 0, 2048, kernel.CopyCap) }, 1},
	{"packed", func(r uint32, slots []ring.Slot) {
		for i := range slots {
			args, _ := kerneltest.Pack(kerneltest.Part{Opcode: uint32(kernel.OpNop)}, kerneltest.Part{Opcode: uint32(kernel.OpStore), Args: []uint32{1, 5}}, kerneltest.Part{Opcode: uint32(kernel.OpNop)}, kerneltest.Part{Opcode: uint32(kernel.OpNop)})
			slots[i] = slot(kernel.OpPacked, 0, args[:]...)
		}
	}, kernel.MailSlots},
	{"one nop", func(uint32, []ring.Slot) {}, 1},
}

// TestLeaseEndsBeforeLoopsAreCutShort uses kernels up by each kind of round
// and checks after every round that its loops ran to their ends. Then it gives
// a kernel more turns than the lease would: where the device cuts loops short,
// the kernel must have counted more iterations than the lease allows; where it
// does not, the kernel ends by its count or its time and every round is whole.
func TestLeaseEndsBeforeLoopsAreCutShort(t *testing.T) {
	dev := gltest.Open(t)
	l, _ := openLease(t, dev, 1<<13, func(c *Config) { c.Duration = MaxDuration })
	for _, kind := range roundKinds {
		t.Run(kind.name, func(t *testing.T) {
			for range 3 {
				if wrong, spent := useUp(t, l, kind.fill, kind.n, min(l.support.Turns, kernel.DefaultLoopBudget-64)); wrong || spent > kernel.DefaultLoopBudget-63 {
					t.Fatalf("wrong: %v, after %d iterations", wrong, spent)
				}
			}
			wrong, spent := useUp(t, l, kind.fill, kind.n, 4*kernel.DefaultLoopBudget)
			if l.support.Limited && (spent < kernel.DefaultLoopBudget || spent > 3*kernel.DefaultLoopBudget) {
				t.Errorf("cut short after %d iterations by its own count", spent)
			}
			if !l.support.Limited && wrong {
				t.Errorf("a round fell short within %d iterations, though the device has no limit", spent)
			}
			t.Logf("allowed %d iterations, took %d, wrong: %v", 4*kernel.DefaultLoopBudget, spent, wrong)
		})
	}
	t.Logf("%s; %+v", l.support, l.Stats())
}

// useUp runs rounds until the kernel that ran the first has ended. It returns
// whether a copy among them fell short, and how many iterations that kernel counted.
func useUp(t *testing.T, l *Lease, fill func(uint32, []ring.Slot), n int, turns uint32) (wrong bool, spent uint32) {
	l.limit(turns, 1<<30)
	if err := l.End(); err != nil {
		t.Fatal(err)
	}
	do := func(slots ...ring.Slot) []uint32 {
		results := make([]uint32, len(slots))
		if err := l.Do(Window{Length: 1 << 13}, slots, published(len(slots)), results); err != nil {
			t.Fatal(err)
		}
		return results
	}
	slots := make([]ring.Slot, n)
	for r, first := uint32(1), l.Stats().Starts+1; ; r++ {
		do(slot(kernel.OpStore, 0, r, kernel.CopyCap-1))
		fill(r, slots)
		do(slots...)
		if l.Stats().Starts > first { // kernel.MailSpent is the first one's until the second ends
			return wrong, l.word(kernel.MailSpent)
		}
		copied := do(slot(kernel.OpLoad, 0, 2048+kernel.CopyCap-1))[0]
		wrong = wrong || kernel.Opcode(slots[0].Opcode) == kernel.OpCopy && copied != r
	}
}
