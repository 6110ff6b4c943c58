package fleetview

import (
	"fmt"
	"time"

	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
)

// sentence says what a rule did, from its value and threshold. A sentence that is empty for
// the values that it was given does not apply.
type sentence struct {
	rule string
	say  func(value, threshold uint64) string
}

// sentences are those of the rules, the ones that bind a plan most first: memory, then what a launch may
// take, then whose geometry it is, then the walk of a graph, then the kernel.
var sentences = []sentence{
	{"memory_budget", func(v, t uint64) string {
		return fmt.Sprintf("the memory budget leaves room for %s of %s hits", text.Grouped(t), text.Grouped(v))
	}},
	{"memory_constrained", func(v, t uint64) string {
		return fmt.Sprintf("memory pressure %s, relaxes below %s", percent(v), percent(t))
	}},
	{"shed_memory", func(v, t uint64) string {
		return fmt.Sprintf("fewer workgroups at memory pressure %s, all again below %s", percent(v), percent(t))
	}},
	{"latency_target", func(v, t uint64) string {
		return over(v, t, fmt.Sprintf("a latency target allows %s a launch; all that waits takes %s", ns(t), ns(v)))
	}},
	{"turn", func(v, t uint64) string {
		return over(v, t, fmt.Sprintf("others wait: %s a launch; all that waits takes %s", ns(t), ns(v)))
	}},
	{"first_launch", func(v, t uint64) string {
		return over(v, t, fmt.Sprintf("its cost is not known yet: first %s slots", text.Grouped(t)))
	}},
	{"audit", func(v, t uint64) string {
		return fmt.Sprintf("an audit, one decision in %s: a geometry drawn from %s near the usual one", text.Grouped(t), text.Grouped(v))
	}},
	{"tuned_geometry", func(v, t uint64) string {
		if v == 0 {
			return "the tuner's geometry"
		}
		return over(v, t+1, fmt.Sprintf("the tuner asks for %s groups, %s are allowed", text.Grouped(v), text.Grouped(t))) +
			under(v, t+1, fmt.Sprintf("the tuner's geometry: %s groups of at most %s", text.Grouped(v), text.Grouped(t)))
	}},
	{"shed_sparse", func(v, t uint64) string {
		return fmt.Sprintf("fewer workgroups: %s of the graph in the frontier, all from %s on", percent(v), percent(t))
	}},
	{"sparse_frontier", walk("sparse", percent)},
	{"hybrid_frontier", walk("hybrid", percent)},
	{"dense_frontier", walk("dense", percent)},
	{"fused_dense", walk("fused", percent)},
	{"sparse_frontier_edges", walk("sparse", edges)},
	{"hybrid_frontier_edges", walk("hybrid", edges)},
	{"dense_frontier_edges", walk("dense", edges)},
	{"fused_dense_edges", walk("fused", edges)},
	{"fused_dense_hot_opcodes", walk("fused", counted("hot opcodes"))},
	{"fused_dense_hot_windows", walk("fused", counted("hot windows"))},
	{"fused_dense_cost", walk("fused", counted("ps a slot"))},
	{"mode_cost", func(v, t uint64) string {
		return fmt.Sprintf("measured: compiled takes %s, changes at %s", ns(v), ns(t))
	}},
	{"mode_learn", func(v, _ uint64) string {
		return fmt.Sprintf("measuring a kernel; the other takes %s", ns(v))
	}},
	{"lease_cost", func(v, t uint64) string {
		return fmt.Sprintf("measured: a round takes %s, changes at %s", ns(v), ns(t))
	}},
	{"lease_learn", func(v, _ uint64) string {
		return fmt.Sprintf("measuring a wave; a round takes %s", ns(v))
	}},
	{"mode_hot_opcodes", func(v, t uint64) string { return fmt.Sprintf("compiled: %d hot opcodes, until below %d", v, t) }},
	{"mode_hot_windows", func(v, t uint64) string { return fmt.Sprintf("compiled: %d hot windows, until below %d", v, t) }},
	{"mode_fused", func(_, _ uint64) string { return "compiled, as the walk is fused" }},
	{"mode_queue_len", func(v, t uint64) string {
		return over(v, t, fmt.Sprintf("compiled: %s slots, until below %s", text.Grouped(v), text.Grouped(t))) +
			under(v, t, fmt.Sprintf("interpreter: %s slots, compiled from %s on", text.Grouped(v), text.Grouped(t)))
	}},
	{"lease_slots", func(v, t uint64) string {
		return under(v, t+1, fmt.Sprintf("%s slots fit a round of %s", text.Grouped(v), text.Grouped(t)))
	}},
	{"queue_empty", func(_, _ uint64) string { return "nothing waits; the plan is kept for what comes" }},
	{"no_graph", func(_, _ uint64) string { return "no graph, nothing to walk" }},
}

