package tuner

import "ringmaster/megakernel/policy"

// widths are the workgroup sizes of the reference tuner, in invocations.
var widths = [...]uint32{32, 64, 128, 256, 512, 1024}

// Candidates returns the widths worth measuring on a device, ascending: those
// of 32, 64, ... 1,024 that the limits allow and that fill whole subgroups. A
// device too small for any of them has its default width as its only
// candidate, and one whose limits are unknown (zero) has none.
func Candidates(limits policy.Limits) []uint32 {
	most := limits.MaxWidth()
	if most == 0 {
		return nil
	}
	sizing := policy.Standard().Sizing
	least := uint32(1)
	if limits.SubgroupSize != 0 {
		least = sizing.Subgroup(&limits)
	}
	var out []uint32
	for _, w := range widths {
		// Both are powers of two: at least one subgroup is whole subgroups.
		if w <= most && w >= least {
			out = append(out, w)
		}
	}
	if out == nil {
		out = append(out, sizing.DefaultWidth(&limits))
	}
	return out
}
