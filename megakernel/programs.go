package megakernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernelcache"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/megakernel/userop"
	"ringmaster/ring"
)

// ProgramsConfig sizes a set of programs.
type ProgramsConfig struct {
	Catalog *kernel.Catalog // nil: the built-in opcodes
	Kept    int             // programs kept in memory, at least 1
	Disk    *disk.Dir       // binaries of programs; nil: none. Programs do not close it
	Log     *slog.Logger    // nil: nothing is logged
}

// Programs has the kernels of a catalog ready on a device, so that launches
// need not wait for the driver's compiler.
//
// With a second context of the device's share group for building, they never do:
// [Programs.Pick] gives another kernel of the same meaning until the wanted one is
// ready. Without one there is no thread to compile on but the device's own, and
// Pick compiles what is missing.
//
// Its methods may be called from any goroutine, but not from inside the device's Do.
type Programs struct {
	catalog *kernel.Catalog
	store   *kernelcache.Store[kernel.Kernel, *program]
	warmer  *warmer
}

// NewPrograms makes a set of programs. build is the second context, or nil; main is
// the context that launches run on. Close it before the devices.
func NewPrograms(main, build gpu.Device, cfg ProgramsConfig) (*Programs, error) {
	ps := &Programs{catalog: cfg.Catalog}
	if ps.catalog == nil {
		ps.catalog = kernel.BuiltIn()
	}
	target, err := ps.target(main, build)
	if err != nil {
		return nil, err
	}
	store := kernelcache.DefaultConfig[kernel.Kernel]()
	store.Source = func(k kernel.Kernel) (string, error) { return ps.catalog.Source(k), nil }
	store.Name = kernel.Kernel.String
	store.Programs, store.Disk, store.Log = cfg.Kept, cfg.Disk, cfg.Log
	if store.Log == nil {
		store.Log = slog.New(slog.DiscardHandler)
	}
	if ps.store, err = kernelcache.Open(store, target); err != nil {
		return nil, errors.Join(err, ps.warmer.close())
	}
	return ps, nil
}

// target makes the place where programs are built, with buffers to warm them on.
func (ps *Programs) target(main, build gpu.Device) (kernelcache.Target[kernel.Kernel, *program], error) {
	background := build != nil
	if !background {
		build = main
	}
	w, err := newWarmer(build)
	if err != nil {
		return kernelcache.Target[kernel.Kernel, *program]{}, err
	}
	ps.warmer = w
	return kernelcache.Target[kernel.Kernel, *program]{
		Device: located{build, ps.catalog}, Background: background, Adopt: w.adopt,
	}, nil
}

// Pick gives the program of the wanted kernel if it is ready. Otherwise it gives that of
// a kernel of the same meaning, and says why: the fused one for an exact one, the one
// that ran before, or an interpreter. before is the zero Kernel if there is none. The
// program is held until Release. It is an error if no kernel at all can be built, or if
// the programs are closed.
func (ps *Programs) Pick(want, before kernel.Kernel) (Picked, error) {
	if !ps.store.Background() {
		return ps.pickNow(want)
	}
	general := want.General()
	if general != want && !ps.store.Ready(want) {
		// Asked for first, since it can run any wave.
		if p, ok := ps.store.Get(general); ok {
			ps.store.Release(p)
		}
	}
	if p, ok := ps.store.Get(want); ok {
		return Picked{program: p, Kernel: want}, nil
	}
	reason := "still being built"
	if err := ps.store.Failing(want); err != nil {
		reason = "it cannot be built"
	}
	// An exact kernel runs no wave but those it was picked for.
	for _, k := range [...]kernel.Kernel{general, before.General(), {Kind: kernel.Interpreter, Width: want.Width}} {
		if k.Width == 0 || k == want || !ps.store.Ready(k) {
			continue
		}
		if p, ok := ps.store.Get(k); ok {
			return newPicked(p, k, want, reason), nil
		}
	}
	if p, ok := ps.standIn(want, reason); ok {
		return p, nil
	}
	return ps.pickNow(want) // nothing has been built yet
}

// pickNow waits for a kernel, and takes an interpreter if it cannot be built.
func (ps *Programs) pickNow(want kernel.Kernel) (Picked, error) {
	const reason = "it cannot be built"
	if ps.store.Failing(want) != nil {
		if general := want.General(); general != want {
			if p, err := ps.store.Wait(context.Background(), general); err == nil {
				return newPicked(p, general, want, reason), nil
			}
		}
		if p, ok := ps.standIn(want, reason); ok {
			return p, nil
		}
	}
	p, err := ps.store.Wait(context.Background(), want)
	if err == nil {
		return Picked{program: p, Kernel: want}, nil
	}
	for _, instead := range [...]kernel.Kernel{want.General(), {Kind: kernel.Interpreter, Width: want.Width}} {
		if instead == want {
			continue
		}
		if p, other := ps.store.Wait(context.Background(), instead); other == nil {
			return newPicked(p, instead, want, reason), nil
		}
	}
	if p, ok := ps.standIn(want, reason); ok {
		return p, nil
	}
	return Picked{}, err
}