// Why is the reason that binds a plan most, in words, or why there is none.
func Why(reasons []telemetry.Reason, failure string) string {
	if failure != "" {
		return "no plan: " + text.Plain(failure)
	}
	for i := range sentences {
		if r := find(reasons, sentences[i].rule); r != nil {
			if said := sentences[i].say(r.Value, r.Threshold); said != "" {
				return said + heldText(r)
			}
		}
	}
	if len(reasons) == 0 {
		return ""
	}
	return plainReason(&reasons[0])
}

func find(reasons []telemetry.Reason, rule string) *telemetry.Reason {
	for i := range reasons {
		if reasons[i].Rule == rule {
			return &reasons[i]
		}
	}
	return nil
}

// Sentence is a reason in words.
func Sentence(r *telemetry.Reason) string {
	for i := range sentences {
		if sentences[i].rule != r.Rule {
			continue
		}
		if said := sentences[i].say(r.Value, r.Threshold); said != "" {
			return said + heldText(r)
		}
	}
	return plainReason(r)
}

// plainReason is a reason in its own words, for rules of other versions and those that do not bind.
func plainReason(r *telemetry.Reason) string {
	return fmt.Sprintf("%s: %s against %s%s", text.Plain(r.Rule), text.Grouped(r.Value), text.Grouped(r.Threshold), heldText(r))
}

func heldText(r *telemetry.Reason) string {
	if r.Held {
		return " (held by hysteresis)"
	}
	return ""
}

// walk says why a graph is walked in a way, and when it is left.
func walk(name string, unit func(uint64) string) func(value, threshold uint64) string {
	return func(v, t uint64) string {
		return fmt.Sprintf("%s: %s in the frontier, leaves at %s", name, unit(v), unit(t))
	}
}

func edges(n uint64) string { return text.Plural(n, "edge") }

func counted(what string) func(uint64) string {
	return func(n uint64) string { return text.Grouped(n) + " " + what }
}

// over is a text that holds from a threshold on, under one that holds below it.
func over(value, threshold uint64, said string) string {
	if value >= threshold {
		return said
	}
	return ""
}

func under(value, threshold uint64, said string) string {
	if value < threshold {
		return said
	}
	return ""
}

// percent is a share in basis points, for people.
func percent(bps uint64) string { return fmt.Sprintf("%.4g %%", float64(bps)/100) }

// ns is a time of the device.
func ns(n uint64) string { return Short(time.Duration(min(n, 1<<62))) }

// Short is a duration in three digits: 540 ns, 1.25 ms, 38 ms, 2.1 s.
func Short(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < time.Millisecond:
		return threeDigits(float64(d)/1e3) + " µs"
	case d < time.Second:
		return threeDigits(float64(d)/1e6) + " ms"
	case d < 100*time.Second:
		return threeDigits(d.Seconds()) + " s"
	}
	return Ago(d)
}

// threeDigits is a number of at least 1 without more digits than it takes to compare two.
func threeDigits(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
