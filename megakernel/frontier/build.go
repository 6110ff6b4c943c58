package frontier

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// build allocates what the job needs and builds its programs. With Job.Turn each program that does not exist
// yet has a turn of its own: compiling it may take as long as many launches.
func (x *run) build(ctx context.Context) error {
	if x.job.Turn == nil {
		return x.turn(x.prepare)
	}
	next := kind(0)
	err := x.turn(func() (err error) {
		if err = x.clear(); err == nil {
			next, err = x.compile(0)
		}
		return err
	})
	for err == nil && next < kinds {
		if err = ctx.Err(); err != nil {
			return fmt.Errorf("frontier: building kernels: %w", err)
		}
		err = x.turn(func() (err error) {
			x.bind()
			next, err = x.compile(next)
			return err
		})
	}
	return err
}

// prepare is build in one turn. Called on the device's thread.
func (x *run) prepare() error {
	err := x.clear()
	for next := kind(0); err == nil && next < kinds; {
		next, err = x.compile(next)
	}
	return err
}

// clear allocates the buffers and fills them so that a program finds nothing to do. Called on the device's thread.
func (x *run) clear() error {
	if err := x.allocate(); err != nil {
		return err
	}
	if err := x.tape.load(x); err != nil {
		return err
	}
	x.bind()
	idle := make([]uint32, controlWords)
	idle[ctlState] = stateDone
	return errors.Join(x.scratch.stage.put(x.scratch.buffers[bindControl].id, 0, idle),
		x.scratch.stage.put(x.scratch.buffers[bindTotals].id, 0, make([]uint32, totalsWords)))
}

// compile finds the job's programs from a kind on, up to the first that does not exist yet. It builds that one
// and runs it once without work, because some drivers compile at the first dispatch. It returns the kind to go
// on with. Called on the device's thread.
func (x *run) compile(k kind) (next kind, err error) {
	for ; k < kinds; k++ {
		if !k.of(x.m.narrow) || k == kindResident && !x.mayResident() {
			continue
		}
		program, fresh, err := x.kernels.get(x.kernel(k))
		if err != nil {
			return k, err
		}
		x.programs[k] = program
		x.offers[k] = x.dev.UniformLocation(program, "offers_resident")
		if fresh {
			x.dev.Dispatch(program, sets) // as in the first round
			x.dev.Barrier()
			x.dev.Finish()
			return k + 1, x.dev.Check()
		}
	}
	return k, nil
}

// hasSettled says whether the words that are the same in most jobs have these values in a control block.
func hasSettled(control []uint32) bool {
	for name, value := range settled {
		if control[slices.Index(controlNames, name)] != value {
			return false
		}
	}
	return true
}

// kernel is the kernel of a kind that the job needs.
func (x *run) kernel(k kind) kernel {
	key := kernel{kind: k, semiring: x.job.Semiring, weighted: x.shape.weighted,
		narrow: x.kernels.narrow, subgroups: x.kernels.subgroups, width: x.geometry.Width, recorded: x.tape.plays(), settled: hasSettled(x.plan.control(&x.m, &x.shape))}
	if x.job.Join != nil {
		key.join, key.given = *x.job.Join, x.job.From != nil
	}
	switch k {
	case kindResident:
		key.width = x.residentAt
	case kindLevel:
		key.team = x.kernels.team
	}
	return key
}
