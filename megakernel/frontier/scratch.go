package frontier

import (
	"errors"
	"fmt"

	"ringmaster/megakernel/gpu"
)

// scratch is the device memory of jobs beside the graph.
type scratch struct {
	buffers [bindings]buffer
	seeds   buffer
	stage   *stage
}

func (s *scratch) delete(dev gpu.Device) {
	if s == nil {
		return
	}
	for i, b := range s.buffers {
		dev.DeleteBuffer(b.id)
		s.buffers[i] = buffer{}
	}
	dev.DeleteBuffer(s.seeds.id)
	s.stage.delete()
	s.stage = nil
	s.seeds = buffer{}
}

// allocate makes the buffers of the plan, keeping those of the last job that
// have the right size, and uploads what does not change during the job. Called on the device's thread.
func (x *run) allocate() error {
	if x.scratch == nil {
		x.Graph.scratch = &scratch{}
	}
	s := x.scratch
	fit := func(b *buffer, size int) error {
		if b.size == size {
			return nil
		}
		x.dev.DeleteBuffer(b.id)
		*b = buffer{}
		if size == 0 {
			return nil
		}
		id, err := x.dev.NewBuffer(size)
		if err == nil {
			*b = buffer{id, size}
		}
		return err
	}
	var errs []error
	if s.stage == nil {
		var err error
		s.stage, err = newStage(x.dev)
		errs = append(errs, err)
	}
	for binding, size := range x.sizes {
		errs = append(errs, fit(&s.buffers[binding], size))
	}
	seeds := x.job.seeds()
	errs = append(errs, fit(&s.seeds, 4*len(seeds)))
	if err := errors.Join(errs...); err != nil {
		s.delete(x.dev)
		return fmt.Errorf("%d bytes for a job: %w", x.bytes, err)
	}
	return errors.Join(s.stage.put(s.buffers[bindTotals].id, 0, gpu.BytesAt(&totalsBlock{})),
		s.stage.put(s.seeds.id, 0, gpu.Bytes(seeds)), s.stage.put(s.buffers[bindBlocks].id, 0, gpu.Bytes(x.blocks)),
		s.stage.put(s.buffers[bindFacts].id, 0, gpu.Bytes(x.job.facts(x.shape.nodes))))
}

// bind binds everything. Called on the device's thread.
func (x *run) bind() {
	for binding := range bindings {
		x.bindOne(binding)
	}
}

func (x *run) bindOne(binding int) {
	b := x.scratch.buffers[binding]
	if b.id.Buffer == 0 {
		b = x.buffers[binding]
	}
	if b.id.Buffer == 0 {
		return // a buffer that the job does not have, such as the facts
	}
	x.dev.BindStorage(uint32(binding), b.id, 0, b.size)
}
