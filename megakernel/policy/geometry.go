package policy

import "math"

// geometry shapes the launch for a queue of some length, whose launches are of at most turn
// slots, and says what came of the tuner's opinion.
func geometry(cfg *Config, req *Request, length, turn, workers uint32, state *PlanState, rec *Recommendation) error {
	if err := shape(cfg, req, length, turn, workers, rec); err != nil {
		return err
	}
	if !audit(cfg, req, length, turn, workers, state, rec) && req.Tuned.given() && cfg.TuneGeometry {
		tunedReason(req.Tuned.Groups, dispatchGroups(cfg, &req.Limits, rec.WorkerGroups), rec.addReason())
	}
	if cfg.takesTurns(req) {
		turnReason(cfg, req, min(max(length, 1), cfg.BatchDepth(&req.Limits)), rec.addReason())
	}
	return nil
}

// tunedReason says whether a dispatch has room for the groups that the tuner wants.
func tunedReason(wanted, most uint32, r *Reason) {
	r.Rule, r.Value, r.Threshold = RuleTuned, uint64(wanted), uint64(most)
	if r.Value > r.Threshold {
		r.Distance = r.Value - r.Threshold
	} else {
		r.Distance = r.Threshold - r.Value + 1
	}
}

// derivedGroups is the ceiling of worker groups without a request for one: on a described
// device what keeps its units busy, and at least what the limits suggest, so that a
// description that is too small does not keep the tuner from more. Otherwise one for
// each OccupancyDivisor groups the device allows, and more on a device with large
// workgroups. It is 0 only if the device allows no groups.
func derivedGroups(cfg *Config, l *Limits) uint32 {
	s := &cfg.Sizing
	groups := defaultGroups(s, l.MaxWorkgroupsPerDimension, l.MaxInvocationsPerWorkgroup)
	if cfg.described(l) {
		groups = max(groups, busyGroups(l))
	}
	return min(groups, l.MaxWorkgroupsPerDimension)
}

func defaultGroups(s *Sizing, perDimension, invocations uint32) uint32 {
	groups := min(max(perDimension/max(s.OccupancyDivisor, 1), 1), s.MaxDispatchWorkgroups)
	if invocations >= s.PowerfulInvocations {
		return max(groups, s.PowerfulMinGroups)
	}
	return max(groups, 1)
}

// workerGroups is the ceiling within the limits, at least 1.
func workerGroups(cfg *Config, l *Limits, ceiling uint32) uint32 {
	if ceiling == 0 {
		return max(derivedGroups(cfg, l), 1)
	}
	return max(min(ceiling, l.MaxWorkgroupsPerDimension), 1)
}

// dispatchGroups is the most workgroups of a dispatch under a ceiling.
func dispatchGroups(cfg *Config, l *Limits, ceiling uint32) uint32 {
	if cfg.described(l) {
		return ceiling
	}
	return min(ceiling, max(cfg.Sizing.MaxDispatchWorkgroups, 1))
}

// shape fills in the geometry of a launch of a queue that is planned with some length. Without SeparateWidth it is that of
// referenceShape. With it, width and number of groups are two numbers, and each part of
// the geometry is the tuner's if it has an opinion and the limits allow it; otherwise it
// is that of sizeByUnits or, if the device is not described, of sizeByLimits. A launch
// takes at most the depth in slots, and at most turn, in whole workgroups; what the queue
// holds beyond that is the next launch's. A width that exceeds turn is not taken.
func shape(cfg *Config, req *Request, length, turn, ceiling uint32, rec *Recommendation) error {
	s, l := &cfg.Sizing, &req.Limits
	if err := l.check(); err != nil {
		return err
	}
	ceiling = workerGroups(cfg, l, ceiling)
	rec.WorkerGroups, rec.Tuned = ceiling, 0
	if !cfg.SeparateWidth {
		referenceShape(cfg, req, rec)
		return nil
	}
	width, depth := uint32(0), cfg.BatchDepth(l)
	tuned := req.Tuned.given() // without an opinion the same comes out, some per cent of a decision later
	if tuned {
		width, depth = tunedSize(cfg, l, &req.Tuned, depth)
	}
	depth = min(depth, turn)
	if width > turn {
		width = 0
	}
	if width == 0 && s.DefaultWidth(l) > turn && !cfg.described(l) {
		width = wholeSubgroups(min(s.DefaultWidth(l), max(turn, s.Subgroup(l))), s.Subgroup(l))
	}
	queue, most := max(req.QueueLen, 1), dispatchGroups(cfg, l, ceiling)
	length = max(length, 1)
	var g Geometry
	if cfg.described(l) {
		g = sizeByUnits(s, l, launched(req, length), most, width, depth)
	} else {
		g = sizeByLimits(s, l, length, most, width, depth)
	}
	rec.WorkgroupSizeX = g.Width
	// A queue within one width of 2^32 pads to 2^32-1 slots, which is no
	// multiple of the width but never below the queue.
	rec.SlotCount = uint32(min(uint64((queue-1)/g.Width+1)*uint64(g.Width), math.MaxUint32))
	rec.DispatchGrid = [3]uint32{g.Groups, 1, 1}
	rec.ClaimChunk, rec.BatchDepth = g.Chunk, g.Depth
	if tuned && cfg.TuneGeometry {
		tunedClaims(&req.Tuned, most, rec)
	}
	return nil
}

