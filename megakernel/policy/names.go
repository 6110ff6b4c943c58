package policy

import "fmt"

var topologyNames = [...]string{
	TopologyNone:              "none",
	TopologyEmpty:             "empty",
	TopologySparse:            "sparse_frontier",
	TopologyHybrid:            "hybrid_frontier",
	TopologyDense:             "dense_frontier",
	TopologyFused:             "fused_dense",
	TopologyMemoryConstrained: "memory_constrained",
}

var pressureNames = [...]string{
	PressureEmpty:     "empty",
	PressureLight:     "light",
	PressureBalanced:  "balanced",
	PressureSaturated: "saturated",
}

var modeNames = [...]string{
	ModeInterpreter: "interpreter",
	ModeJIT:         "jit",
}

var launchModeNames = [...]string{
	LaunchWave:  "wave",
	LaunchLease: "lease",
}

var ruleNames = [...]string{
	RuleNone:            "none",
	RuleNoGraph:         "no_graph",
	RuleQueueEmpty:      "queue_empty",
	RuleConstrained:     "memory_constrained",
	RuleSparse:          "sparse_frontier",
	RuleHybrid:          "hybrid_frontier",
	RuleDense:           "dense_frontier",
	RuleFused:           "fused_dense",
	RuleSparseEdges:     "sparse_frontier_edges",
	RuleHybridEdges:     "hybrid_frontier_edges",
	RuleDenseEdges:      "dense_frontier_edges",
	RuleFusedEdges:      "fused_dense_edges",
	RuleFusedHotOpcodes: "fused_dense_hot_opcodes",
	RuleFusedHotWindows: "fused_dense_hot_windows",
	RuleFusedCost:       "fused_dense_cost",
	RuleMemoryPressure:  "memory_pressure",
	RuleShedMemory:      "shed_memory",
	RuleShedSparse:      "shed_sparse",
	RuleWorkers:         "workers",
	RuleTuned:           "tuned_geometry",
	RuleTurn:            "turn",
	RuleTarget:          "latency_target",
	RuleFirstLaunch:     "first_launch",
	RuleBudget:          "memory_budget",
	RuleNoMemoryNeeded:  "no_memory_needed",
	RuleLeaseSlots:      "lease_slots",
	RuleLeaseRefused:    "lease_refused",
	RuleLeaseCost:       "lease_cost",
	RuleLeaseLearn:      "lease_learn",
	RuleModeQueueLen:    "mode_queue_len",
	RuleModeHotOpcodes:  "mode_hot_opcodes",
	RuleModeHotWindows:  "mode_hot_windows",
	RuleModeFused:       "mode_fused",
	RuleModeCost:        "mode_cost",
	RuleModeLearn:       "mode_learn",
}

// String returns the snake_case name used on the wire, "none" for
// TopologyNone, and "topology(n)" for a value outside the enumeration.
func (t Topology) String() string { return name(topologyNames[:], uint8(t), "topology") }

// String returns the snake_case name used on the wire.
func (p Pressure) String() string { return name(pressureNames[:], uint8(p), "pressure") }

// String returns the snake_case name used on the wire.
func (m Mode) String() string { return name(modeNames[:], uint8(m), "mode") }

// String returns the name used on the wire.
func (m LaunchMode) String() string { return name(launchModeNames[:], uint8(m), "launch mode") }

// String returns the snake_case name used on the wire.
func (r Rule) String() string { return name(ruleNames[:], uint8(r), "rule") }

func name(names []string, v uint8, kind string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", kind, v)
}
