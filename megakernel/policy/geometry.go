package policy

import "math"

// derivedGroups is the ceiling of worker groups that the limits suggest: one
// for each OccupancyDivisor groups the device allows, and more on a device
// with large workgroups. It is 0 only if the device allows no groups.
func derivedGroups(s *Sizing, l *Limits) uint32 {
	return min(defaultGroups(s, l.MaxWorkgroupsPerDimension, l.MaxInvocationsPerWorkgroup), l.MaxWorkgroupsPerDimension)
}

func defaultGroups(s *Sizing, perDimension, invocations uint32) uint32 {
	groups := min(max(perDimension/max(s.OccupancyDivisor, 1), 1), s.MaxDispatchWorkgroups)
	if invocations >= s.PowerfulInvocations {
		return max(groups, s.PowerfulMinGroups)
	}
	return max(groups, 1)
}

// workerGroups is the ceiling within the limits, at least 1.
func workerGroups(s *Sizing, l *Limits, ceiling uint32) uint32 {
	if ceiling == 0 {
		return max(derivedGroups(s, l), 1)
	}
	return max(min(ceiling, l.MaxWorkgroupsPerDimension), 1)
}

// shape fills in the geometry of a launch. Without SeparateWidth it is that of
// referenceShape. With it, width and number of groups are two numbers, and each part of
// the geometry is the tuner's if it has an opinion and the limits allow it; otherwise:
//
// Width: Sizing.Width.
//
// Depth: a launch takes at most BatchDepth slots, rounded down to whole
// workgroups and at least one. What the queue holds beyond that is the next
// launch's.
//
// Groups: as many as the launch's slots fill, one slot for each invocation,
// up to the ceiling. Cutting by whole claim chunks instead would put a short
// queue on a few workgroups and leave the rest of the device idle; a group
// that finds no ticket costs only its start.
//
// Chunk: where slots are short, one width, so that every group gets a claim;
// where there are more widths of slots than groups, as many widths as each
// group gets on average, up to MaxClaimWidths, so that tickets stay few.
func shape(cfg *Config, req *Request, ceiling uint32, rec *Recommendation) error {
	s, l := &cfg.Sizing, &req.Limits
	if min(l.MaxWorkgroupSizeX, l.MaxWorkgroupsPerDimension, l.MaxInvocationsPerWorkgroup) == 0 {
		return l.check()
	}
	ceiling = workerGroups(s, l, ceiling)
	rec.WorkerGroups, rec.Tuned = ceiling, 0
	if !cfg.SeparateWidth {
		referenceShape(s, req, rec)
		return nil
	}
	width, depth := s.DefaultWidth(l), s.BatchDepth
	tuned := req.Tuned.given()
	if tuned {
		width, depth = tunedSize(cfg, l, &req.Tuned)
	}
	queued := (max(req.QueueLen, 1)-1)/width + 1 // widths that cover the queue
	deepest := max(depth/width, 1)               // widths of the deepest launch
	units := min(queued, deepest)
	groups := min(ceiling, units, max(s.MaxDispatchWorkgroups, 1))
	claims := min(units/groups, max(s.MaxClaimWidths, 1))

	rec.WorkgroupSizeX = width
	// A queue within one width of 2^32 pads to 2^32-1 slots, which is no
	// multiple of the width but never below the queue.
	rec.SlotCount = uint32(min(uint64(queued)*uint64(width), math.MaxUint32))
	rec.setGrid(groups)
	rec.ClaimChunk = claims * width // at most BatchDepth, as claims <= units
	rec.BatchDepth = deepest * width
	if tuned && cfg.TuneGeometry {
		tunedClaims(s, &req.Tuned, rec)
	}
	return nil
}

