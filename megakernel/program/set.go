package program

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernelcache"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/ring"
)

// Config sizes a set of programs.
type Config struct {
	Catalog *kernel.Catalog // nil: the built-in opcodes
	Kept    int             // programs kept in memory, those of others in the store too
	Disk    *disk.Dir       // binaries of programs; nil: none. The set does not close it
	Log     *slog.Logger    // nil: nothing is logged
}

// Set has the kernels of a catalog ready on a device, so that launches
// need not wait for the driver's compiler. It owns the device's store of programs, which
// whoever borrows the device shares.
//
// With a second context of the device's share group for building, they never do:
// [Set.Pick] gives another kernel of the same meaning until the wanted one is
// ready. Without one there is no thread to compile on but the device's own, and
// Pick compiles what is missing.
//
// Its methods may be called from any goroutine, but not from inside the device's Do.
type Set struct {
	catalog *kernel.Catalog
	store   *kernelcache.Store

	mu   sync.Mutex
	keys map[kernel.Kernel]kernelcache.Kernel // made once each, so that a launch allocates none
}

// mostKeys bounds the keys that are remembered: hot opcodes, and fused kernels with them,
// may change again and again.
const mostKeys = 256

// Open makes a set of programs. build is the second context, or nil; main is
// the context that launches run on. Close it before the devices.
func Open(main, build gpu.Device, cfg Config) *Set {
	s := &Set{catalog: cfg.Catalog, keys: make(map[kernel.Kernel]kernelcache.Kernel)}
	if s.catalog == nil {
		s.catalog = kernel.BuiltIn()
	}
	store := kernelcache.DefaultConfig()
	store.Programs, store.Disk, store.Log = cfg.Kept, cfg.Disk, cfg.Log
	s.store = kernelcache.Open(store, s.target(main, build))
	return s
}

// target is where programs are built.
func (s *Set) target(main, build gpu.Device) kernelcache.Target {
	at := build
	if at == nil {
		at = main
	}
	return kernelcache.Target{Device: located{at, s.catalog}, Background: build != nil}
}

// Store is where the programs are kept.
func (s *Set) Store() *kernelcache.Store { return s.store }

// key is a kernel of a catalog, as the store knows it.
type key struct {
	kernel.Kernel
	catalog *kernel.Catalog
}

func (s *Set) key(k kernel.Kernel) kernelcache.Kernel {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.keys[k]
	if !ok {
		if len(s.keys) >= mostKeys {
			clear(s.keys)
		}
		known = key{k, s.catalog}
		s.keys[k] = known
	}
	return known
}

// Source implements [kernelcache.Kernel].
func (k key) Source() string { return k.catalog.Source(k.Kernel) }

// idleBytes holds whatever a kernel touches without a schedule: the control block above
// all, in whose place a lease's kernel has its mailbox.
const idleBytes = kernel.MailSlotsAt

// Adopt implements [kernelcache.Kernel]: drivers translate a kernel at its first dispatch,
// and that is no part of a launch's time.
func (k key) Adopt(dev gpu.Device, id gpu.Program, idle *kernelcache.Idle) (any, error) {
	p, err := check(dev, k.Width, id)
	if err != nil {
		return nil, err
	}
	if _, err := idle.Bind(ring.Bindings, idleBytes); err != nil {
		return nil, err
	}
	p.SetUniforms(dev, &kernel.Wave{Chunk: max(k.Chunk, k.Width), ClaimBudget: 1})
	dev.Dispatch(id, 1)
	p.known = false // another context's waves are next
	return p, nil
}

// Pick gives the program of the wanted kernel if it is ready. Otherwise it gives that of
// a kernel of the same meaning, and says why: the fused one for an exact one, the one
// that ran before, or an interpreter. before is the zero Kernel if there is none. The
// program is held until Release. It is an error if no kernel at all can be built, or if
// the programs are closed.
func (s *Set) Pick(want, before kernel.Kernel) (Picked, error) {
	if !s.store.Background() {
		return s.pickNow(want)
	}
	general := want.General()
	if general != want && !s.store.Ready(s.key(want)) {
		// Asked for first, since it can run any wave.
		if p, ok := s.store.Get(s.key(general)); ok {
			s.store.Release(p)
		}
	}
	if p, ok := s.store.Get(s.key(want)); ok {
		return newPicked(p, want, want, ""), nil
	}
	reason := "still being built"
	if err := s.store.Failing(s.key(want)); err != nil {
		reason = "it cannot be built"
	}
	// An exact kernel runs no wave but those it was picked for.
	for _, k := range [...]kernel.Kernel{general, before.General(), {Kind: kernel.Interpreter, Width: want.Width}} {
		if k.Width == 0 || k == want || !s.store.Ready(s.key(k)) {
			continue
		}
		if p, ok := s.store.Get(s.key(k)); ok {
			return newPicked(p, k, want, reason), nil
		}
	}
	if p, ok := s.standIn(want, reason); ok {
		return p, nil
	}
	return s.pickNow(want) // nothing has been built yet
}

