package frontier

import (
	"fmt"
	"slices"

	"ringmaster/megakernel/gpu"
)

// stage is memory through which everything between host and device passes: a driver may
// move a buffer that the host reads or writes directly to where kernels reach it only
// slowly. Its methods are called on the device's thread.
type stage struct {
	dev  gpu.Device
	id   gpu.Buffer // mapped
	used int        // bytes that copies under way may still read
}

const stageBytes = 8 << 20

func newStage(dev gpu.Device) (*stage, error) {
	id, err := dev.NewMapped(stageBytes)
	return &stage{dev: dev, id: id}, err
}

func (s *stage) delete() {
	if s != nil {
		s.dev.DeleteBuffer(s.id)
	}
}

// put writes bytes to an offset of a buffer, in order with the dispatches.
func (s *stage) put(dst gpu.Buffer, offset int, data []byte) error {
	for len(data) > 0 {
		if s.used == stageBytes {
			if err := s.wait(); err != nil {
				return err
			}
		}
		n := min(len(data), stageBytes-s.used)
		s.dev.StoreMapped(s.id, s.used, data[:n])
		s.dev.CopyBuffer(s.id, s.used, dst, offset, n)
		s.used += n
		offset += n
		data = data[n:]
	}
	return nil
}

// get waits for the dispatches so far and reads bytes from an offset of a buffer.
func (s *stage) get(src gpu.Buffer, offset int, data []byte) error {
	for part := range slices.Chunk(data, stageBytes) {
		if err := s.look(span{src, offset, part}); err != nil {
			return err
		}
		offset += len(part)
	}
	return nil
}

// span is a part of a buffer, and the memory that receives it.
type span struct {
	src    gpu.Buffer
	offset int // bytes
	data   []byte
}

// look waits once for the dispatches so far and reads several parts, which fit the stage together.
func (s *stage) look(spans ...span) error {
	at := 0
	for _, p := range spans {
		s.dev.CopyBuffer(p.src, p.offset, s.id, at, len(p.data))
		at += len(p.data)
	}
	s.dev.Barrier()
	if err := s.wait(); err != nil {
		return err
	}
	at = 0
	for _, p := range spans {
		s.dev.LoadMapped(s.id, at, p.data)
		at += len(p.data)
	}
	return s.dev.Check()
}

// patience is how long a wait asks at a time, in nanoseconds.
const patience = 1 << 30

// wait waits for what was given to the device.
func (s *stage) wait() error {
	fence := s.dev.InsertFence()
	defer s.dev.DeleteFence(fence)
	s.dev.Flush()
	for {
		done, err := s.dev.WaitFence(fence, patience)
		if err != nil {
			return fmt.Errorf("waiting for the device: %w", err)
		}
		if done {
			s.used = 0
			return nil
		}
	}
}