// tunedSize is the width and depth of a launch that the tuner has an opinion of.
func tunedSize(cfg *Config, l *Limits, tuned *Geometry) (width, depth uint32) {
	width, depth = cfg.Sizing.Width(l, tuned.Width), cfg.Sizing.BatchDepth
	if cfg.TuneGeometry && tuned.Depth != 0 {
		depth = min(tuned.Depth, cfg.Sizing.MaxTunedDepth)
	}
	return width, depth
}

// tunedClaims takes the tuner's groups and chunk.
func tunedClaims(s *Sizing, tuned *Geometry, rec *Recommendation) {
	// Shedding wins over tuning: never more groups than the ceiling it left.
	// They are not cut to what a short queue fills, so that a tuned launch runs
	// as it was measured.
	if tuned.Groups != 0 {
		rec.setGrid(min(tuned.Groups, rec.WorkerGroups, max(s.MaxDispatchWorkgroups, 1)))
	}
	if tuned.Chunk != 0 {
		rec.ClaimChunk = min(tuned.Chunk, rec.BatchDepth)
	}
	rec.noteTuned(tuned)
}

// noteTuned says which parts of the geometry are as the tuner wants them. What
// it leaves open is 0 and equal to nothing in a plan.
func (rec *Recommendation) noteTuned(tuned *Geometry) {
	if tuned.Width == rec.WorkgroupSizeX {
		rec.Tuned |= TunedWidth
	}
	if tuned.Groups == rec.DispatchGrid[0] {
		rec.Tuned |= TunedGroups
	}
	if tuned.Chunk == rec.ClaimChunk {
		rec.Tuned |= TunedChunk
	}
	if tuned.Depth == rec.BatchDepth {
		rec.Tuned |= TunedDepth
	}
}

// Accepts reports whether a launch runs at a geometry exactly as the tuner asks
// for it, when shedding leaves ceiling worker groups, 0 meaning those derived
// from the limits. It is false for limits that are zero.
func (c *Config) Accepts(l *Limits, ceiling uint32, g Geometry) bool {
	var rec Recommendation
	if !c.SeparateWidth || !c.TuneGeometry || shape(c, &Request{Limits: *l, Tuned: g}, ceiling, &rec) != nil {
		return false
	}
	return rec.Tuned == TunedWidth|TunedGroups|TunedChunk|TunedDepth
}

// referenceShape uses the number of groups also as the width of a group, and
// pads in saturating 32-bit arithmetic.
func referenceShape(s *Sizing, req *Request, rec *Recommendation) {
	width := workerWidth(rec.WorkerGroups, req.Limits.MaxWorkgroupSizeX)
	slots := paddedSlots(max(req.QueueLen, 1), width)
	rec.WorkgroupSizeX = width
	rec.SlotCount = slots
	rec.setGrid(gridGroups(s, rec.WorkerGroups, slots, width))
	rec.ClaimChunk = width
	rec.BatchDepth = max(s.BatchDepth/width, 1) * width
}

func workerWidth(workers, maxX uint32) uint32 {
	return min(max(workers, 1), max(maxX, 1))
}

func paddedSlots(slots, width uint32) uint32 {
	w := max(width, 1)
	padded := uint64(coverGroups(slots, w)) * uint64(w)
	return uint32(min(padded, math.MaxUint32))
}

func gridGroups(s *Sizing, workers, queue, maxX uint32) uint32 {
	return min(coverGroups(queue, max(maxX, 1)), max(workers, 1), s.MaxDispatchWorkgroups)
}

// coverGroups is ceil(slots/width) with a saturating 32-bit sum, at least 1.
func coverGroups(slots, width uint32) uint32 {
	sum := min(uint64(slots)+uint64(width-1), math.MaxUint32)
	return max(uint32(sum)/width, 1)
}

// setGrid stores element by element: an array literal would be built apart
// and copied, which stalls the read that follows.
func (rec *Recommendation) setGrid(groups uint32) {
	rec.DispatchGrid[0], rec.DispatchGrid[1], rec.DispatchGrid[2] = groups, 1, 1
}
