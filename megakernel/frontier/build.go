package frontier

import (
	"context"
	"errors"
	"fmt"
)

// build waits for the programs that the job needs, and then allocates its buffers, which
// takes the job's first turn. The programs are held until release.
func (x *run) build(ctx context.Context) error {
	for k := range kind(kinds) {
		if k == kindPersistent && !x.mayPersist() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("building kernels: %w", err)
		}
		var err error
		if x.programs[k], err = x.hold(ctx, x.kernel(k)); err != nil {
			return err
		}
	}
	return x.turn(func() error {
		return errors.Join(x.allocate(), x.dev.Check())
	})
}

// release ends the use of the job's programs.
func (x *run) release() {
	for _, p := range x.held {
		x.store.Release(p)
	}
	x.held, x.programs = nil, [kinds]*program{}
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
