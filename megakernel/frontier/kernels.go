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
	dev       gpu.Device
	programs  map[kernel]gpu.Program
	offered   map[gpu.Program]bool // by program: whether it was last told that the resident kernel is in its round
	joins     []userop.Join        // joins that have programs, those of the newest jobs last
	narrow    bool                 // invocations are lanes of a processor's vectors
	subgroups bool                 // GL_KHR_shader_subgroup is worth using
	team      uint32               // workgroups of the resident kernel
	teamWidth uint32               // invocations of each
}

// NewKernels is an empty set of programs of a device.
func NewKernels(dev gpu.Device) *Kernels {
	traits := gpu.TraitsOf(dev)
	k := &Kernels{
		dev:       dev,
		programs:  make(map[kernel]gpu.Program),
		offered:   make(map[gpu.Program]bool),
		narrow:    traits.Software,
		subgroups: traits.Subgroups,
		team:      1,
		teamWidth: mostWidth,
	}
	if k.subgroups {
		k.team, k.teamWidth = teamGroups, teamWidth
	}
	return k
}

// Close deletes the programs.
func (k *Kernels) Close() error {
	err := k.dev.Do(func() error {
		for key, program := range k.programs {
			k.dev.DeleteProgram(program)
			delete(k.programs, key)
			delete(k.offered, program)
		}
		return nil
	})
	if gpu.Lost(err) {
		return nil
	}
	return err
}

func (k *Kernels) join(err error) error { return errors.Join(err, k.Close()) }

// get is the program of a kernel. Called on the device's thread.
func (k *Kernels) get(key kernel) (program gpu.Program, fresh bool, err error) {
	key = key.plain()
	if key.semiring == User {
		k.use(key.join)
	}
	if program, ok := k.programs[key]; ok {
		return program, false, nil
	}
	program, err = k.dev.CompileCompute(key.source())
	if err != nil && key.semiring == User && !gpu.Lost(err) {
		return gpu.Program{}, false, fmt.Errorf("frontier: kernel %s: %w: %w", key, ErrJoin, err)
	}
	if err != nil {
		return gpu.Program{}, false, fmt.Errorf("frontier: kernel %s: %w", key, err)
	}
	if size := k.dev.ProgramWorkgroupSize(program); size != [3]uint32{key.invocations(), 1, 1} {
		k.dev.DeleteProgram(program)
		return gpu.Program{}, false, fmt.Errorf("frontier: kernel %s: the driver built workgroups of %v", key, size)
	}
	k.programs[key] = program
	return program, true, nil
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
	for key, program := range k.programs {
		if key.semiring == User && key.join == k.joins[0] {
			k.dev.DeleteProgram(program)
			delete(k.programs, key)
			delete(k.offered, program)
		}
	}
	k.joins = slices.Delete(k.joins, 0, 1)
}
