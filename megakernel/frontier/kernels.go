package frontier

import (
	"context"
	"errors"
	"fmt"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache"
)

// program is a kernel on the device, with the locations of its uniforms, or -1.
type program struct {
	id            gpu.Program
	round, offers int32
}

// ErrKernels says that the driver did not build a kernel.
var ErrKernels = errors.New("a kernel that the job needs cannot be built")

// hold waits for the program of a kernel and holds it until release. If the store builds
// on the device itself, each build is a turn of the job.
func (x *run) hold(ctx context.Context, k kernel) (*program, error) {
	turn := x.job.Turn
	if turn == nil {
		turn = func(use func() error) error { return use() }
	}
	p, err := x.store.WaitInTurns(ctx, k.plain(), turn)
	switch {
	case err == nil:
		x.held = append(x.held, p)
		return p.Value.(*program), nil
	case k.semiring == User && !gpu.Lost(err) && ctx.Err() == nil:
		return nil, fmt.Errorf("%w: %w", ErrJoin, err)
	}
	return nil, fmt.Errorf("%w: %w", ErrKernels, err)
}

// idleBytes holds whatever a kernel touches while its job is done: the control block above all.
const idleBytes = 4096

// Adopt implements [kernelcache.Kernel]. Drivers translate a kernel at its first dispatch,
// which is over a job that is done.
func (k kernel) Adopt(dev gpu.Device, id gpu.Program, idle *kernelcache.Idle) (any, error) {
	if size := dev.ProgramWorkgroupSize(id); size != [3]uint32{k.width, 1, 1} {
		return nil, fmt.Errorf("the driver built workgroups of %v", size)
	}
	buffers, err := idle.Bind(bindings, idleBytes)
	if err != nil {
		return nil, err
	}
	var done controlBlock
	for i := range done.rounds {
		done.rounds[i].state = stateDone
	}
	dev.WriteBuffer(buffers[bindControl], 0, gpu.BytesAt(&done))
	dev.Dispatch(id, 1)
	return &program{id, dev.UniformLocation(id, "round"), dev.UniformLocation(id, "offers_persistent")}, nil
}

// ErrDevice says that the device lacks what graph jobs need.
var ErrDevice = errors.New("device cannot run graph jobs")

// serves refuses a device that lacks what graph jobs need.
func serves(t gpu.Traits) error {
	if t.StorageBlocks < bindings { // OpenGL 4.3 promises 8
		return fmt.Errorf("this driver offers %d storage blocks to a compute shader, graph jobs need %d: %w", t.StorageBlocks, bindings, ErrDevice)
	}
	if !t.Mapped {
		return fmt.Errorf("this driver has no persistently mapped buffers (GL_ARB_buffer_storage), which graph jobs need: %w", ErrDevice)
	}
	return nil
}
