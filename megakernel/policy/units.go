package policy

import (
	"math"
	"math/bits"
)

const (
	// narrowSubgroups is the width, in subgroups, of a launch that does not fill the
	// device: the schedulers of a unit get one subgroup each, and nobody waits at a
	// barrier for more. On an H200 the best of a sweep is 4 × 32 wide for ten of eleven
	// workloads of up to 256 Ki slots.
	narrowSubgroups = 4
	// wideSubgroups is the width of a launch that fills the device: fewer groups and claims.
	// Twice and four times as wide is better by a little for slots that take the same, and
	// worse by a third for mixed ones, of which each group waits for its longest.
	wideSubgroups = 8
	// groupsOfUnit is the most workgroups for each unit. No known device holds more of
	// them at once.
	groupsOfUnit = 32
	// rowsOfGroup is the most rows of a launch, of one slot for each invocation, for
	// each workgroup: slots of some hundred loop steps then fit the loop budget of a
	// dispatch, which holds for an invocation. It matters on devices that hold few.
	rowsOfGroup = 128
	// claimsOfGroup is how many tickets a workgroup takes of a launch that fills the
	// device, so that those with lighter slots take more; leastClaimRows and
	// maxClaimSlots bound what a ticket then claims.
	claimsOfGroup  = 16
	leastClaimRows = 2
	maxClaimSlots  = 2_048
	// sparedClaims is how many groups there are for each claim of the deepest launch. With one,
	// slots that are not laid out in whole claims send a group round again: launches of 256
	// slots of 488 us on 8 groups took 976 us on an H200, on 64 groups 491 us.
	sparedClaims = 2
	// deepRows is the depth of a launch in slots for each invocation that the device
	// holds. On an H200 a launch of one row takes little longer than its start.
	deepRows = 4
)

// described says whether geometry follows the description of the device.
func (c *Config) described(l *Limits) bool {
	return c.SeparateWidth && c.SizeByUnits && l.Units != 0 && l.UnitLanes != 0
}

// lanes is the invocations that a described device holds at once.
func (l *Limits) lanes() uint64 {
	return min(uint64(l.Units)*uint64(l.UnitLanes), math.MaxUint32)
}

// busyGroups is the most workgroups that a described device has use for.
func busyGroups(l *Limits) uint32 { return saturated(groupsOfUnit * uint64(l.Units)) }

// sideBySide is how many slots a described device runs without one waiting for another: a
// narrow workgroup on each unit. A launch of fewer takes as long, which is what its slowest
// slot takes. 0: the device is not described.
func (c *Config) sideBySide(l *Limits) uint32 {
	if !c.described(l) {
		return 0
	}
	return saturated(uint64(l.Units) * uint64(min(narrowSubgroups*c.Sizing.Subgroup(l), l.UnitLanes)))
}

// BatchDepth is the most slots of a launch that is not tuned, before rounding down to whole
// workgroups: Sizing.BatchDepth, and more on a device that holds more.
func (c *Config) BatchDepth(l *Limits) uint32 {
	s := &c.Sizing
	if !c.described(l) {
		return s.BatchDepth
	}
	return max(s.BatchDepth, min(saturated(deepRows*l.lanes()), s.MaxTunedDepth))
}

// launched is for how many slots a launch of a described device is shaped, where so many are queued:
// no more than the device holds at a time while its launches take no more than that, which is what the
// host has at hand of a longer queue. A plan for more lets a group claim two slots for an invocation,
// which made launches of 100,000 mixed slots, beside a queue of 300,000, take 2.06 ms on an H200
// instead of 0.99.
func launched(req *Request, queue uint32) uint32 {
	if lanes := req.Limits.lanes(); req.WaveSlots != 0 && uint64(req.WaveSlots) <= lanes {
		return min(queue, 1<<(bits.Len64(lanes)-1))
	}
	return queue
}

// sizeByUnits is the geometry of a described device. The launch counts as the power of two
// that covers it, so that a queue may grow and shrink without another geometry. A width of
// 0 is open.
//
// A launch of at most one slot for each invocation that the device holds ends when its
// slowest slot does: groups are narrow, its slots are spread over all units, and a group makes
// one claim. A longer launch fills the device: groups are wider and take several tickets each.
//
// There are as many groups as the device runs at a time, also where fewer would do for what is
// queued: a launch begins some milliseconds after its decision, and takes what has come since.
// A group that finds nothing costs only its start, 2 % of a launch of 8 us on an H200 with 2,112
// of them. With one group for each unit, launches of 12,672 slots of up to a millisecond, planned
// for a few thousand, went round three times and took 2.9 ms there.
func sizeByUnits(s *Sizing, l *Limits, queue, ceiling, width, depth uint32) Geometry {
	subgroup := s.Subgroup(l)
	slots := cover(min(queue, depth))
	lanes := l.lanes()
	fills := uint64(slots) > lanes
	if width == 0 {
		width = narrowSubgroups * subgroup
		if fills {
			width = wideSubgroups * subgroup
		}
		width = max(min(width, l.UnitLanes), subgroup, s.DefaultSubgroup)
		width = wholeSubgroups(min(width, l.MaxWidth()), subgroup)
	}
	rows := (slots-1)/width + 1
	least := min(subgroup, width) // slots that a claim is worth
	claims := (slots-1)/least + 1 // at least as many as rows
	groups := max(uint32(lanes)/width, l.Units)
	sharers := max(rows, min(l.Units, claims))
	if fills {
		groups = min(max(groups, rows/rowsOfGroup), claims)
		sharers = groups
	}
	most := min(busyGroups(l), ceiling)
	share := cover((slots-1)/min(sharers, most) + 1)
	chunk := max(share, least)
	if fills {
		chunk = min(chunk, max(share/claimsOfGroup, leastClaimRows*width))
	}
	g := Geometry{Width: width, Depth: max(depth/width, 1) * width}
	g.Chunk = min(chunk, max(maxClaimSlots, width), g.Depth)
	g.Groups = min(groups, most, sparedClaims*((g.Depth-1)/g.Chunk+1))
	return g
}

// wholeSubgroups is the largest multiple of the subgroup size, a power of two, up to most,
// or where that is less than one subgroup the largest power of two.
func wholeSubgroups(most, subgroup uint32) uint32 {
	if most >= subgroup {
		return most &^ (subgroup - 1)
	}
	return 1 << (bits.Len32(most) - 1)
}

// cover is the least power of two that is at least n, at most 2^31.
func cover(n uint32) uint32 { return 1 << min(bits.Len32(max(n, 1)-1), 31) }

func saturated(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }
