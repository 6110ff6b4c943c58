package policy

import "hash/fnv"

// Audits, with Config.AuditLaunches: one decision in so many asks for a geometry drawn at random, a
// neighbour of its usual one or, as the control, the usual one itself. A policy that always does what it holds for best leaves a log in
// which nothing tells what another geometry would have cost. What was drawn with a known
// probability does (D. G. Horvitz, D. J. Thompson, Journal of the American Statistical
// Association 47, 1952). The control is what the neighbours are compared with: an audit is for one
// launch, and what that brings with it, such as a decision made while it runs, is not the geometry's
// doing. On two cores with a software renderer it makes a launch a fifth longer.

// A move leads from a geometry to a neighbour.
type move func(g Geometry, subgroup uint32) Geometry

// moves are what an audit draws from, each as likely as the others, the last of which is the control. A
// claim is worth some widths, so it goes with the width. MoveNames has the others in words.
var moves = [...]move{
	func(g Geometry, _ uint32) Geometry { g.Groups /= 2; return g },
	func(g Geometry, _ uint32) Geometry { g.Groups *= 2; return g },
	func(g Geometry, subgroup uint32) Geometry {
		if g.Width >= 2*subgroup {
			g.Width, g.Chunk = g.Width/2, max(g.Chunk/2, subgroup)
		}
		return g
	},
	func(g Geometry, _ uint32) Geometry { g.Width, g.Chunk = g.Width*2, g.Chunk*2; return g },
	func(g Geometry, subgroup uint32) Geometry { g.Chunk = max(g.Chunk/2, subgroup); return g },
	func(g Geometry, _ uint32) Geometry { g.Chunk *= 2; return g },
	func(g Geometry, _ uint32) Geometry { return g },
}

// MoveNames are what the draws of AuditDraws ask for, in their order, but for the control.
func MoveNames() []string {
	return []string{"half as many workgroups", "twice as many workgroups", "half as wide", "twice as wide", "claims of half as many slots", "claims of twice as many slots"}
}

// Draw is the random number of a decision: the same for whoever makes it again, and not to be
// told from chance by anything that the queue does. It is FNV-1a with the last steps of
// SplitMix64, of 53 bits, which every reader of JSON has exactly, and never 0.
func Draw(worker, queue string, decision uint64) uint64 {
	h := fnv.New64a()
	h.Write([]byte(worker + "." + queue))
	x := h.Sum64() + decision*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return max((x^x>>31)>>11, 1)
}

// AuditDraws are draws of an audit, one for each of the geometries that are equally likely, the
// control's last. There is no audit where one of them asks for what the device or the policy does not
// take. There are none where nothing is audited.
func (c *Config) AuditDraws() (draws []uint64) {
	if c.AuditLaunches == 0 {
		return nil
	}
	for i := range moves {
		draws = append(draws, uint64(c.AuditLaunches)*uint64(len(moves)+i))
	}
	return draws
}

// Usual is a draw of no audit.
const Usual = 1

// audited says whether the decision is an audit: never of what is urgent, unmeasured or runs on
// a lease, whose kernel has one geometry, nor where somebody would wait for a launch that takes
// several times as long.
func (c *Config) audited(req *Request, state *PlanState, slots uint32) bool {
	return c.AuditLaunches != 0 && req.Draw != 0 && req.Draw%uint64(c.AuditLaunches) == 0 &&
		c.SeparateWidth && c.TuneGeometry && req.QueueLen != 0 && req.GraphNodeCount == 0 &&
		req.TargetMs == 0 && !req.Unmeasured && state.LaunchMode != LaunchLease && c.Spares(req, slots)
}

// audit asks for the geometry that the draw names, if a launch runs there exactly as it is drawn, and
// says so.
func audit(cfg *Config, req *Request, length, turn, workers uint32, state *PlanState, rec *Recommendation) bool {
	if !cfg.audited(req, state, min(max(length, 1), rec.BatchDepth)) {
		return false
	}
	n := req.Draw / uint64(cfg.AuditLaunches) % uint64(len(moves))
	control := n == uint64(len(moves)-1)
	if !control && !moveTo(cfg, req, moves[n], length, turn, workers, rec) {
		return false
	}
	r := rec.addReason()
	r.Rule, r.Value, r.Threshold = RuleAudit, uint64(len(moves)), uint64(cfg.AuditLaunches)
	return true
}

// moveTo gives the plan a neighbour of its geometry, if a launch runs there exactly as it is asked for.
func moveTo(cfg *Config, req *Request, to move, length, turn, workers uint32, rec *Recommendation) bool {
	usual, drawn := *rec, *req
	drawn.Tuned = to(usual.Geometry(), cfg.Sizing.Subgroup(&req.Limits))
	drawn.Tuned.Depth = drawn.Tuned.Depth / drawn.Tuned.Width * drawn.Tuned.Width
	if drawn.Tuned == usual.Geometry() || drawn.Tuned.Depth == 0 ||
		shape(cfg, &drawn, length, turn, workers, rec) != nil || rec.Geometry() != drawn.Tuned {
		*rec = usual
		return false
	}
	rec.Tuned = 0
	return true
}

// Audited says whether the plan's geometry was drawn.
func (rec *Recommendation) Audited() bool {
	for i := range rec.Reasons[:min(int(rec.ReasonCount), len(rec.Reasons))] {
		if rec.Reasons[i].Rule == RuleAudit {
			return true
		}
	}
	return false
}
