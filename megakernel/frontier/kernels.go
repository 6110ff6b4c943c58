package frontier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache"
	"ringmaster/megakernel/kernelcache/disk"
)

// KernelsConfig says where programs are built and kept. The zero value builds them on the
// device itself and keeps them in memory only.
type KernelsConfig struct {
	// Builder is a second context of the device's share group. Programs are built there
	// while the device does something else; nil: on the device.
	Builder gpu.Device
	// Turn brackets the use of the device for one program if there is no Builder, like
	// Job.Turn; nil: nothing brackets it.
	Turn func(use func() error) error
	// Disk keeps binaries for the next process; nil keeps none. Kernels do not close it.
	Disk *disk.Dir
	Log  *slog.Logger // nil: nothing is logged
}

// Kernels are the programs of a device, which several graphs may share. A job has those
// built that it needs and waits for them, without the device if there is a Builder. Its
// methods may be called from any goroutine, but not from inside the device's Do.
type Kernels struct {
	cfg   KernelsConfig
	store *kernelcache.Store[kernel, *program]

	mu   sync.Mutex
	warm *warmer // of the device in use
}

// program is a kernel on the device, with the locations of its uniforms, or -1.
type program struct {
	id            gpu.Program
	round, offers int32
}

// keptPrograms is how many programs are kept in memory: those of a dozen different jobs.
const keptPrograms = 64

// NewKernels is a set of programs of a device. Close it before the device.
func NewKernels(dev gpu.Device, cfg KernelsConfig) *Kernels {
	k := &Kernels{cfg: cfg}
	store := kernelcache.DefaultConfig[kernel]()
	store.Source = func(key kernel) (string, error) { return key.source(), nil }
	store.Name = kernel.String
	store.Programs, store.Disk, store.Log = keptPrograms, cfg.Disk, cfg.Log
	if store.Log == nil {
		store.Log = slog.New(slog.DiscardHandler)
	}
	var err error
	if k.store, err = kernelcache.Open(store, k.target(dev, cfg.Builder)); err != nil {
		panic(err) // the configuration above is a constant
	}
	return k
}

// Move goes on with another device after the one in use was lost, and its Builder, or nil.
// What was ready is built again. It does not wait.
func (k *Kernels) Move(dev, builder gpu.Device) { k.store.Move(k.target(dev, builder)) }

// Close deletes the programs, none of which may be in use. It waits for the one that is
// being built.
func (k *Kernels) Close() error {
	k.store.Close()
	k.mu.Lock()
	w := k.warm
	k.mu.Unlock() // a turn of close may find another device and call Move
	if err := w.close(); !gpu.Lost(err) {
		return err
	}
	return nil
}

// Stats is a snapshot of what was built and loaded.
func (k *Kernels) Stats() kernelcache.Stats { return k.store.Stats() }

// target is where programs are built from now on.
func (k *Kernels) target(dev, builder gpu.Device) kernelcache.Target[kernel, *program] {
	at := builder
	switch {
	case builder != nil:
	case k.cfg.Turn != nil:
		at = inTurns{dev, k.cfg.Turn}
	default:
		at = dev
	}
	w := &warmer{dev: at}
	k.mu.Lock()
	k.warm = w
	k.mu.Unlock()
	return kernelcache.Target[kernel, *program]{Device: at, Background: builder != nil, Adopt: w.adopt}
}

// ErrKernels says that the driver did not build a kernel.
var ErrKernels = errors.New("a kernel that the job needs cannot be built")

// get waits for the program of a kernel, which is held until release.
func (k *Kernels) get(ctx context.Context, key kernel) (*kernelcache.Program[*program], error) {
	p, err := k.store.Wait(ctx, key.plain())
	switch {
	case err == nil:
		return p, nil
	case key.semiring == User && !gpu.Lost(err) && ctx.Err() == nil:
		return nil, fmt.Errorf("%w: %w", ErrJoin, err)
	}
	return nil, fmt.Errorf("%w: %w", ErrKernels, err)
}

// inTurns is a device that is used in turns.
type inTurns struct {
	gpu.Device
	turn func(use func() error) error
}

func (d inTurns) Do(fn func() error) error {
	return d.turn(func() error { return d.Device.Do(fn) })
}

// warmer dispatches new programs once with nothing to do, because drivers translate a
// kernel at its first dispatch.
type warmer struct {
	dev     gpu.Device
	buffers [bindings]gpu.Buffer // made for the first program
}

// warmBytes holds whatever a kernel touches while its job is done: the control block above all.
const warmBytes = 4096

// adopt checks a linked program, finds its uniforms and dispatches it. Called on the
// device's thread; what was bound there is not any more.
func (w *warmer) adopt(key kernel, id gpu.Program) (*program, error) {
	if size := w.dev.ProgramWorkgroupSize(id); size != [3]uint32{key.width, 1, 1} {
		return nil, fmt.Errorf("the driver built workgroups of %v", size)
	}
	for i := range w.buffers {
		if w.buffers[i].Buffer == 0 {
			var err error
			if w.buffers[i], err = w.dev.NewBuffer(warmBytes); err != nil {
				return nil, fmt.Errorf("buffer of %d bytes: %w", warmBytes, err)
			}
		}
		w.dev.BindStorage(uint32(i), w.buffers[i], 0, warmBytes)
	}
	var idle controlBlock
	for i := range idle.rounds {
		idle.rounds[i].state = stateDone
	}
	w.dev.WriteBuffer(w.buffers[bindControl], 0, bytesAt(&idle))
	w.dev.Dispatch(id, 1)
	return &program{id, w.dev.UniformLocation(id, "round"), w.dev.UniformLocation(id, "offers_persistent")}, nil
}

func (w *warmer) close() error {
	if w.buffers[0].Buffer == 0 {
		return nil
	}
	return w.dev.Do(func() error {
		for i, b := range w.buffers {
			w.dev.DeleteBuffer(b)
			w.buffers[i] = gpu.Buffer{}
		}
		return nil
	})
}

// ErrDevice says that the device lacks what graph jobs need.
var ErrDevice = errors.New("device cannot run graph jobs")

// serves refuses a device that lacks what graph jobs need.
func serves(t gpu.Traits) error {
	if t.StorageBlocks < bindings { // OpenGL 4.3 promises 8
		return fmt.Errorf("this driver offers %d storage blocks to a compute shader, graph jobs need %d: %w", t.StorageBlocks, bindings, ErrDevice)
	}
	return nil
}
