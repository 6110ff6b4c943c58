package kernelcache

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/zeebo/blake3"

	"ringmaster/megakernel/gpu"
)

// Program is a program that is ready for use on every context of the device.
type Program struct {
	ID          gpu.Program
	Value       any      // what Kernel.Adopt found
	Fingerprint [32]byte // BLAKE3-256 of the source
	FromDisk    bool     // made from a stored binary

	// The rest belongs to the store.
	holds int
	used  uint64 // the store's count of uses at the last one
	site  *site  // where it was made
}

// Store has the programs of kernels ready. Its methods may be called from any
// goroutine, except from inside the device's Do, and only those that say so wait.
//
// Locks, in the order in which they are taken: who has the device to itself, if the store
// builds on that device; the turn of the site; mu. Nothing is built, read or written with
// mu held, so that nobody who asks for a program waits for the driver.
type Store struct {
	cfg Config

	// Guarded by mu.
	mu       sync.Mutex
	site     *site
	closed   bool
	ready    map[Kernel]*Program // made at site
	uses     uint64
	queue    queue[Kernel]
	failures failures
	changed  chan struct{} // closed, and made anew, when a build ended
	stats    Stats
	readOnly bool // the disk refused a write
}

// site is a target and who builds on it. Every Move begins a new one, so that a build
// that never returns from a lost device holds up nothing.
type site struct {
	target Target
	traits gpu.Traits
	wake   chan struct{} // has a token if the goroutine may have something to do
	ended  chan struct{} // closed when the goroutine is gone; nil if there is none
	turn   sync.Mutex    // held by whoever builds here; guards idle
	idle   Idle

	// Guarded by the store's mu.
	building *Kernel
	dead     []gpu.Program // programs to delete here
}

// Open makes a store that builds on a target. Close it before the device.
func Open(cfg Config, target Target) *Store {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{
		cfg:      cfg,
		ready:    map[Kernel]*Program{},
		queue:    queue[Kernel]{limit: cfg.Queue},
		failures: failures{limit: 4 * cfg.Programs, of: map[Kernel]*failure{}},
		changed:  make(chan struct{}),
	}
	s.begin(target)
	return s
}

// begin builds on a target from now on. Called with mu held, or before anybody else
// knows the store.
func (s *Store) begin(target Target) {
	s.site = &site{target: target, traits: gpu.TraitsOf(target.Device), wake: make(chan struct{}, 1), idle: Idle{dev: target.Device}}
	if target.Background {
		s.site.ended = make(chan struct{})
		go s.work(s.site)
	}
}

// Get gives a program that is ready, held until Release. Otherwise it has it
// built, unless its last build failed a short time ago, and says false. It never waits.
func (s *Store) Get(key Kernel) (*Program, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	if p := s.hold(key); p != nil {
		return p, true
	}
	_ = s.ask(key, wanted)
	return nil, false
}

// Any gives the program that was used last among those whose key fits, held until
// Release; false if none is ready. It has nothing built.
func (s *Store) Any(fits func(Kernel) bool) (p *Program, key Kernel, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, candidate := range s.ready {
		if fits(k) && (p == nil || candidate.used > p.used) {
			p, key = candidate, k
		}
	}
	if p == nil || s.closed {
		return nil, key, false
	}
	return s.hold(key), key, true
}

// Background says whether the store builds on a context of its own.
func (s *Store) Background() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.site.target.Background
}

// Release ends the use of a program that Get or Wait gave.
func (s *Store) Release(p *Program) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.holds == 0 {
		panic("kernelcache: a program is released more often than it was given out")
	}
	p.holds--
	if p.site == s.site {
		s.evict(nil)
	}
}

// Wait gives a program that is held until Release, and waits for it to be
// built, if need be on the calling goroutine. The error is that of the build. A
// build that failed a short time ago is tried again, since somebody waits.
func (s *Store) Wait(ctx context.Context, key Kernel) (*Program, error) {
	return s.WaitInTurns(ctx, key, func(use func() error) error { return use() })
}

// WaitInTurns is Wait for callers that do not have the device to themselves. If the store
// builds on the calling goroutine, turn brackets each build: it gives the device to use
// and returns its error, or one of its own, which ends the wait.
func (s *Store) WaitInTurns(ctx context.Context, key Kernel, turn func(use func() error) error) (*Program, error) {
	var before uint64 // failures of any key when the wait began
	for tried := false; ; tried = true {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil, ErrClosed
		}
		p := s.hold(key)
		var err error
		if p == nil {
			err = s.askFor(key, &before, tried)
		}
		changed, background := s.changed, s.site.target.Background
		s.mu.Unlock()
		if p != nil || err != nil {
			return p, err
		}
		if !background {
			built := false
			if err := turn(func() error { built = s.BuildOne(); return nil }); err != nil {
				return nil, err
			}
			if built {
				continue
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("kernel %s: %w", key, ctx.Err())
		}
	}
}

