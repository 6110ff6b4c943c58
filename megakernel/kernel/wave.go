package kernel

import (
	"fmt"
	"strings"

	"ringmaster/ring"
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

	// Cold says that the schedule's place is taken by the cold list of the
	// dispatch before, whose length the device knows, and Entries is ignored.
	Cold bool
}

// UniformNames are the kernel's names of the fields of a Wave, in field order.
var UniformNames = [...]string{
	"wave_entries", "wave_chunk", "claim_budget", "step_budget", "wave_tenant", "window_base", "window_length",
	"wave_shift",
}

// Values are the fields of a wave in the order of UniformNames.
func (w *Wave) Values() [len(UniformNames)]uint32 {
	shift := uint32(ring.PageShift) // log2 of the positions of a schedule entry
	if w.Cold {
		shift = 0
	}
	return [...]uint32{w.Entries, w.Chunk, w.ClaimBudget, w.StepBudget, w.Tenant, w.WindowBase, w.WindowLength, shift}
}

// waveUniforms declares the uniforms as GLSL.
func waveUniforms() string {
	var b strings.Builder
	for _, name := range UniformNames {
		fmt.Fprintf(&b, "uniform uint %s;\n", name)
	}
	return b.String()
}