// sizeByLimits is the geometry of a device of which only the limits are known. A width of
// 0 is open.
//
// Groups: as many as the launch's slots fill, one slot for each invocation,
// up to the ceiling. Cutting by whole claim chunks instead would put a short
// queue on a few workgroups and leave the rest of the device idle; a group
// that finds no ticket costs only its start.
//
// Chunk: where slots are short, one width, so that every group gets a claim;
// where there are more widths of slots than groups, as many widths as each
// group gets on average, up to MaxClaimWidths, so that tickets stay few.
func sizeByLimits(s *Sizing, l *Limits, queue, ceiling, width, depth uint32) Geometry {
	if width == 0 {
		width = s.DefaultWidth(l)
	}
	deepest := max(depth/width, 1)          // widths of the deepest launch
	rows := min((queue-1)/width+1, deepest) // widths of this launch
	groups := min(ceiling, rows)
	claims := min(rows/groups, max(s.MaxClaimWidths, 1)) // at most deepest, as claims <= rows
	return Geometry{Width: width, Groups: groups, Chunk: claims * width, Depth: deepest * width}
}

// tunedSize is the width, 0 for none, and depth of a launch that the tuner has an opinion
// of, where the policy's own depth is the one given.
func tunedSize(cfg *Config, l *Limits, tuned *Geometry, own uint32) (width, depth uint32) {
	if cfg.Sizing.Width(l, tuned.Width) == tuned.Width {
		width = tuned.Width
	}
	if cfg.TuneGeometry && tuned.Depth != 0 {
		return width, min(tuned.Depth, cfg.Sizing.MaxTunedDepth)
	}
	return width, own
}

// tunedClaims takes the tuner's groups, at most so many, and chunk, if it has any.
func tunedClaims(tuned *Geometry, most uint32, rec *Recommendation) {
	// Shedding wins over tuning: never more groups than the ceiling it left.
	// They are not cut to what a short queue fills, so that a tuned launch runs
	// as it was measured.
	if tuned.Groups != 0 {
		rec.DispatchGrid = [3]uint32{min(tuned.Groups, most), 1, 1}
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
	err := shape(c, &Request{Limits: *l, Tuned: g}, 0, math.MaxUint32, ceiling, &rec)
	return c.SeparateWidth && err == nil && rec.Tuned == TunedWidth|TunedGroups|TunedChunk|TunedDepth
}

// referenceShape uses the number of groups also as the width of a group, unless the
// tuner may choose it, and pads in saturating 32-bit arithmetic.
func referenceShape(cfg *Config, req *Request, rec *Recommendation) {
	s := &cfg.Sizing
	width := workerWidth(rec.WorkerGroups, req.Limits.MaxWorkgroupSizeX)
	if w := req.Tuned.Width; cfg.TuneGeometry && w != 0 && w <= req.Limits.MaxWidth() {
		width = w
	}
	slots := paddedSlots(max(req.QueueLen, 1), width)
	rec.WorkgroupSizeX = width
	rec.SlotCount = slots
	rec.DispatchGrid = [3]uint32{gridGroups(s, rec.WorkerGroups, slots, width), 1, 1}
	rec.ClaimChunk = width
	rec.BatchDepth = max(s.BatchDepth/width, 1) * width
	if cfg.TuneGeometry {
		rec.noteTuned(&req.Tuned)
	}
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

// Lower returns the smaller of each limit and the one in by, where by gives it (0: not
// given). A queue may lower the limits of its worker's device, never raise them, so a
// limit that the worker does not know stays unknown. A queue cannot change the
// subgroup size, which is a property of the device.
func (l Limits) Lower(by Limits) Limits {
	l.MaxWorkgroupSizeX = lower(l.MaxWorkgroupSizeX, by.MaxWorkgroupSizeX)
	l.MaxWorkgroupsPerDimension = lower(l.MaxWorkgroupsPerDimension, by.MaxWorkgroupsPerDimension)
	l.MaxInvocationsPerWorkgroup = lower(l.MaxInvocationsPerWorkgroup, by.MaxInvocationsPerWorkgroup)
	return l
}

func lower(limit, by uint32) uint32 {
	if by == 0 {
		return limit
	}
	return min(limit, by)
}

// MaxWidth is the widest workgroup along x that the limits allow.
func (l *Limits) MaxWidth() uint32 {
	return min(l.MaxWorkgroupSizeX, l.MaxInvocationsPerWorkgroup)
}

// check reports the first limit that is zero.
func (l *Limits) check() error {
	switch {
	case l.MaxWorkgroupSizeX == 0:
		return ErrZeroWorkgroupSize
	case l.MaxWorkgroupsPerDimension == 0:
		return ErrZeroWorkgroups
	case l.MaxInvocationsPerWorkgroup == 0:
		return ErrZeroInvocations
	}
	return nil
}

// Subgroup is the device's subgroup size, or the default where the device
// gives none. A size of 1 or one that is no power of two is not a subgroup
// any hardware has and counts as not given.
func (s *Sizing) Subgroup(l *Limits) uint32 {
	if g := l.SubgroupSize; g >= 2 && g&(g-1) == 0 {
		return g
	}
	return s.DefaultSubgroup
}

// DefaultWidth is the workgroup width without a tuner: the largest multiple
// of the subgroup size that MaxDefaultWidth and the limits allow. Where they
// do not allow a single subgroup it is the largest power of two they allow.
// The limits must not be zero.
func (s *Sizing) DefaultWidth(l *Limits) uint32 {
	return wholeSubgroups(min(l.MaxWidth(), s.MaxDefaultWidth), s.Subgroup(l))
}

// Width is the width that a launch gets: the tuner's, if the limits allow it and it is
// a power of two or a multiple of the subgroup size, else DefaultWidth. The limits must
// not be zero.
func (s *Sizing) Width(l *Limits, tuned uint32) uint32 {
	whole := tuned&(tuned-1) == 0 || tuned&(s.Subgroup(l)-1) == 0
	if tuned != 0 && tuned <= l.MaxWidth() && whole {
		return tuned
	}
	return s.DefaultWidth(l)
}
