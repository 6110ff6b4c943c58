package lease

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// openModel opens a lease on a model device.
func openModel(t rapid.TB, d *modelDevice, change func(*Config)) *Lease {
	t.Helper()
	cfg := Config{Heap: modelHeap, HeapBytes: len(d.heap) * 4, Print: modelPrint, PrintBytes: 64}
	if change != nil {
		change(&cfg)
	}
	l, err := Open(d, d.traits(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// limit changes the bounds of the kernels to come.
func (l *Lease) limit(turns, idle uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns, l.idle = turns, idle
}

// interrupt stops whatever kernel runs, in the middle of a round or not.
func (l *Lease) interrupt() {
	l.dev.StoreWord(l.mailbox, kernel.MailStop*ring.WordBytes, l.number.Load())
}

// published are n statuses of slots to run.
func published(n int) []ring.Status {
	s := make([]ring.Status, n)
	for i := range s {
		s[i] = ring.NewStatus(ring.Published)
	}
	return s
}

// countedSlots runs submissions of slots that each add 1 to a word of their
// own, from several producers, while somebody ends kernels at random moments.
// It returns how many words were used.
func countedSlots(l *Lease, seed uint64, submissions, most int, length uint32) (used uint32, err error) {
	var (
		mu        sync.Mutex
		producers sync.WaitGroup
		problems  []error
		left      = submissions
		ended     = make(chan struct{})
	)
	producer := func(r *rand.Rand) {
		for {
			mu.Lock()
			n := min(1+r.IntN(most), int(length-used))
			first := used
			used += uint32(n)
			left--
			stop := left < 0 || n == 0
			if stop {
				used = first
			}
			mu.Unlock()
			if stop {
				return
			}
			slots := make([]ring.Slot, n)
			statuses, results := published(n), make([]uint32, n)
			for i := range slots {
				slots[i] = ring.Slot{Opcode: uint32(kernel.OpAdd), Tenant: 3, Args: [ring.ArgWords]uint32{1, first + uint32(i)}}
			}
			err := l.Do(Window{Tenant: 3, Length: length}, slots, statuses, results)
			for i, s := range statuses {
				if s != ring.NewStatus(ring.Done).Attempted() && err == nil {
					err = fmt.Errorf("slot %d of %d: %s", i, n, s)
				}
			}
			mu.Lock()
			if err != nil {
				problems = append(problems, err)
			}
			mu.Unlock()
		}
	}
	for i := range uint64(3) {
		producers.Go(func() { producer(rand.New(rand.NewPCG(seed, i))) })
	}
	var disturber sync.WaitGroup
	disturber.Go(func() {
		r := rand.New(rand.NewPCG(seed, 99))
		timer := time.NewTimer(0)
		defer timer.Stop()
		for {
			select {
			case <-ended:
				return
			case <-timer.C:
			}
			switch r.IntN(4) {
			case 0:
				if err := l.End(); err != nil {
					mu.Lock()
					problems = append(problems, err)
					mu.Unlock()
				}
			default:
				l.interrupt()
			}
			timer.Reset(time.Duration(r.IntN(1000)) * time.Microsecond)
		}
	})
	producers.Wait()
	close(ended)
	disturber.Wait()
	return used, errors.Join(problems...)
}

func TestEverySlotRunsOnceWheneverAKernelEnds(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	rapid.Check(t, func(t *rapid.T) {
		d := newModelDevice(1 << 13)
		d.returns = rapid.Bool().Draw(t, "returns")
		l := openModel(t, d, func(c *Config) { c.LoopBudget, c.Duration = 2000, time.Millisecond })
		l.limit(l.round+rapid.Uint32Range(0, 2000).Draw(t, "turns"), rapid.Uint32Range(1, 500).Draw(t, "idle"))
		used, err := countedSlots(l, rapid.Uint64().Draw(t, "seed"), 60, 100, 1<<13)
		if err := errors.Join(err, l.Close()); err != nil {
			t.Fatal(err)
		}
		for i, n := range d.heap {
			want := uint32(0)
			if i < int(used) {
				want = 1
			}
			if n != want {
				t.Fatalf("word %d of %d used: added %d times", i, used, n)
			}
		}
		if d.broken.Load() {
			t.Fatalf("two kernels at a time, or one that took too much: %+v", l.Stats())
		}
	})
}

func TestLeaseSplitsWhatDoesNotFitARound(t *testing.T) {
	d := newModelDevice(1 << 14)
	l := openModel(t, d, nil)
	const n = 3*kernel.MailSlots + 7
	slots, statuses, results := make([]ring.Slot, n), published(n), make([]uint32, n)
	for i := range slots {
		slots[i] = slot(kernel.OpStore, 0, uint32(i), uint32(i))
	}
	if err := l.Do(Window{Length: 1 << 14}, slots, statuses, results); err != nil {
		t.Fatal(err)
	}
	if s := l.Stats(); s.Rounds != 4 {
		t.Errorf("%+v", s)
	}
	// A round may take l.round iterations, which four rows of copies do not fit.
	l.round = 2 * kernel.CopyCap
	copies := slots[:kernel.MailSlots]
	for i := range copies {
		copies[i] = slot(kernel.OpCopy, 0, 0, uint32(kernel.CopyCap*(1+i%3)), kernel.CopyCap)
	}
	if err := l.Do(Window{Length: 1 << 14}, copies, published(kernel.MailSlots), results[:kernel.MailSlots]); err != nil {
		t.Fatal(err)
	}
	if s := l.Stats(); s.Rounds != 8 {
		t.Errorf("%+v, want a round for each row", s)
	}
	l.round = kernel.CopyCap
	if err := l.Do(Window{Length: 1 << 14}, copies[:1], published(1), results[:1]); !errors.Is(err, ErrSize) {
		t.Errorf("a slot that no round can take: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if d.broken.Load() {
		t.Error("a kernel took more than it may")
	}
}

func TestLeaseIsRefusedWithAReason(t *testing.T) {
	for _, c := range []struct {
		name   string
		device func(*modelDevice)
		config func(*Config)
		want   string
	}{
		{"no mapping", func(d *modelDevice) { d.unmapped = true }, nil, "GL_ARB_buffer_storage"},
		{"blind kernel", func(d *modelDevice) { d.blind = true }, nil, "does not see what the host writes"},
		{"kernel that sees every other round", func(d *modelDevice) { d.fades = 2 }, nil, "does not see what the host writes"},
		{"host that is always late", func(d *modelDevice) { d.late = 1 << 30 }, func(c *Config) { c.LoopBudget, c.Duration = 4096, time.Millisecond }, "no round reached a kernel while it ran"},
		{"kernel that dies", func(d *modelDevice) { d.stall.Store(true) }, nil, "ended within a round"},
		{"lost device", func(d *modelDevice) { d.lost.Store(true) }, nil, "context lost"},
		{"long lease", nil, func(c *Config) { c.Duration = MaxDuration + 1 }, "at most 1s"},
		{"small budget", nil, func(c *Config) { c.LoopBudget = 10 }, "LoopBudget"},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			d := newModelDevice(64)
			if c.device != nil {
				c.device(d)
			}
			cfg := Config{Heap: modelHeap, HeapBytes: 256}
			if c.config != nil {
				c.config(&cfg)
			}
			l, err := Open(d, d.traits(), cfg)
			if l != nil || !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v; want %q", l, err, c.want)
			}
		})
	}
}

func TestABusyHostIsNoDeviceWithoutALease(t *testing.T) {
	d := newModelDevice(64)
	d.returns = true
	l := openModel(t, d, nil)
	turns := l.round + 100 // as a busy host finds, which measures ten times what a turn takes
	l.limit(turns, 50)
	d.late = 1000
	clear(d.testHeap) // a buffer begins as zeros
	if err := l.testRounds(l.cfg.LoopBudget / 2); err != nil {
		t.Error(err)
	}
	if l.turns != turns || l.idle != 50 || l.cfg.Duration != DefaultDuration {
		t.Errorf("left with %d turns, idle %d, for %v", l.turns, l.idle, l.cfg.Duration)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestRoundOfUnknownOutcomeIsAnErrorAndEndsTheLease(t *testing.T) {
	for _, returns := range []bool{false, true} {
		d := newModelDevice(64)
		d.returns = returns
		l := openModel(t, d, nil)
		d.stall.Store(true)
		add := []ring.Slot{slot(kernel.OpAdd, 0, 1, 0)}
		for range 2 {
			if err := l.Do(Window{Length: 64}, add, published(1), make([]uint32, 1)); !errors.Is(err, ErrBroken) {
				t.Errorf("%v", err)
			}
		}
		if s := l.Stats(); s.Starts != 1 {
			t.Errorf("%d kernels, want none after the one that broke", s.Starts)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestLossOfTheDeviceReachesTheCaller(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, returns := range []bool{false, true} {
		d := newModelDevice(64)
		d.returns = returns
		l := openModel(t, d, nil)
		add := []ring.Slot{slot(kernel.OpAdd, 0, 1, 0)}
		if err := l.Do(Window{Length: 64}, add, published(1), make([]uint32, 1)); err != nil {
			t.Fatal(err)
		}
		d.lost.Store(true)
		var err error
		for range 3 { // the first may still be answered
			err = l.Do(Window{Length: 64}, add, published(1), make([]uint32, 1))
		}
		if !gpu.Lost(err) {
			t.Errorf("%v", err)
		}
		l.Close()
	}
}

func TestLeaseRefusesAWindowBeyondTheHeapAndWorkAfterClose(t *testing.T) {
	l := openModel(t, newModelDevice(1<<12), nil)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Do(Window{Base: 1, Length: 1 << 12}, []ring.Slot{slot(kernel.OpNop, 0)}, published(1), make([]uint32, 1)); !errors.Is(err, ErrWindow) {
		t.Errorf("a window beyond the heap: %v", err)
	}
	if err := l.Do(Window{}, []ring.Slot{slot(kernel.OpNop, 0)}, published(1), make([]uint32, 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestIdleKernelEndsByItself(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	d := newModelDevice(64)
	l := openModel(t, d, nil)
	l.limit(1<<30, 100)
	if err := l.Do(Window{Length: 64}, []ring.Slot{slot(kernel.OpNop, 0)}, published(1), make([]uint32, 1)); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	gone := l.kernel.gone
	l.mu.Unlock()
	<-gone
	if cause := kernel.Cause(l.word(kernel.MailCause)); cause != kernel.CauseIdle {
		t.Errorf("cause %d", cause)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestTailsFollowEachOtherAndAreNeverZero(t *testing.T) {
	tail := uint32(0)
	for range 5 {
		if next := kernel.NextTail(tail, kernel.MailSlots); next == tail || next>>kernel.TailCountBits == 0 || next&kernel.TailCountMask != kernel.MailSlots {
			t.Errorf("%#x follows %#x", next, tail)
		} else {
			tail = next
		}
	}
	last := uint32(kernel.TailRounds)<<kernel.TailCountBits | 1
	if next := kernel.NextTail(last, 1); next != 1<<kernel.TailCountBits|1 {
		t.Errorf("%#x follows the last", next)
	}
}