// Prefetch has programs built ahead, in the given order, and marks those that are ready
// as used, so that they are not evicted next. It takes one fewer than the store keeps,
// so that the program in use stays. It returns the number of keys that are neither ready
// nor going to be built.
func (s *Store) Prefetch(keys ...Kernel) (dropped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	take := min(len(keys), max(s.cfg.Programs-1, 1))
	dropped = len(keys) - take
	if s.closed {
		return len(keys)
	}
	for _, key := range keys[:take] {
		if p := s.ready[key]; p != nil {
			s.touch(p)
		} else if s.ask(key, ahead) != nil {
			dropped++
		}
	}
	return dropped
}

// Failing is why a key is not built when Get or Prefetch ask for it, because its
// last build failed a short time ago; else nil.
func (s *Store) Failing(key Kernel) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures.pending(key, time.Now())
}

// Ready says whether Get would give a program, and does nothing about it.
func (s *Store) Ready(key Kernel) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready[key] != nil
}

// Stats is a snapshot.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Ready, st.Waiting = len(s.ready), len(s.queue.items)
	for _, p := range s.ready {
		if p.holds > 0 {
			st.Held++
		}
	}
	if s.site.building != nil {
		st.Building = 1
	}
	return st
}

// Move goes on with another device after the present one was lost, whose
// programs are gone with it. What was ready is built again, the program used
// last first, and failures are forgotten. Programs that are held are no longer of
// use and still have to be released. A build under way on the old device is left to
// end, which it may never do if the device hangs, and its key is built again.
func (s *Store) Move(target Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	old := s.site
	s.begin(target)
	clear(s.failures.of)
	if old.building != nil {
		s.queue.push(*old.building, wanted)
	}
	old.signal() // its goroutine, if it has one, finds that it is not needed
	for _, key := range s.byUse() {
		delete(s.ready, key)
		s.queue.push(key, ahead)
	}
	s.notify()
}

// Close ends the goroutine after the build under way, if there is one, and deletes
// every program. Programs must not be in use any more. Closing twice is allowed. It does
// not wait for builds on devices that Move has left.
func (s *Store) Close() {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.queue.items = nil
	s.notify()
	at := s.site
	s.mu.Unlock()
	if at.ended != nil {
		<-at.ended
	}
	at.turn.Lock()
	defer at.turn.Unlock()
	if already {
		return
	}
	s.mu.Lock()
	for key, p := range s.ready {
		at.dead = append(at.dead, p.ID)
		delete(s.ready, key)
	}
	s.mu.Unlock()
	s.bury(at)
	err := at.target.Device.Do(func() error { at.idle.delete(); return nil })
	if err != nil {
		s.cfg.Log.Debug("deleting buffers", "error", err)
	}
}

// hold finds a program and holds it. Called with mu held.
func (s *Store) hold(key Kernel) *Program {
	p := s.ready[key]
	if p != nil {
		p.holds++
		s.touch(p)
	}
	return p
}

// touch counts a use. Called with mu held.
func (s *Store) touch(p *Program) {
	s.uses++
	p.used = s.uses
}

// ask puts a key into the queue. The error says why it is not going to be
// built. Called with mu held.
func (s *Store) ask(key Kernel, u urgency) error {
	if s.site.building != nil && *s.site.building == key {
		return nil
	}
	if err := s.failures.pending(key, time.Now()); err != nil && u != waited {
		return fmt.Errorf("kernel %s: %w", key, err)
	}
	in, displaced := s.queue.push(key, u)
	if !in || displaced {
		s.stats.Dropped++
	}
	if !in {
		return fmt.Errorf("kernel %s: %w", key, ErrQueueFull)
	}
	s.site.signal()
	return nil
}

// askFor is ask for Wait: it fails if the key's build has failed since
// before, which it sets on the first try. Called with mu held.
func (s *Store) askFor(key Kernel, before *uint64, tried bool) error {
	if !tried {
		*before = s.stats.Failed
	} else if known := s.failures.of[key]; known != nil && known.serial > *before {
		return fmt.Errorf("kernel %s: %w", key, known.err)
	}
	return s.ask(key, waited)
}

// signal wakes the goroutine.
func (at *site) signal() {
	select {
	case at.wake <- struct{}{}:
	default:
	}
}

// notify wakes everybody who waits. Called with mu held.
func (s *Store) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
	s.site.signal()
}

// fingerprint is what reports name a kernel by.
func fingerprint(source string) [32]byte { return blake3.Sum256([]byte(source)) }
