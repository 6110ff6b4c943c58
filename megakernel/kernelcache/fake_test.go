package kernelcache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/megakernel/texttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeDevice counts and can fail or stop at each step.
type fakeDevice struct {
	gpu.Device
	thread sync.Mutex // held by Do

	mu       sync.Mutex
	version  string
	next     uint32
	live     map[gpu.Program]string // programs and their sources
	compiled []string
	loaded   int
	deleted  []gpu.Program
	steps    []string // of the last build

	binaries      bool                      // the driver has program binaries
	refuse        func(source string) error // compiler
	refuseBinary  error
	stopCompiling chan struct{} // compiling waits for a receive
	stopFinishing chan struct{}
	misfit        func(key string) bool // the linked program of a key does not pass the check
	check         error
}

func newFake() *fakeDevice {
	return &fakeDevice{version: "1", live: map[gpu.Program]string{}}
}

func (d *fakeDevice) Do(fn func() error) error {
	d.thread.Lock()
	defer d.thread.Unlock()
	return fn()
}

func (d *fakeDevice) Identity() (string, string, string) { return "maker", "model", d.version }
func (d *fakeDevice) Supports(name string) bool          { return name == "program-binary" && d.binaries }

func (*fakeDevice) Software() bool                           { return false }
func (*fakeDevice) StorageBlocks() uint32                    { return 8 }
func (*fakeDevice) StorageBlockLimit() int64                 { return 1 << 20 }
func (*fakeDevice) WorkgroupLimits() (x, groups, all uint32) { return 64, 64, 64 }

func (d *fakeDevice) step(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps = append(d.steps, name)
}

func (d *fakeDevice) make(source string) gpu.Program {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next++
	program := gpu.Program{Program: d.next}
	d.live[program] = source
	return program
}

func (d *fakeDevice) CompileCompute(source string) (gpu.Program, error) {
	d.mu.Lock()
	d.compiled = append(d.compiled, source)
	d.steps = []string{"compile"}
	stop, refuse := d.stopCompiling, d.refuse
	d.mu.Unlock()
	if stop != nil {
		<-stop
	}
	if refuse != nil {
		if err := refuse(source); err != nil {
			return gpu.Program{}, err
		}
	}
	return d.make(source), nil
}

func (d *fakeDevice) DeleteProgram(program gpu.Program) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.live[program]; !ok {
		panic(fmt.Sprintf("program %d is deleted and does not exist", program))
	}
	delete(d.live, program)
	d.deleted = append(d.deleted, program)
}

func (d *fakeDevice) ProgramBinary(program gpu.Program) (uint32, []byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return 77, []byte("binary of " + d.live[program]), nil
}

func (d *fakeDevice) LoadProgramBinary(format uint32, data []byte) (gpu.Program, error) {
	if d.refuseBinary != nil {
		return gpu.Program{}, d.refuseBinary
	}
	source, ok := strings.CutPrefix(string(data), "binary of ")
	if format != 77 || !ok {
		return gpu.Program{}, errors.New("not a binary of this driver")
	}
	d.mu.Lock()
	d.loaded++
	d.mu.Unlock()
	return d.make(source), nil
}

func (d *fakeDevice) Finish() {
	d.step("finish")
	if d.stopFinishing != nil {
		<-d.stopFinishing
	}
}

func (d *fakeDevice) Check() error { d.step("check"); return d.check }

func (d *fakeDevice) sources() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.compiled)
}

func (d *fakeDevice) programs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.live)
}

// fakeKernel is a kernel; the value of its program is its name.
type fakeKernel string

func (k fakeKernel) String() string { return "kernel " + string(k) }
func (k fakeKernel) Source() string { return "source of " + string(k) }

func (k fakeKernel) Adopt(dev gpu.Device, _ gpu.Program, _ *Idle) (any, error) {
	d := dev.(*fakeDevice)
	d.step("adopt")
	if strings.HasPrefix(string(k), "misfit") || d.misfit != nil && d.misfit(string(k)) {
		return nil, errors.New("the driver built another width")
	}
	return string(k), nil
}

// world is a store of fake kernels, by their names, on a fake device.
type world struct {
	*Store
	dev *fakeDevice
	log *texttest.Log
	dir *disk.Dir
}

func (w *world) Get(key string) (*Program, bool) { return w.Store.Get(fakeKernel(key)) }
func (w *world) Ready(key string) bool           { return w.Store.Ready(fakeKernel(key)) }
func (w *world) Failing(key string) error        { return w.Store.Failing(fakeKernel(key)) }

func (w *world) Wait(ctx context.Context, key string) (*Program, error) {
	return w.Store.Wait(ctx, fakeKernel(key))
}

func (w *world) Prefetch(keys ...string) (dropped int) {
	kernels := make([]Kernel, len(keys))
	for i, key := range keys {
		kernels[i] = fakeKernel(key)
	}
	return w.Store.Prefetch(kernels...)
}

func target(dev *fakeDevice, background bool) Target {
	return Target{Device: dev, Background: background}
}

func openWorld(t *testing.T, dev *fakeDevice, background bool, changes ...func(*Config)) *world {
	t.Helper()
	w := &world{dev: dev, log: &texttest.Log{}}
	cfg := DefaultConfig()
	cfg.Log = slog.New(slog.NewTextHandler(w.log, nil))
	for _, c := range changes {
		c(&cfg)
	}
	w.dir = cfg.Disk
	s := Open(cfg, target(dev, background))
	w.Store = s
	return w
}

// close checks that the store leaves nothing on the device.
func (w *world) close(t *testing.T) {
	t.Helper()
	w.Close()
	w.Close() // is allowed
	if n := w.dev.programs(); n != 0 {
		t.Errorf("%d programs are left on the device", n)
	}
}

// wait builds a program if need be and releases it.
func (w *world) wait(t *testing.T, key string) *Program {
	t.Helper()
	p, err := w.Wait(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	w.Release(p)
	return p
}

func (w *world) ready(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return !w.Ready(key) })
}
