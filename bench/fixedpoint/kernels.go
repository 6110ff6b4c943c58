package fixedpoint

import (
	_ "embed"
	"fmt"

	"ringmaster/megakernel/gpu"
)

//go:embed shaders/common.glsl
var common string

//go:embed shaders/sums.comp
var sumsSource string

//go:embed shaders/softmax.comp
var softmaxSource string

//go:embed shaders/dense.comp
var denseSource string

//go:embed shaders/dots.comp
var dotsSource string

//go:embed shaders/lowrank.comp
var lowRankSource string

// width is the workgroup size of all kernels. It is at least natural.MaxTerms and
// maxShares, because one workgroup handles the terms, or reads the shares, with one
// lane each.
const width = 128

// maxShares is the most workgroups among which a sum is divided.
const maxShares = 64

// Binding points of the kernels.
const (
	bindInput = iota
	bindRoot
	bindOutput
	bindParts
	bindings
)

// uniforms are those of all kernels; a kernel has only some of them.
type uniforms struct{ count, shares, terms, signsLow, signsHigh uint32 }

type kernel struct {
	program   gpu.Program
	locations [5]int32
}

func buildKernel(dev gpu.Device, name, body string) (kernel, error) {
	source := fmt.Sprintf("#version 430 core\nlayout(local_size_x = %d) in;\n#define WIDTH %du\n%s%s", width, width, common, body)
	program, err := dev.CompileCompute(source)
	if err != nil {
		return kernel{}, fmt.Errorf("fixedpoint: kernel %s: %w", name, err)
	}
	k := kernel{program: program}
	for i, u := range [...]string{"count", "shares", "terms", "signsLow", "signsHigh"} {
		k.locations[i] = dev.UniformLocation(program, u)
	}
	return k, nil
}

func (k *kernel) dispatch(dev gpu.Device, u uniforms, groups int) {
	for i, v := range [...]uint32{u.count, u.shares, u.terms, u.signsLow, u.signsHigh} {
		if k.locations[i] >= 0 {
			dev.SetUniform(k.program, k.locations[i], v)
		}
	}
	dev.Dispatch(k.program, uint32(groups))
	dev.Barrier()
}
