package fixedpoint

import (
	"encoding/binary"
	"errors"
	"fmt"

	"ringmaster/bench/natural"
	"ringmaster/megakernel/gpu"
)

// ErrTooLarge says that a step does not fit the device's storage blocks.
var ErrTooLarge = errors.New("too large for the device")

// Engine runs steps on a device. It is used by one goroutine at a time. It keeps
// the last root on the device, so that a root must not change once it was used.
type Engine struct {
	dev     gpu.Device
	sums    kernel
	softmax kernel
	dense   kernel
	dots    kernel
	lowRank kernel

	buffers [bindings]gpu.Buffer
	sizes   [bindings]int
	root    natural.Root // on the device
}

// New builds the kernels on a device. Close frees them; an error leaves
// nothing behind.
func New(dev gpu.Device) (*Engine, error) {
	e := &Engine{dev: dev}
	err := dev.Do(func() (err error) {
		for _, k := range []struct {
			kernel       *kernel
			name, source string
		}{
			{&e.sums, "sums", sumsSource}, {&e.softmax, "softmax", softmaxSource}, {&e.dense, "dense", denseSource},
			{&e.dots, "dots", dotsSource}, {&e.lowRank, "low rank", lowRankSource},
		} {
			if *k.kernel, err = buildKernel(dev, k.name, k.source); err != nil {
				e.free()
				return err
			}
		}
		return dev.Check()
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Close frees the engine's programs and buffers on the device.
func (e *Engine) Close() error {
	return e.dev.Do(func() error {
		e.free()
		return e.dev.Check()
	})
}

func (e *Engine) free() {
	for _, k := range []*kernel{&e.sums, &e.softmax, &e.dense, &e.dots, &e.lowRank} {
		if k.program.Program != 0 {
			e.dev.DeleteProgram(k.program)
		}
	}
	for i, b := range e.buffers {
		if b.Buffer != 0 {
			e.dev.DeleteBuffer(b)
		}
		e.buffers[i], e.sizes[i] = gpu.Buffer{}, 0
	}
}

// Softmax implements [natural.Engine].
func (e *Engine) Softmax(exponentials []uint32) ([]uint32, error) {
	n := len(exponentials)
	if n < 1 || n > natural.MaxCandidates {
		return nil, fmt.Errorf("fixedpoint: %d candidates, want 1 to %d: %w", n, natural.MaxCandidates, natural.ErrShape)
	}
	shares := sharesOf(n, maxShares)
	return e.step(exponentials, shares, func() {
		u := uniforms{count: uint32(n), shares: uint32(shares)}
		e.sums.dispatch(e.dev, u, shares)
		e.softmax.dispatch(e.dev, u, groupsOf(n))
	})
}

// Precondition implements [natural.Engine].
func (e *Engine) Precondition(root natural.Root, policy []uint32) ([]uint32, error) {
	if err := natural.CheckStep(root, policy); err != nil {
		return nil, err
	}
	if err := e.keep(root); err != nil {
		return nil, err
	}
	n := len(policy)
	l, ok := root.(*natural.LowRank)
	if !ok {
		return e.step(policy, 1, func() {
			e.dense.dispatch(e.dev, uniforms{count: uint32(n)}, n)
		})
	}
	shares := sharesOf(n, maxShares/4)
	u := uniforms{count: uint32(n), shares: uint32(shares), terms: uint32(len(l.Terms))}
	for k := range l.Terms {
		if l.Terms[k].Negative {
			if k < 32 {
				u.signsLow |= 1 << k
			} else {
				u.signsHigh |= 1 << (k - 32)
			}
		}
	}
	return e.step(policy, shares*len(l.Terms), func() {
		if len(l.Terms) > 0 {
			e.dots.dispatch(e.dev, u, shares*len(l.Terms))
		}
		e.lowRank.dispatch(e.dev, u, groupsOf(n))
	})
}

// step sends the input, runs the kernels and reads the output.
func (e *Engine) step(input []uint32, parts int, run func()) ([]uint32, error) {
	bytes, err := binary.Append(nil, binary.LittleEndian, input)
	if err != nil {
		return nil, err
	}
	result := make([]byte, len(bytes))
	err = e.dev.Do(func() error {
		for binding, size := range [bindings]int{bindInput: len(bytes), bindOutput: len(bytes), bindParts: 8 * parts} {
			if err := e.grow(binding, size); err != nil {
				return err
			}
		}
		e.dev.WriteBuffer(e.buffers[bindInput], 0, bytes)
		for binding, b := range e.buffers {
			if b.Buffer != 0 {
				e.dev.BindStorage(uint32(binding), b, 0, e.sizes[binding])
			}
		}
		run()
		e.dev.ReadBuffer(e.buffers[bindOutput], 0, result)
		return e.dev.Check()
	})
	if err != nil {
		return nil, fmt.Errorf("fixedpoint: step of %d candidates: %w", len(input), err)
	}
	output := make([]uint32, len(input))
	_, err = binary.Decode(result, binary.LittleEndian, output)
	return output, err
}

// keep puts a root on the device, unless it is there.
func (e *Engine) keep(root natural.Root) error {
	if e.root == root {
		return nil
	}
	parts := [][]int32{}
	switch r := root.(type) {
	case *natural.Dense:
		parts = append(parts, r.Cells)
	case *natural.LowRank:
		parts = append(parts, r.Diagonal)
		for k := range r.Terms {
			parts = append(parts, r.Terms[k].Vector)
		}
	default:
		return fmt.Errorf("fixedpoint: no kernel for a %T: %w", root, errors.ErrUnsupported)
	}
	size := 4 * len(parts) * len(parts[0])
	e.root = nil
	err := e.dev.Do(func() error {
		if err := e.grow(bindRoot, size); err != nil {
			return err
		}
		offset := 0
		for _, p := range parts {
			bytes, err := binary.Append(nil, binary.LittleEndian, p)
			if err != nil {
				return err
			}
			e.dev.WriteBuffer(e.buffers[bindRoot], offset, bytes)
			offset += len(bytes)
		}
		return e.dev.Check()
	})
	if err != nil {
		return fmt.Errorf("fixedpoint: root of %d candidates: %w", root.Len(), err)
	}
	e.root = root
	return nil
}

// grow makes a binding's buffer at least as large as size. A new buffer does not
// have the contents of the old one.
func (e *Engine) grow(binding, size int) error {
	if size <= e.sizes[binding] {
		return nil
	}
	if limit := e.dev.StorageBlockLimit(); int64(size) > limit {
		return fmt.Errorf("%d bytes, a storage block has at most %d: %w", size, limit, ErrTooLarge)
	}
	size = int(min(e.dev.StorageBlockLimit(), int64(size+size/2+256))) &^ 7
	if e.buffers[binding].Buffer != 0 {
		e.dev.DeleteBuffer(e.buffers[binding])
		e.buffers[binding], e.sizes[binding] = gpu.Buffer{}, 0
	}
	b, err := e.dev.NewBuffer(size)
	if err != nil {
		return err
	}
	e.buffers[binding], e.sizes[binding] = b, size
	return nil
}

// sharesOf is among how many workgroups a sum is divided: each has a few rounds of
// work.
func sharesOf(n, most int) int { return min(max(n/(4*width), 1), most) }

func groupsOf(n int) int { return (n + width - 1) / width }
