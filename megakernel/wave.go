package megakernel

import (
	"fmt"
	"strings"
)

// Wave are the parameters of one dispatch besides its geometry. The kernel
// gets each as a uniform.
type Wave struct {
	Entries      uint32 // schedule entries
	Chunk        uint32 // positions one ticket claims
	ClaimBudget  uint32 // most tickets one workgroup takes
	StepBudget   uint32 // most loop steps one slot takes; one that needs more stays published
	Tenant       uint32 // the tenant all slots belong to
	WindowBase   uint32 // first word of its window
	WindowLength uint32 // words of its window
}

// uniformNames are the kernel's names of the fields of a Wave, in field order.
var uniformNames = [...]string{
	"wave_entries", "wave_chunk", "claim_budget", "step_budget", "wave_tenant", "window_base", "window_length",
}

// values are the fields of a wave in the order of uniformNames.
func (w *Wave) values() [len(uniformNames)]uint32 {
	return [...]uint32{w.Entries, w.Chunk, w.ClaimBudget, w.StepBudget, w.Tenant, w.WindowBase, w.WindowLength}
}

// waveUniforms declares the uniforms as GLSL.
func waveUniforms() string {
	var b strings.Builder
	for _, name := range uniformNames {
		fmt.Fprintf(&b, "uniform uint %s;\n", name)
	}
	return b.String()
}