// standIn is the interpreter that was used last; false if none is ready.
func (ps *Programs) standIn(want kernel.Kernel, reason string) (Picked, bool) {
	p, k, ok := ps.store.Any(func(k kernel.Kernel) bool { return k.Kind == kernel.Interpreter })
	if !ok {
		return Picked{}, false
	}
	return newPicked(p, k, want, reason), true
}

func newPicked(p *kernelcache.Program[*program], k, want kernel.Kernel, reason string) Picked {
	return Picked{program: p, Kernel: k, Reason: fmt.Sprintf("kernel %s: %s", want, reason)}
}

// Picked is a program in use by a launch. The zero value is none.
type Picked struct {
	Kernel  kernel.Kernel // the one that is given
	Reason  string        // why it is not the wanted one; empty if it is
	program *kernelcache.Program[*program]
}

// Hold gives the program of a kernel that no other can stand in for, and waits for it to
// be built. It is held until Release.
func (ps *Programs) Hold(k kernel.Kernel) (Picked, error) {
	p, err := ps.store.Wait(context.Background(), k)
	if err != nil {
		return Picked{}, err
	}
	return Picked{program: p, Kernel: k}, nil
}

// Release ends the use of a program, if it is one, and makes p none.
func (ps *Programs) Release(p *Picked) {
	if p.program != nil {
		ps.store.Release(p.program)
	}
	*p = Picked{}
}

// Prefetch has the kernels that may be wanted next built ahead, in the given order. It
// returns at once. Without a second context it does nothing, because it would take the
// device's time for kernels that may never run.
func (ps *Programs) Prefetch(kernels ...kernel.Kernel) {
	if ps.store.Background() {
		ps.store.Prefetch(kernels...)
	}
}

// Err is why a kernel could not be built; nil if it was, or was not tried.
func (ps *Programs) Err(k kernel.Kernel) error { return ps.store.Err(k) }

// Stats is a snapshot of what was built, loaded and refused.
func (ps *Programs) Stats() kernelcache.Stats { return ps.store.Stats() }

// Move goes on with another device after the present one was lost; see
// kernelcache.Store.Move. On an error nothing has changed.
func (ps *Programs) Move(main, build gpu.Device) error {
	target, err := ps.target(main, build)
	if err == nil {
		ps.store.Move(target)
	}
	return err
}

// Close deletes the programs, none of which may be in use. It waits for the one
// that is being built.
func (ps *Programs) Close() error {
	ps.store.Close()
	return ps.warmer.close()
}

// warmer runs new programs once with nothing to do.
type warmer struct {
	dev     gpu.Device
	buffers [ring.Bindings]gpu.Buffer
}

// warmBytes holds whatever a kernel touches without a schedule: the control block above
// all, in whose place a lease's kernel has its mailbox.
const warmBytes = kernel.MailSlotsAt

func newWarmer(dev gpu.Device) (*warmer, error) {
	w := &warmer{dev: dev}
	err := dev.Do(func() error {
		for i := range w.buffers {
			var err error
			if w.buffers[i], err = dev.NewBuffer(warmBytes); err != nil {
				w.delete()
				return fmt.Errorf("buffer of %d bytes: %w", warmBytes, err)
			}
		}
		return dev.Check()
	})
	return w, err
}

func (w *warmer) delete() {
	for i, buffer := range w.buffers {
		if buffer.Buffer != 0 {
			w.dev.DeleteBuffer(buffer)
			w.buffers[i] = gpu.Buffer{}
		}
	}
}

func (w *warmer) close() error {
	return w.dev.Do(func() error { w.delete(); return nil })
}

// adopt checks a linked program and dispatches it once: drivers translate a
// kernel at its first dispatch, and that is no part of a launch's time. Called on the
// device's thread; what was bound there is not any more.
func (w *warmer) adopt(k kernel.Kernel, id gpu.Program) (*program, error) {
	p, err := newProgram(w.dev, k.Width, id)
	if err != nil {
		return nil, err
	}
	for i, buffer := range w.buffers {
		w.dev.BindStorage(uint32(i), buffer, 0, warmBytes)
	}
	p.set(w.dev, &kernel.Wave{Chunk: max(k.Chunk, k.Width), ClaimBudget: 1})
	w.dev.Dispatch(id, 1)
	p.known = false // another context's waves are next
	return p, nil
}

// located is a device whose compile errors name the lines of operators' files.
type located struct {
	gpu.Device
	catalog *kernel.Catalog
}

func (d located) CompileCompute(source string) (gpu.Program, error) {
	id, err := d.Device.CompileCompute(source)
	if err != nil && len(d.catalog.User()) > 0 {
		err = &locatedError{text: userop.Locate(err.Error(), d.catalog.User()), err: err}
	}
	return id, err
}

// locatedError is an error with another text.
type locatedError struct {
	text string
	err  error
}

func (e *locatedError) Error() string { return e.text }
func (e *locatedError) Unwrap() error { return e.err }
