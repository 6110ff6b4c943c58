package explain

import (
	"fmt"
	"strings"
	"time"

	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/cmd/runtime/text"
	"ringmaster/megakernel/policy"
)

// Evidence is a value that a decision was made from.
type Evidence struct {
	What   string   `json:"what"`
	Value  string   `json:"value"`           // with its unit
	Age    *float64 `json:"age_s,omitempty"` // seconds since its source said it; left out where that is not known
	Least  bool     `json:"age_is_least"`    // it is older, as no decision from before is kept
	Source string   `json:"source"`
}

// evidence are the values of the last decision's request that are known, the ones that change most first.
func evidence(now time.Time, all []Decision) (out []Evidence) {
	d := &all[len(all)-1]
	request := &d.Entry.Request
	from := originsOf(all)
	add := func(known bool, what, value string, o origin) {
		if !known {
			return
		}
		e := Evidence{What: what, Value: value, Source: o.said}
		if !o.at.IsZero() {
			age := max(now.Sub(o.at).Seconds(), 0)
			e.Age, e.Least = &age, o.least
		}
		out = append(out, e)
	}
	slots := func(n uint32) string { return text.Plural(uint64(n), "slot") }
	add(true, "waiting", slots(request.QueueLen), from.queue)
	add(request.HotOpcodeCount > 0, "hot opcodes", text.Grouped(request.HotOpcodeCount), from.queue)
	add(request.HotWindowCount > 0, "hot windows", text.Grouped(request.HotWindowCount), from.queue)
	add(request.GraphNodeCount > 0, "graph", fmt.Sprintf("%s vertices, %s edges", text.Grouped(request.GraphNodeCount), text.Grouped(request.GraphEdgeCount)), from.graph)
	add(d.Recommendation.FrontierDensityBps > 0, "frontier", share(uint64(d.Recommendation.FrontierDensityBps)), from.graph)
	add(d.Recommendation.MemoryPressureBps > 0, "memory pressure", share(uint64(d.Recommendation.MemoryPressureBps)), from.graph)
	add(request.TargetMs > 0, "latency target", fmt.Sprintf("%d ms", request.TargetMs), origin{said: "its publisher, or a queue beside it"})
	add(request.OtherQueues > 0, "queues beside it", text.Grouped(request.OtherQueues), origin{said: "the worker", at: d.At})
	for _, c := range []struct {
		what string
		cost policy.Cost
	}{{"a launch takes", request.Cost}, {"by the interpreter", request.Interpreted}, {"compiled", request.Compiled}, {"as a round of the lease", request.Leased}} {
		add(c.cost.SlotPs != 0, c.what, cost(c.cost), from.measured)
	}
	add(request.Limits.MaxWorkgroupSizeX > 0, "device", limits(&request.Limits), origin{said: "the worker's announcement"})
	add(request.MemoryBudgetBytes > 0, "memory budget", fmt.Sprintf("%s MiB, %s of them resident", text.Grouped(request.MemoryBudgetBytes>>20), text.Grouped(request.ResidentDeviceBytes>>20)), origin{said: "the worker, or who reports the queue"})
	return out
}

func cost(c policy.Cost) string {
	slot := fmt.Sprintf("%.3g ns a slot", float64(c.SlotPs)/1000)
	if c.SlotPs >= 1_000_000 { // of which %.3g makes powers of ten
		slot = fleetview.Short(time.Duration(min(c.SlotPs/1000, 1<<62))) + " a slot"
	}
	if c.LaunchNs == 0 {
		return slot
	}
	return fleetview.Short(time.Duration(min(c.LaunchNs, 1<<62))) + " and " + slot
}

func limits(l *policy.Limits) string {
	said := fmt.Sprintf("workgroups of up to %d", min(l.MaxWorkgroupSizeX, l.MaxInvocationsPerWorkgroup))
	if l.Units > 0 {
		said += fmt.Sprintf(", %d units", l.Units)
	}
	return said
}

// share is basis points as a part in a hundred.
func share(bps uint64) string { return fmt.Sprintf("%.4g %%", float64(bps)/100) }

func slots(n uint64) string { return text.Plural(n, "slot") }

// tuner says what the tuner holds, and how much of it the plan has.
func tuner(d *Decision) string {
	held := 0
	for _, g := range memoryOf(d).Tuned.Geometries {
		if g != (policy.Geometry{}) {
			held++
		}
	}
	var axes []string
	for _, axis := range []struct {
		axis policy.TunedAxes
		name string
	}{{policy.TunedWidth, "width"}, {policy.TunedGroups, "workgroups"}, {policy.TunedChunk, "chunk"}, {policy.TunedDepth, "depth"}} {
		if d.Entry.Plan.Tuned&axis.axis != 0 {
			axes = append(axes, axis.name)
		}
	}
	said := "holds nothing for this queue: the geometry is that of the device's description"
	switch {
	case held == 0 && len(axes) > 0:
		return "tries a geometry; this plan has its " + strings.Join(axes, ", ")
	case held > 0:
		said = fmt.Sprintf("holds the best geometry for %s of launch, of %s", text.Plural(uint64(held), "size"), text.Plural(memoryOf(d).Cell.History.Launches, "launch"))
	}
	if len(axes) > 0 {
		return said + "; this plan has its " + strings.Join(axes, ", ")
	}
	return said
}

// reports says who tells how much waits.
func reports(now time.Time, d *Decision) string {
	r := d.Entry.Records
	if r.Incarnation == 0 {
		return "nobody: the worker decides from what it has itself"
	}
	said := fmt.Sprintf("%016x, record %d, sent %s ago", uint64(r.Incarnation), r.Last, fleetview.Ago(silence(now, d)))
	if silence(now, d) > silentAfter {
		said += "; silent since"
	}
	return said
}

// silentEmpty says that nobody knows how much waits: who told that nothing does has been silent for long. It is "" where
// that is not so.
func silentEmpty(now time.Time, d *Decision) string {
	if silent := silence(now, d); silent > silentAfter && d.Entry.Request.QueueLen == 0 {
		return fleetview.SilentEmpty(uint64(d.Entry.Records.Incarnation), silent)
	}
	return ""
}

func work(heard Heard) string {
	switch {
	case heard.Stored == nil:
		return "not known"
	case *heard.Stored == 0:
		return "no batch waits or runs"
	}
	return text.Plural(*heard.Stored, "batch") + " wait or run: they are in the stream until their done records are"
}
