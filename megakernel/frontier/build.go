package frontier

import (
	"context"
	"errors"
	"fmt"
)

// build allocates what the job needs and finds its programs. Each program that does not exist yet has a turn of its
// own: compiling it may take as long as many launches.
func (x *run) build(ctx context.Context) error {
	next := kind(0)
	err := x.turn(func() (err error) {
		if err = x.clear(); err == nil {
			next, err = x.compile(0)
		}
		return err
	})
	for err == nil && next < kinds {
		if err = ctx.Err(); err != nil {
			return fmt.Errorf("building kernels: %w", err)
		}
		err = x.turn(func() (err error) {
			x.bind()
			next, err = x.compile(next)
			return err
		})
	}
	return err
}

// clear allocates the buffers and fills them so that a program finds nothing to do. Called on the device's thread.
func (x *run) clear() error {
	if err := x.allocate(); err != nil {
		return err
	}
	x.bind()
	var idle controlBlock
	for i := range idle.rounds {
		idle.rounds[i].state = stateDone
	}
	return errors.Join(x.scratch.stage.put(x.scratch.buffers[bindControl].id, 0, bytesAt(&idle)),
		x.scratch.stage.put(x.scratch.buffers[bindTotals].id, 0, bytesAt(&totalsBlock{})))
}

// compile finds the job's programs from a kind on, up to the first that does not exist yet. It builds that one
// and runs it once without work, because some drivers compile at the first dispatch. It returns the kind to go
// on with. Called on the device's thread.
func (x *run) compile(k kind) (next kind, err error) {
	for ; k < kinds; k++ {
		if k == kindPersistent && !x.mayPersist() {
			continue
		}
		program, fresh, err := x.kernels.get(x.kernel(k))
		if err != nil {
			return k, err
		}
		x.programs[k] = program
		if fresh {
			x.dev.Dispatch(program.id, 1)
			x.dev.Barrier()
			x.dev.Finish()
			return k + 1, x.dev.Check()
		}
	}
	return k, nil
}

// kernel is the kernel of a kind that the job needs.
func (x *run) kernel(k kind) kernel {
	key := kernel{kind: k, semiring: x.job.Semiring, weighted: x.shape.weighted, subgroups: x.m.subgroups, width: x.geometry.Width}
	if x.job.Join != nil {
		key.join, key.given = *x.job.Join, x.job.From != nil
	}
	if k == kindPersistent {
		_, key.width = x.m.team()
	}
	return key
}
