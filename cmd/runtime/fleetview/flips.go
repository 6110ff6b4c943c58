package fleetview

import (
	"fmt"

	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
)

// Reason is one rule that had a say in a decision.
type Reason struct {
	Rule  string `json:"rule"`
	Says  string `json:"says"`
	Flips string `json:"flips"` // what would change it
}

// Reasons are the rules that had a say, in the order in which they were asked, and what would have them say something else.
func Reasons(reasons []telemetry.Reason) []Reason {
	out := make([]Reason, 0, len(reasons))
	for i := range reasons {
		r := &reasons[i]
		out = append(out, Reason{Rule: text.Plain(r.Rule), Says: Sentence(r), Flips: flips(r)})
	}
	return out
}

// units are those of the rules' values, as package policy names them; a rule that is not here has none.
var units = map[string]func(uint64) string{
	"queue_empty": slots, "memory_constrained": percent, "memory_pressure": percent, "shed_memory": percent, "shed_sparse": percent,
	"sparse_frontier": percent, "hybrid_frontier": percent, "dense_frontier": percent, "fused_dense": percent,
	"sparse_frontier_edges": edges, "hybrid_frontier_edges": edges, "dense_frontier_edges": edges, "fused_dense_edges": edges,
	"turn": ns, "latency_target": ns, "lease_cost": ns, "lease_learn": ns, "mode_cost": ns, "mode_learn": ns,
	"first_launch": slots, "lease_slots": slots, "mode_queue_len": slots, "mode_hot_opcodes": opcodes, "mode_hot_windows": windows,
	"tuned_geometry": groups, "workers": groups, "memory_budget": hits,
}

func slots(n uint64) string   { return text.Plural(n, "slot") }
func groups(n uint64) string  { return text.Plural(n, "workgroup") }
func hits(n uint64) string    { return text.Plural(n, "hit") }
func windows(n uint64) string { return text.Plural(n, "hot window") }
func opcodes(n uint64) string { return text.Plural(n, "hot opcode") }

// flips says which change of a rule's value, all else equal, would have it decide otherwise.
func flips(r *telemetry.Reason) string {
	unit := units[r.Rule]
	if unit == nil {
		unit = func(n uint64) string { return text.Grouped(n) }
	}
	switch {
	case r.Rule == "no_graph":
		return "a graph"
	case r.Distance == 0 && r.Held:
		return fmt.Sprintf("past its edge of %s already; held until it stays there", unit(r.Threshold))
	case r.Distance == 0:
		return ""
	case r.Value < r.Threshold:
		return fmt.Sprintf("%s more, at %s", unit(r.Distance), unit(r.Value+r.Distance))
	}
	return fmt.Sprintf("%s less, at %s", unit(r.Distance), unit(r.Value-min(r.Distance, r.Value)))
}
