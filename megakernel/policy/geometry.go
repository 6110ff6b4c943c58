package policy

// geometry is the shape of a launch.
type geometry struct {
	width  uint32 // invocations of a workgroup
	slots  uint32 // queue padded to whole workgroups
	groups uint32 // workgroups dispatched
	worker uint32 // ceiling the groups were cut from
	chunk  uint32 // slots of one claim
	depth  uint32 // most slots of one launch
}

// geometry chooses the shape for a ceiling of worker groups, 0 meaning the one
// derived from the limits. The error names the first limit that is zero.
func (cfg *Config) geometry(req *Request, ceiling uint32) (geometry, error) {
	if err := req.Limits.check(); err != nil {
		return geometry{}, err
	}
	worker := workerGroups(&cfg.Sizing, &req.Limits, ceiling)
	if cfg.SeparateWidth {
		return standardGeometry(&cfg.Sizing, req, worker), nil
	}
	return referenceGeometry(&cfg.Sizing, req, worker), nil
}

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

// standardGeometry keeps width and number of groups apart.
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
func standardGeometry(s *Sizing, req *Request, worker uint32) geometry {
	width := s.Width(&req.Limits, req.TunedWidth)
	// In 64 bits, then cut to 32: a queue within one width of 2^32 pads to
	// 2^32-1 slots, which is no multiple of the width but never below the queue.
	w := uint64(width)
	padded := (max(uint64(req.QueueLen), 1) + w - 1) / w * w
	depth := batchDepth(s, width)
	units := uint32(min(padded, uint64(depth))) / width
	groups := min(worker, units, max(s.MaxDispatchWorkgroups, 1))
	claims := min(max(units/groups, 1), max(s.MaxClaimWidths, 1))
	return geometry{
		width:  width,
		slots:  uint32(min(padded, 0xFFFF_FFFF)),
		groups: groups,
		worker: worker,
		chunk:  claims * width, // at most depth, as claims <= units
		depth:  depth,
	}
}

// referenceGeometry uses the number of groups also as the width of a group,
// and pads in saturating 32-bit arithmetic.
func referenceGeometry(s *Sizing, req *Request, worker uint32) geometry {
	width := workerWidth(worker, req.Limits.MaxWorkgroupSizeX)
	slots := paddedSlots(max(req.QueueLen, 1), width)
	return geometry{
		width:  width,
		slots:  slots,
		groups: gridGroups(s, worker, slots, width),
		worker: worker,
		chunk:  width,
		depth:  batchDepth(s, width),
	}
}

func batchDepth(s *Sizing, width uint32) uint32 {
	return max(s.BatchDepth/width, 1) * width
}

func workerWidth(workers, maxX uint32) uint32 {
	return min(max(workers, 1), max(maxX, 1))
}

func paddedSlots(slots, width uint32) uint32 {
	w := max(width, 1)
	padded := uint64(coverGroups(slots, w)) * uint64(w)
	return uint32(min(padded, 0xFFFF_FFFF))
}

func gridGroups(s *Sizing, workers, queue, maxX uint32) uint32 {
	return min(coverGroups(queue, max(maxX, 1)), max(workers, 1), s.MaxDispatchWorkgroups)
}

// coverGroups is ceil(slots/width) with a saturating 32-bit sum, at least 1.
func coverGroups(slots, width uint32) uint32 {
	sum := min(uint64(slots)+uint64(width-1), 0xFFFF_FFFF)
	return max(uint32(sum)/width, 1)
}