// pickNow waits for a kernel, and takes an interpreter if it cannot be built.
func (s *Set) pickNow(want kernel.Kernel) (Picked, error) {
	const reason = "it cannot be built"
	if s.store.Failing(s.key(want)) != nil {
		if general := want.General(); general != want {
			if p, err := s.store.Wait(context.Background(), s.key(general)); err == nil {
				return newPicked(p, general, want, reason), nil
			}
		}
		if p, ok := s.standIn(want, reason); ok {
			return p, nil
		}
	}
	p, err := s.store.Wait(context.Background(), s.key(want))
	if err == nil {
		return newPicked(p, want, want, ""), nil
	}
	for _, instead := range [...]kernel.Kernel{want.General(), {Kind: kernel.Interpreter, Width: want.Width}} {
		if instead == want {
			continue
		}
		if p, other := s.store.Wait(context.Background(), s.key(instead)); other == nil {
			return newPicked(p, instead, want, reason), nil
		}
	}
	if p, ok := s.standIn(want, reason); ok {
		return p, nil
	}
	return Picked{}, err
}

// standIn is the interpreter that was used last; false if none is ready.
func (s *Set) standIn(want kernel.Kernel, reason string) (Picked, bool) {
	p, k, ok := s.store.Any(func(k kernelcache.Kernel) bool {
		own, ok := k.(key)
		return ok && own.Kind == kernel.Interpreter
	})
	if !ok {
		return Picked{}, false
	}
	return newPicked(p, k.(key).Kernel, want, reason), true
}

// newPicked is a program that the store gave for a wanted kernel.
func newPicked(p *kernelcache.Program, k, want kernel.Kernel, reason string) Picked {
	picked := Picked{Kernel: k, Program: p.Value.(*Program), Fingerprint: p.Fingerprint, held: p}
	if k != want {
		picked.Reason = fmt.Sprintf("kernel %s: %s", want, reason)
	}
	return picked
}

// Picked is a program in use by a launch. The zero value is none.
type Picked struct {
	Kernel      kernel.Kernel // the one that is given
	Reason      string        // why it is not the wanted one; empty if it is
	Program     *Program      // nil: none
	Fingerprint [32]byte      // BLAKE3-256 of the source
	held        *kernelcache.Program
}

// Hold gives the program of a kernel that no other can stand in for, and waits for it to
// be built. It is held until Release.
func (s *Set) Hold(k kernel.Kernel) (Picked, error) {
	p, err := s.store.Wait(context.Background(), s.key(k))
	if err != nil {
		return Picked{}, err
	}
	return newPicked(p, k, k, ""), nil
}

// Release ends the use of a program, if it is one, and makes p none.
func (s *Set) Release(p *Picked) {
	if p.held != nil {
		s.store.Release(p.held)
	}
	*p = Picked{}
}

// Ready says whether Pick would give a kernel now, and does nothing about it.
func (s *Set) Ready(k kernel.Kernel) bool { return s.store.Ready(s.key(k)) }

// Prefetch has the kernels that may be wanted next built ahead, in the given order. It
// returns at once. Without a second context it does nothing, because it would take the
// device's time for kernels that may never run.
func (s *Set) Prefetch(kernels ...kernel.Kernel) {
	if !s.store.Background() {
		return
	}
	keys := make([]kernelcache.Kernel, len(kernels))
	for i, k := range kernels {
		keys[i] = s.key(k)
	}
	s.store.Prefetch(keys...)
}

// Move goes on with another device after the present one was lost; see
// kernelcache.Store.Move. It does not wait.
func (s *Set) Move(main, build gpu.Device) { s.store.Move(s.target(main, build)) }

// Close deletes the programs, none of which may be in use. It waits for the one
// that is being built.
func (s *Set) Close() { s.store.Close() }
