package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Enumerations and sets of bits are written by name, so that a stored decision outlives a
// change of their numbers. A set is its names with commas between them.

var topologyNames = names{"topology", []string{
	TopologyNone:              "none",
	TopologyEmpty:             "empty",
	TopologySparse:            "sparse_frontier",
	TopologyHybrid:            "hybrid_frontier",
	TopologyDense:             "dense_frontier",
	TopologyFused:             "fused_dense",
	TopologyMemoryConstrained: "memory_constrained",
}}

var pressureNames = names{"pressure", []string{
	PressureEmpty:     "empty",
	PressureLight:     "light",
	PressureBalanced:  "balanced",
	PressureSaturated: "saturated",
}}

var modeNames = names{"mode", []string{
	ModeInterpreter: "interpreter",
	ModeJIT:         "jit",
}}

var launchModeNames = names{"launch mode", []string{
	LaunchWave:  "wave",
	LaunchLease: "lease",
}}

var ruleNames = names{"rule", []string{
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
	RuleAudit:           "audit",
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
}}

// The bits of sets, from the lowest on.
var (
	presenceNames = names{"presence", []string{"frontier_density", "memory_pressure", "frontier_edges"}}
	tunedNames    = names{"tuned", []string{"width", "groups", "chunk", "depth"}}
)

// String returns the snake_case name used on the wire, and "topology(n)" for a value outside
// the enumeration.
func (t Topology) String() string { return topologyNames.of(uint8(t)) }

// MarshalText is String.
func (t Topology) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText takes a name that String returns.
func (t *Topology) UnmarshalText(b []byte) error { return topologyNames.parse(b, (*uint8)(t)) }

// String returns the snake_case name used on the wire.
func (p Pressure) String() string { return pressureNames.of(uint8(p)) }

// MarshalText is String.
func (p Pressure) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText takes a name that String returns.
func (p *Pressure) UnmarshalText(b []byte) error { return pressureNames.parse(b, (*uint8)(p)) }

// String returns the snake_case name used on the wire.
func (m Mode) String() string { return modeNames.of(uint8(m)) }

// MarshalText is String.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText takes a name that String returns.
func (m *Mode) UnmarshalText(b []byte) error { return modeNames.parse(b, (*uint8)(m)) }

// String returns the snake_case name used on the wire.
func (m LaunchMode) String() string { return launchModeNames.of(uint8(m)) }

// MarshalText is String.
func (m LaunchMode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText takes a name that String returns.
func (m *LaunchMode) UnmarshalText(b []byte) error { return launchModeNames.parse(b, (*uint8)(m)) }

// String returns the snake_case name used on the wire.
func (r Rule) String() string { return ruleNames.of(uint8(r)) }

// MarshalText is String.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText takes a name that String returns.
func (r *Rule) UnmarshalText(b []byte) error { return ruleNames.parse(b, (*uint8)(r)) }

// String returns the names of the fields that were measured, with commas between them.
func (p Presence) String() string { return presenceNames.ofSet(uint8(p)) }

// MarshalText is String.
func (p Presence) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText takes what String returns.
func (p *Presence) UnmarshalText(b []byte) error { return presenceNames.parseSet(b, (*uint8)(p)) }

// String returns the names of the parts that the tuner chose, with commas between them.
func (a TunedAxes) String() string { return tunedNames.ofSet(uint8(a)) }

// MarshalText is String.
func (a TunedAxes) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText takes what String returns.
func (a *TunedAxes) UnmarshalText(b []byte) error { return tunedNames.parseSet(b, (*uint8)(a)) }

// names are those of the values of an enumeration, or of the bits of a set.
type names struct {
	kind string
	list []string
}

func (n *names) of(v uint8) string {
	if int(v) < len(n.list) {
		return n.list[v]
	}
	return fmt.Sprintf("%s(%d)", n.kind, v)
}

func (n *names) parse(text []byte, into *uint8) error {
	i := slices.Index(n.list, string(text))
	if i < 0 {
		return fmt.Errorf("%s %.64q is none of the names of this version", n.kind, text)
	}
	*into = uint8(i)
	return nil
}

func (n *names) ofSet(v uint8) string {
	if v>>len(n.list) != 0 {
		return fmt.Sprintf("%s(%d)", n.kind, v)
	}
	var set []string
	for i, name := range n.list {
		if v&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	return strings.Join(set, ",")
}

func (n *names) parseSet(text []byte, into *uint8) error {
	*into = 0
	if len(text) == 0 {
		return nil
	}
	for name := range strings.SplitSeq(string(text), ",") {
		var bit uint8
		if err := n.parse([]byte(name), &bit); err != nil {
			return err
		}
		*into |= 1 << bit
	}
	return nil
}
