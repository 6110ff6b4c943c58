package frontier

import (
	"errors"
	"fmt"
	"slices"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/userop"
)

// Kernels are the compiled programs of a device, built when a job first needs
// them. Graphs of one device may share them; jobs of such graphs must not run at
// the same time.
type Kernels struct {
	dev      gpu.Device
	traits   gpu.Traits
	programs map[kernel]*program
	joins    []userop.Join // joins that have programs, those of the newest jobs last
}

// program is a kernel on the device, with the locations of its uniforms, or -1.
type program struct {
	id            gpu.Program
	round, offers int32
}

// NewKernels is an empty set of programs of a device.
func NewKernels(dev gpu.Device) *Kernels {
	return &Kernels{dev: dev, traits: gpu.TraitsOf(dev), programs: make(map[kernel]*program)}
}

// Close deletes the programs.
func (k *Kernels) Close() error {
	err := k.dev.Do(func() error {
		for key := range k.programs {
			k.delete(key)
		}
		return nil
	})
	if gpu.Lost(err) {
		return nil
	}
	return err
}

func (k *Kernels) delete(key kernel) {
	k.dev.DeleteProgram(k.programs[key].id)
	delete(k.programs, key)
}

func (k *Kernels) join(err error) error { return errors.Join(err, k.Close()) }

// get is the program of a kernel. Called on the device's thread.
func (k *Kernels) get(key kernel) (p *program, fresh bool, err error) {
	key = key.plain()
	if key.semiring == User {
		k.use(key.join)
	}
	if p := k.programs[key]; p != nil {
		return p, false, nil
	}
	id, err := k.dev.CompileCompute(key.source())
	if err != nil && key.semiring == User && !gpu.Lost(err) {
		return nil, false, fmt.Errorf("kernel %s: %w: %w", key, ErrJoin, err)
	}
	if err != nil {
		return nil, false, fmt.Errorf("kernel %s: %w", key, err)
	}
	if size := k.dev.ProgramWorkgroupSize(id); size != [3]uint32{key.width, 1, 1} {
		k.dev.DeleteProgram(id)
		return nil, false, fmt.Errorf("kernel %s: the driver built workgroups of %v", key, size)
	}
	p = &program{id, k.dev.UniformLocation(id, "round"), k.dev.UniformLocation(id, "offers_persistent")}
	k.programs[key] = p
	return p, true, nil
}

// maxJoins is how many joins may have programs at the same time.
const maxJoins = 8

// use notes that a job uses a join. If too many joins have programs, it deletes those of the one that has not been used
// for the longest time. Called on the device's thread.
func (k *Kernels) use(join userop.Join) {
	if n := len(k.joins); n > 0 && k.joins[n-1] == join {
		return
	}
	k.joins = append(slices.DeleteFunc(k.joins, func(j userop.Join) bool { return j == join }), join)
	if len(k.joins) <= maxJoins {
		return
	}
	for key := range k.programs {
		if key.semiring == User && key.join == k.joins[0] {
			k.delete(key)
		}
	}
	k.joins = slices.Delete(k.joins, 0, 1)
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
