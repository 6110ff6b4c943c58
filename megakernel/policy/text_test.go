package policy

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"ringmaster/megakernel/texttest"
)

// TestDecideTextCases runs testdata/*.txt, one file a rule. A case is a line
//
//	<what to show> field=value ...
//
// then a line of four dashes and the expected output up to a blank line.
// Lines before a case that start with # explain it. Fields left out have the
// values of newCase; setField has their names. The word "then" decides on the
// fields so far, and what follows changes them for the next decision, which
// starts from the state that the decision before it left.
func TestDecideTextCases(t *testing.T) {
	texttest.Run(t, func(t *testing.T, input string) string {
		got, err := runTextCase(input)
		if err != nil {
			t.Fatalf("%v\n%s", err, input)
		}
		return got
	})
}

type textCase struct {
	cfg  Config
	req  Request
	prev State
}

func newCase() textCase {
	return textCase{
		cfg: Reference(),
		req: Request{
			QueueLen: 1_000,
			Limits: Limits{
				MaxWorkgroupSizeX:          256,
				MaxWorkgroupsPerDimension:  65_535,
				MaxInvocationsPerWorkgroup: 1_024,
			},
		},
	}
}

func runTextCase(input string) (string, error) {
	var words []string
	for line := range strings.Lines(input) {
		if !strings.HasPrefix(line, "#") {
			words = append(words, strings.Fields(line)...)
		}
	}
	if len(words) == 0 {
		return "", fmt.Errorf("empty case")
	}
	c := newCase()
	var out []string
	for _, w := range words[1:] {
		if w == "then" {
			got, err := c.decide(words[0])
			if err != nil {
				return "", err
			}
			out = append(out, got)
			continue
		}
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			return "", fmt.Errorf("field %q has no value", w)
		}
		if err := c.setField(name, value); err != nil {
			return "", fmt.Errorf("field %q: %w", w, err)
		}
	}
	got, err := c.decide(words[0])
	return strings.Join(append(out, got), "\n"), err
}

// decide shows one decision, or its error, and carries its state on.
func (c *textCase) decide(what string) (string, error) {
	rec, next, err := Decide(&c.cfg, &c.req, c.prev)
	c.prev = next
	if err != nil {
		return err.Error(), nil
	}
	return show(what, &c.cfg, &rec)
}

// setField sets one named value of a case.
func (c *textCase) setField(name, value string) (err error) {
	switch name {
	case "config":
		switch value {
		case "reference":
			c.cfg = Reference()
		case "standard":
			c.cfg = Standard()
		default:
			err = fmt.Errorf("unknown configuration")
		}
		return err
	case "prev":
		c.prev.Topology.Topology, err = parseTopology(value)
		return err
	case "measured":
		bits := map[string]Presence{"density": HasFrontierDensity, "pressure": HasMemoryPressure, "edges": HasFrontierEdges}
		for word := range strings.SplitSeq(value, ",") {
			c.req.Present |= bits[word]
		}
		return nil
	case "unmeasured":
		c.req.Unmeasured = value == "yes"
		return nil
	case "lease":
		c.req.Lease = Lease{Slots: 256, Always: value == "always", Refused: value == "refused"}
		return nil
	case "compiled":
		c.req.CompiledReady = value == "ready"
		return nil
	case "cfg.dwell":
		n, err := strconv.ParseUint(value, 10, 8)
		c.cfg.Dwell = uint8(n)
		return err
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(value, "_", ""), 10, 64)
	if err != nil {
		return err
	}
	if p := c.u64(name); p != nil {
		*p = n
	} else if p := c.u32(name); p != nil {
		*p = uint32(n)
	} else if p := c.u16(name); p != nil {
		*p = uint16(n)
	} else {
		return fmt.Errorf("unknown")
	}
	return nil
}

func (c *textCase) u64(name string) *uint64 {
	return map[string]*uint64{
		"requeues":   &c.req.RequeueCount,
		"resident":   &c.req.ResidentDeviceBytes,
		"budget":     &c.req.MemoryBudgetBytes,
		"out":        &c.req.FrontierOutDegreeSum,
		"unexplored": &c.req.UnexploredEdges,
		"launch_ns":  &c.req.Cost.LaunchNs,
		"slot_ps":    &c.req.Cost.SlotPs,

		"interpreted_ns": &c.req.Interpreted.LaunchNs,
		"interpreted_ps": &c.req.Interpreted.SlotPs,
		"wave_host_ns":   &c.req.WaveHostNs,
		"leased_ns":      &c.req.Leased.LaunchNs,
		"leased_ps":      &c.req.Leased.SlotPs,
		"compiled_ns":    &c.req.Compiled.LaunchNs,
		"compiled_ps":    &c.req.Compiled.SlotPs,
	}[name]
}

func (c *textCase) u32(name string) *uint32 {
	return map[string]*uint32{
		"wave_slots":    &c.req.WaveSlots,
		"queue":         &c.req.QueueLen,
		"workers":       &c.req.RequestedWorkerGroups,
		"max_x":         &c.req.Limits.MaxWorkgroupSizeX,
		"max_groups":    &c.req.Limits.MaxWorkgroupsPerDimension,
		"max_inv":       &c.req.Limits.MaxInvocationsPerWorkgroup,
		"subgroup":      &c.req.Limits.SubgroupSize,
		"units":         &c.req.Limits.Units,
		"lanes":         &c.req.Limits.UnitLanes,
		"hits":          &c.req.RequestedHitCapacity,
		"hits_per_item": &c.req.ExpectedHitsPerItem,
		"hot_opcodes":   &c.req.HotOpcodeCount,
		"hot_windows":   &c.req.HotWindowCount,
		"age":           &c.req.MaxPriorityAge,
		"nodes":         &c.req.GraphNodeCount,
		"edges":         &c.req.GraphEdgeCount,
		"frontier":      &c.req.FrontierNodes,
		"tuned":         &c.req.Tuned.Width,
		"tuned_groups":  &c.req.Tuned.Groups,
		"tuned_chunk":   &c.req.Tuned.Chunk,
		"tuned_depth":   &c.req.Tuned.Depth,
		"others":        &c.req.OtherQueues,
		"target_ms":     &c.req.TargetMs,
		"cfg.claims":    &c.cfg.Sizing.MaxClaimWidths,
		"cfg.depth":     &c.cfg.Sizing.BatchDepth,
		"cfg.in_flight": &c.cfg.Sizing.MaxInFlight,
		"cfg.scratch":   &c.cfg.ScratchBytesPerHit,
		"cfg.head_room": &c.cfg.HitCapacityMultiplier,
	}[name]
}

func (c *textCase) u16(name string) *uint16 {
	return map[string]*uint16{
		"density":           &c.req.FrontierDensityBps,
		"pressure":          &c.req.MemoryPressureBps,
		"cfg.sparse":        &c.cfg.SparseFrontierBps,
		"cfg.dense":         &c.cfg.DenseFrontierBps,
		"cfg.memory":        &c.cfg.MemoryPressureBps,
		"cfg.dense_look":    &c.cfg.DenseLookBps,
		"cfg.node_divisor":  &c.cfg.SparseNodeDivisor,
		"cfg.edge_band":     &c.cfg.EdgeHysteresisBps,
		"cfg.frontier_band": &c.cfg.FrontierHysteresisBps,
		"cfg.memory_band":   &c.cfg.MemoryHysteresisBps,
	}[name]
}

// show prints the part of a recommendation that a file is about.
func show(what string, cfg *Config, rec *Recommendation) (string, error) {
	switch what {
	case "topology":
		return fmt.Sprintf("%v (raw %v) at density %d, pressure %d\n%s", rec.Topology, rec.RawTopology,
			rec.FrontierDensityBps, rec.MemoryPressureBps, showReasons(rec, RuleNoGraph, RuleFusedCost)), nil
	case "shed":
		return fmt.Sprintf("%v: scheduled %d, ceiling %d\n%s", rec.Topology, rec.ScheduledGroups, rec.WorkerGroups,
			showReasons(rec, RuleShedMemory, RuleWorkers)), nil
	case "geometry":
		return fmt.Sprintf("width %d, slots %d, grid %v, ceiling %d, chunk %d, depth %d", rec.WorkgroupSizeX, rec.SlotCount,
			rec.DispatchGrid, rec.WorkerGroups, rec.ClaimChunk, rec.BatchDepth), nil
	case "flights":
		return fmt.Sprintf("%d in flight, depth %d, %v", rec.InFlight, rec.BatchDepth, rec.Topology), nil
	case "turn":
		return fmt.Sprintf("width %d, grid %v, chunk %d, depth %d, %d in flight\n%s", rec.WorkgroupSizeX, rec.DispatchGrid,
			rec.ClaimChunk, rec.BatchDepth, rec.InFlight, showReasons(rec, RuleTurn, RuleFirstLaunch)), nil
	case "tuned":
		return fmt.Sprintf("width %d, grid %v, ceiling %d, chunk %d, depth %d, tuned %04b\n%s", rec.WorkgroupSizeX,
			rec.DispatchGrid, rec.WorkerGroups, rec.ClaimChunk, rec.BatchDepth, rec.Tuned,
			showReasons(rec, RuleTuned, RuleTuned)), nil
	case "pressure":
		lanes := rec.DispatchGrid[0] * rec.WorkgroupSizeX
		return fmt.Sprintf("%v (a launch has %d invocations, saturated from %d)", rec.Pressure, lanes, lanes*cfg.SaturatedWaves), nil
	case "hits":
		return fmt.Sprintf("%d hits\n%s", rec.HitCapacity, showReasons(rec, RuleMemoryPressure, RuleMemoryPressure)), nil
	case "memory":
		out := fmt.Sprintf("%d hits, peak %d of %d bytes", rec.HitCapacity, rec.EstimatedPeakBytes, rec.MemoryBudgetBytes)
		if why := showReasons(rec, RuleBudget, RuleNoMemoryNeeded); why != noReason {
			out += "\n" + why
		}
		return out, nil
	case "mode":
		return fmt.Sprintf("%v, promote opcodes %v, windows %v\n%s", rec.Mode, rec.PromoteHotOpcodes, rec.PromoteHotWindows,
			showReasons(rec, RuleModeQueueLen, RuleModeLearn)), nil
	case "launch":
		return fmt.Sprintf("%v, %v\n%s", rec.LaunchMode, rec.Mode, showReasons(rec, RuleLeaseSlots, RuleLeaseLearn)), nil
	case "age":
		return fmt.Sprintf("age priority work: %v", rec.AgePriorityWork), nil
	}
	return "", fmt.Errorf("nothing shows %q", what)
}

const noReason = "  no reason"

func showReasons(rec *Recommendation, first, last Rule) string {
	var lines []string
	for _, r := range rec.Reasons[:rec.ReasonCount] {
		if r.Rule < first || r.Rule > last {
			continue
		}
		line := fmt.Sprintf("  %v: value %d, threshold %d, distance %d", r.Rule, r.Value, r.Threshold, r.Distance)
		if r.Held {
			line += ", held"
		}
		lines = append(lines, line)
	}
	if lines == nil {
		return noReason
	}
	return strings.Join(lines, "\n")
}
