package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestShippedConfigsAreValid(t *testing.T) {
	for name, cfg := range map[string]Config{"reference": Reference(), "standard": Standard()} {
		if err := cfg.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStandardDiffersFromReferenceInSwitchesOnly(t *testing.T) {
	std := Standard()
	for name, on := range switches(&std) {
		if !*on {
			t.Errorf("%s is off", name)
		}
		*on = false
	}
	if std != Reference() {
		t.Errorf("got %+v, want %+v", std, Reference())
	}
}

// switches are the departures of a configuration.
func switches(c *Config) map[string]*bool {
	return map[string]*bool{
		"ByCost":          &c.ByCost,
		"SeparateWidth":   &c.SeparateWidth,
		"ShedAutomatic":   &c.ShedAutomatic,
		"TopologyByEdges": &c.TopologyByEdges,
		"GraphTopology":   &c.GraphTopology,
		"FullHysteresis":  &c.FullHysteresis,
		"Steady":          &c.Steady,
		"FitBudget":       &c.FitBudget,
		"StrictBps":       &c.StrictBps,
		"Pipelined":       &c.Pipelined,
		"SizeByUnits":     &c.SizeByUnits,
		"BoundLaunches":   &c.BoundLaunches,
		"TuneGeometry":    &c.TuneGeometry,
	}
}

func TestValidateReportsEveryProblemWithItsValue(t *testing.T) {
	cfg := Standard()
	cfg.HitCapacityMultiplier = 0
	cfg.SparseFrontierBps = 200
	cfg.DenseFrontierBps = 9_900
	cfg.MemoryPressureBps = 12_345
	cfg.Sizing.DefaultSubgroup = 51
	cfg.Sizing.BatchDepth = 0
	err := cfg.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"hit capacity multiplier is 0", "200 bps", "9900 bps", "12345 bps", "subgroup 51", "batch depth is 0"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 6 {
		t.Errorf("%d problems, want 6:\n%v", n, err)
	}
}

func TestValidateRejects(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no hits":                       func(c *Config) { c.MinHitCapacity = 0 },
		"no waves":                      func(c *Config) { c.SaturatedWaves = 0 },
		"always hot opcodes":            func(c *Config) { c.HotOpcodeThreshold = 0 },
		"always hot windows":            func(c *Config) { c.HotWindowThreshold = 0 },
		"always aged":                   func(c *Config) { c.PriorityAgeThreshold = 0 },
		"sparse that cannot be entered": func(c *Config) { c.SparseFrontierBps = c.FrontierHysteresisBps },
		"bands that overlap":            func(c *Config) { c.SparseFrontierBps = c.DenseFrontierBps - 500 },
		"dense that cannot be entered":  func(c *Config) { c.DenseFrontierBps = 9_750 },
		"memory that cannot be left":    func(c *Config) { c.MemoryHysteresisBps = c.MemoryPressureBps },
		"memory that cannot be entered": func(c *Config) { c.MemoryPressureBps = 10_001 },
		"no dense look":                 func(c *Config) { c.DenseLookBps = 0 },
		"dense look above the whole":    func(c *Config) { c.DenseLookBps = 10_001 },
		"no node divisor":               func(c *Config) { c.SparseNodeDivisor = 0 },
		"edge band above the whole":     func(c *Config) { c.EdgeHysteresisBps = 10_001 },
		"hot opcodes for ever":          func(c *Config) { c.HotOpcodeHysteresis = 8 },
		"hot windows for ever":          func(c *Config) { c.HotWindowHysteresis = 4 },
		"compiled for ever":             func(c *Config) { c.JITQueueLenHysteresis = 4_096 },
		"no dwell":                      func(c *Config) { c.Dwell = 0 },
		"workers for ever":              func(c *Config) { c.WorkerHysteresisBps = 10_000 },
		"no occupancy":                  func(c *Config) { c.Sizing.OccupancyDivisor = 0 },
		"no workgroups":                 func(c *Config) { c.Sizing.MaxDispatchWorkgroups = 0 },
		"no groups on powerful devices": func(c *Config) { c.Sizing.PowerfulMinGroups = 0 },
		"no claims":                     func(c *Config) { c.Sizing.MaxClaimWidths = 0 },
		"subgroup of 1":                 func(c *Config) { c.Sizing.DefaultSubgroup = 1 },
		"width below a subgroup":        func(c *Config) { c.Sizing.MaxDefaultWidth = 31 },
	} {
		cfg := Standard()
		change(&cfg)
		if cfg.Validate() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// parseTopology is the inverse of Topology.String.
func parseTopology(s string) (Topology, error) {
	i := slices.Index(topologyNames.list, s)
	if i < 0 {
		return TopologyNone, fmt.Errorf("unknown topology %q", s)
	}
	return Topology(i), nil
}

func TestEveryValueHasAnotherName(t *testing.T) {
	for _, names := range [][]string{topologyNames.list, pressureNames.list, modeNames.list, ruleNames.list} {
		seen := map[string]bool{"": true}
		for i, name := range names {
			if seen[name] {
				t.Errorf("value %d: %q is empty or taken", i, name)
			}
			seen[name] = true
		}
	}
	if got := Topology(99).String(); got != "topology(99)" {
		t.Errorf("unknown topology is %q", got)
	}
}

func TestLowerNeverRaisesALimit(t *testing.T) {
	worker := Limits{MaxWorkgroupSizeX: 256, MaxWorkgroupsPerDimension: 1_000, MaxInvocationsPerWorkgroup: 0, SubgroupSize: 32}
	got := worker.Lower(Limits{MaxWorkgroupSizeX: 128, MaxWorkgroupsPerDimension: 2_000, MaxInvocationsPerWorkgroup: 512, SubgroupSize: 8})
	if want := (Limits{128, 1_000, 0, 32, 0, 0}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := worker.Lower(Limits{}); got != worker {
		t.Errorf("nothing given: got %+v, want %+v", got, worker)
	}
}

// A fused walk compiles even when nothing in the request is hot.
func TestPlanCompilesForAFusedTopology(t *testing.T) {
	cfg := Standard()
	req := Request{QueueLen: 10, Limits: Limits{256, 65_535, 1_024, 0, 0, 0}}
	c := Classification{Signals: Observe(&cfg, &req), Raw: TopologyFused, Topology: TopologyFused, Reason: Reason{Rule: RuleFused, Threshold: 3_750, Value: 4_000, Distance: 251}}
	var rec Recommendation
	if err := plan(&cfg, &req, &c, &PlanState{}, &rec); err != nil {
		t.Fatal(err)
	}
	want := Reason{Rule: RuleModeFused, Threshold: 3_750, Value: 4_000, Distance: 251}
	if got := rec.Reasons[rec.ReasonCount-1]; rec.Mode != ModeJIT || got != want {
		t.Errorf("mode %v for %+v, want %+v", rec.Mode, got, want)
	}
}
