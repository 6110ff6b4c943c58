package policy

import (
	"errors"
	"math"
	"math/bits"
	"slices"
)

// Cost is what launches of a queue take on its device: LaunchNs, and SlotPs for each slot.
// The zero value is "not known".
type Cost struct {
	LaunchNs uint64 `json:"launch_ns,omitzero"` // nanoseconds
	SlotPs   uint64 `json:"slot_ps,omitzero"`   // picoseconds; 0: not known
}

// known says whether a launch was measured.
func (c *Cost) known() bool { return c.SlotPs != 0 }

// Ns is what a launch of so many slots takes, saturated.
func (c *Cost) Ns(slots uint32) uint64 {
	hi, ps := bits.Mul64(c.SlotPs, uint64(slots))
	if hi != 0 {
		return math.MaxUint64
	}
	return addSaturating(c.LaunchNs, ps/1_000)
}

func addSaturating(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

// slotsIn is the most slots of a launch that takes no longer than ns, at least 1.
func (c *Cost) slotsIn(ns uint64) uint32 {
	hi, ps := bits.Mul64(sub(ns, c.LaunchNs), 1_000)
	if hi != 0 {
		return math.MaxUint32
	}
	return uint32(min(max(ps/max(c.SlotPs, 1), 1), math.MaxUint32))
}

// Bounds of a launch that can be true: it does not take longer than any watchdog waits, and
// no device takes less than a picosecond for a slot.
const (
	longestLaunchNs = 60_000_000_000
	leastSlotPs     = 1
)

const (
	// costRows is how many launches an estimate is made from.
	costRows = 16
	// enoughRows is how many of them two estimates need to be compared. The first launches of
	// a kernel take what only the first ones do, and three such are outvoted.
	enoughRows = 8
)

// Costs are a queue's newest launches, from which its cost is estimated. The zero value has
// none. It is a value: its copies are independent.
type Costs struct {
	rows  [costRows]costRow
	taken uint64
}

type costRow struct{ slots, ns float64 }

// Errors of a launch that cannot be true.
var (
	ErrNoSlots    = errors.New("a launch without slots has no cost")
	ErrLaunchTime = errors.New("no launch takes so long, or so little")
)

// Take adds a launch that ran so many slots in ns on the device. One that cannot be true is
// refused and changes nothing.
func (c *Costs) Take(slots, ns uint64) error {
	if slots == 0 || slots > math.MaxUint32 {
		return ErrNoSlots
	}
	if ns == 0 || ns > longestLaunchNs || ns*1_000 < slots*leastSlotPs {
		return ErrLaunchTime
	}
	c.rows[c.taken%costRows] = costRow{float64(slots), float64(ns)}
	c.taken++
	return nil
}

// slots is the median of the launches' slots; 0 without launches.
func (c *Costs) slots() uint32 {
	var sizes [costRows]float64
	rows := c.rows[:min(c.taken, costRows)]
	for i, r := range rows {
		sizes[i] = r.slots
	}
	if len(rows) == 0 {
		return 0
	}
	return uint32(median(sizes[:len(rows)]))
}

// Enough says whether an estimate may be compared with another.
func (c *Costs) Enough() bool { return c.taken >= enoughRows }

// Estimate is the line through the launches by the method of Theil and Sen
// (P. K. Sen, Journal of the American Statistical Association 63, 1968): the slope is the
// median of the slopes between pairs of launches, and the start the median of what it leaves.
// Up to a quarter of the launches may therefore be as wrong as a clock that jumps makes them.
//
// A pair counts if one has twice the slots of the other. Where too few do, slots are taken
// for all of a launch's time. They are never taken for less than 1/reach of it, because
// launches of few slots say little of far larger ones. No start takes longer than the
// quickest launch: what else happens on the machine makes launches longer, never shorter.
func (c *Costs) Estimate() Cost {
	const reach = 2
	rows := c.rows[:min(c.taken, costRows)]
	if len(rows) == 0 {
		return Cost{}
	}
	var slopes [costRows * (costRows - 1) / 2]float64
	var each, start [costRows]float64
	pairs, quickest := 0, rows[0].ns
	for i, a := range rows {
		quickest = min(quickest, a.ns)
		each[i] = a.ns / a.slots
		for _, b := range rows[:i] {
			if max(a.slots, b.slots) >= 2*min(a.slots, b.slots) {
				slopes[pairs] = (a.ns - b.ns) / (a.slots - b.slots)
				pairs++
			}
		}
	}
	slope := median(each[:len(rows)])
	if pairs >= len(rows) {
		slope = max(median(slopes[:pairs]), slope/reach)
	}
	for i, a := range rows {
		start[i] = a.ns - slope*a.slots
	}
	return Cost{LaunchNs: uint64(min(max(median(start[:len(rows)]), 0), quickest)), SlotPs: uint64(math.Ceil(slope * 1_000))}
}

// median sorts the values, of which there is one at least.
func median(values []float64) float64 {
	slices.Sort(values)
	mid := len(values) / 2
	if len(values)%2 == 1 {
		return values[mid]
	}
	return (values[mid-1] + values[mid]) / 2
}
