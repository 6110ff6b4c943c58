package lease

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// Support is what the self-test of a lease found.
type Support struct {
	Turn     time.Duration // one turn of a kernel without a round
	Round    time.Duration // median of the test's rounds, from their submission to their results
	Turns    uint32        // loop iterations after which a kernel ends, so that it lasts about Config.Duration
	Limited  bool          // the device allows no more than Config.LoopBudget, so it lasts shorter
	Duration time.Duration // how long a kernel without a round would last by its turns
}

func (s Support) String() string {
	limited := ""
	if s.Limited {
		limited = " (the device's loops allow no more)"
	}
	return fmt.Sprintf("a round of %d slots takes %v; a kernel stays for %d turns, %v%s",
		testSlots, s.Round, s.Turns, s.Duration.Round(time.Millisecond), limited)
}

// Sizes of the self-test. It takes as long as its rounds, or as the kernels last that
// miss testMisses of them; if no round meets a kernel, as testRounds kernels last.
const (
	testRounds = 64
	testSlots  = 16
	testMisses = 4
	testTurns  = 4096
)

// Why a device has no lease though its kernels run. The second is also said of a host
// that was never there in time.
var (
	errBlind = errors.New("a running kernel does not see what the host writes")
	errUnmet = errors.New("no round reached a kernel while it ran")
)

// selfTest measures a turn, from which the bounds of a kernel follow, and runs
// rounds on a heap of its own.
func (l *Lease) selfTest() error {
	reserve := l.catalog.RowCost(l.shape, 0, 0) + 2 // at a kernel's end
	if l.cfg.LoopBudget < 16*reserve {
		return fmt.Errorf("lease: LoopBudget is %d, want at least %d", l.cfg.LoopBudget, 16*reserve)
	}
	budget := l.cfg.LoopBudget - reserve
	l.round = budget / 4
	if err := l.calibrate(budget); err != nil {
		return fmt.Errorf("lease: %w", err)
	}
	if err := l.testRounds(budget); err != nil {
		return fmt.Errorf("lease: self-test: %w", err)
	}
	return nil
}

// calibrate times kernels without rounds and believes the fastest. The first is
// not counted, because drivers translate a kernel at its first dispatch.
func (l *Lease) calibrate(budget uint32) error {
	took := time.Duration(0)
	for i := range 4 {
		t, _, err := l.idleKernel(min(testTurns, budget))
		if err != nil {
			return err
		}
		if i == 1 || i > 1 && t < took {
			took = t
		}
	}
	s := &l.support
	s.Turn = max(took/time.Duration(min(testTurns, budget)), 1)
	wanted := uint32(l.cfg.Duration/s.Turn) + l.round
	l.turns = min(wanted, budget)
	if wanted > budget {
		// Some devices end loops past a limit without a word. One that runs
		// more than the budget has no such limit near it.
		_, spent, err := l.idleKernel(wanted)
		if err != nil {
			return err
		}
		s.Limited = spent < wanted // the last turn, which says that it ends, counts too
		if !s.Limited {
			l.turns = wanted
		}
	}
	l.idle = max(uint32(l.cfg.Idle/s.Turn), 1)
	s.Turns = l.turns
	s.Duration = time.Duration(l.turns-l.round) * s.Turn
	return nil
}

// idleKernel runs a kernel of some turns without a round.
func (l *Lease) idleKernel(turns uint32) (took time.Duration, spent uint32, err error) {
	k := &resident{number: l.nextNumber(), answered: l.tail, poke: make(chan struct{}, 1)}
	err = l.dev.Do(func() error {
		begin := time.Now()
		err := l.dispatch(k, limits{turns: turns, round: 1, idle: ^uint32(0)})
		took = time.Since(begin)
		return err
	})
	if err == nil && l.word(kernel.MailEnded) != k.number {
		err = errors.New("a kernel left no mark in mapped memory")
	}
	return took, l.word(kernel.MailSpent), err
}

// testRounds runs rounds whose slots read what other lanes wrote in the round
// before, so that it shows whether a running kernel sees the host's words and
// its own. Kernels stay for budget turns meanwhile: on a busy host, what a turn takes was
// measured too high, and the next round may be long in coming.
func (l *Lease) testRounds(budget uint32) error {
	const words = 256
	heap, words4 := gpu.Buffer{}, words*ring.WordBytes
	if err := l.dev.Do(func() (err error) {
		heap, err = l.dev.NewBuffer(words4)
		return err
	}); err != nil {
		return err
	}
	given, turns, idle := l.cfg, l.turns, l.idle
	l.cfg.Heap, l.cfg.HeapBytes, l.cfg.Duration = heap, words4, MaxDuration
	l.turns, l.idle = max(l.turns, budget), ^uint32(0)
	took, err := l.timeRounds(Window{Tenant: 7, Base: 64, Length: words - 64})
	if endErr := l.end(); err == nil {
		err = endErr
	}
	l.cfg, l.turns, l.idle = given, turns, idle
	if !gpu.Lost(err) {
		err = errors.Join(err, l.dev.Do(func() error {
			l.dev.DeleteBuffer(heap)
			return nil
		}))
	}
	if err != nil {
		return err
	}
	slices.Sort(took)
	l.support.Round = took[len(took)/2]
	return nil
}

// timeRounds runs the rounds of the self-test and times each.
//
// A kernel sees a round that it answers and that came while it ran. It misses a round that
// was in the mailbox while it ran if it uses its turns up without it. Every other round
// came after a kernel's end and was found by the next one: it says nothing about the device, only
// that a busy host was away for longer than a kernel stays, and is not counted, however
// often that happens. Misses are: where kernels see only some of the rounds, a round may
// take as long as a kernel stays, and a wave is better. A few are allowed, because a kernel
// that has looked for the last time has not said yet that it ended: of the rounds that a
// loaded host put too late, one in 150 fell in between on llvmpipe.
func (l *Lease) timeRounds(w Window) (took []time.Duration, err error) {
	slots := make([]ring.Slot, testSlots)
	statuses := make([]ring.Status, testSlots)
	results := make([]uint32, testSlots)
	const half = testSlots / 2
	seen, before := 0, l.missed
	for round := range uint32(testRounds) {
		for i := range uint32(half) {
			// Slot i stores what slot half + i, mirrored, loads in the next round.
			slots[i] = ring.Slot{Opcode: uint32(kernel.OpStore), Tenant: w.Tenant, Args: [ring.ArgWords]uint32{round<<8 | i, round&1<<5 | i}}
			slots[half+i] = ring.Slot{Opcode: uint32(kernel.OpLoad), Tenant: w.Tenant, Args: [ring.ArgWords]uint32{(round+1)&1<<5 | half - 1 - i}}
		}
		for i := range statuses {
			statuses[i] = ring.NewStatus(ring.Published)
		}
		begin, starts := time.Now(), l.stats.Starts
		if err := l.Do(w, slots, statuses, results); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin))
		for i, status := range statuses {
			want := uint32(0)
			if i >= half && round > 0 {
				want = (round-1)<<8 | uint32(testSlots-1-i)
			}
			if status.State() != ring.Done || results[i] != want {
				return nil, fmt.Errorf("round %d, slot %d: %s, result %#x, want %#x", round, i, status, results[i], want)
			}
		}
		if l.stats.Starts == starts {
			seen++ // by a kernel that was there before
		}
		if n := l.missed - before; n >= testMisses {
			return nil, fmt.Errorf("kernels missed %d of %d rounds: %w", n, round+1, errBlind)
		}
	}
	if seen == 0 {
		return nil, fmt.Errorf("%d rounds: %w", testRounds, errUnmet)
	}
	return took, nil
}
