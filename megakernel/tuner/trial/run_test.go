package trial

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/live"
)

// pretended is a run on a device that exists only as a formula: it is fastest at a
// width of 128 with 64 workgroups and claims of 256.
func pretended(t *testing.T, launches int) *Run {
	t.Helper()
	space, err := live.NewSpace(live.Workload{
		Slots:  16 << 10,
		Limits: policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 1 << 20, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32},
	})
	if err != nil {
		t.Fatal(err)
	}
	off := func(v, best uint32) float64 { return math.Abs(math.Log2(float64(v) / float64(best))) }
	return &Run{
		Space: space, Launches: launches, Warm: func() error { return nil }, Now: time.Now,
		Launch: func(g policy.Geometry) (live.Report, error) {
			ns := 1e5 * (1 + off(g.Width, 128)/4 + off(g.Groups, 64)/4 + off(g.Chunk, 256)/8 + off(g.Depth, 16<<10)/3)
			return live.Report{Geometry: g, Slots: 16 << 10, Ns: uint64(ns), WallNs: uint64(ns) + 1000}, nil
		},
	}
}

func TestEveryStrategyFindsTheBestGeometryOrOneNearIt(t *testing.T) {
	for name, c := range map[string]struct {
		strategy Strategy
		launches int
		whole    bool
		within   float64
	}{
		"sweep, all of it":    {Sweep, 0, true, 1},
		"sweep, part of it":   {Sweep, 200, false, 1.3},
		"search":              {Search, 120, false, 1},
		"sweep, cut to a bit": {Sweep, LeastLaunches, false, 5},
	} {
		r := pretended(t, c.launches)
		chosen, whole, err := r.Measure(t.Context(), c.strategy)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		report, _ := r.Launch(r.Space.At(chosen))
		if over := float64(report.Ns) / 1e5; over > c.within || whole != c.whole {
			t.Errorf("%s: %+v is %.2f of the best, whole %v, after %d launches", name, r.Space.At(chosen), over, whole, r.Count)
		}
		if c.launches > 0 && r.Count > c.launches {
			t.Errorf("%s: %d launches of %d", name, r.Count, c.launches)
		}
	}
}

func TestRowsSayHowOftenAndHowFastTheirGeometryRan(t *testing.T) {
	r := pretended(t, 0)
	chosen, _, err := r.Measure(t.Context(), Sweep)
	if err != nil {
		t.Fatal(err)
	}
	rows := r.Rows(chosen)
	launches, picked := 0, 0
	for i, row := range rows {
		launches += row.Launches
		if row.Chosen {
			picked++
		}
		if i > 0 && row.MedianNs < rows[i-1].MedianNs || row.VsBest < 1 || row.MeanNs <= 0 || row.Spread > 1e-9 {
			t.Fatalf("row %d: %+v", i, row)
		}
	}
	if len(rows) != r.Space.Len() || launches != r.Count || picked != 1 || rows[0].Launches <= 1 {
		t.Errorf("%d rows of %d launches, %d chosen; %d launches ran; the first has %d", len(rows), launches, picked, r.Count, rows[0].Launches)
	}
}

func TestABudgetOfTimeEndsARun(t *testing.T) {
	r := pretended(t, 0)
	r.Span = time.Second
	clock := time.Unix(0, 0)
	r.Now = func() time.Time { return clock }
	step := 10 * time.Millisecond
	launch := r.Launch
	r.Launch = func(g policy.Geometry) (live.Report, error) { clock = clock.Add(step); return launch(g) }
	if _, whole, err := r.Measure(t.Context(), Sweep); err != nil || whole || r.Count > 100 || r.Count < 95 {
		t.Errorf("%d launches, whole %v: %v", r.Count, whole, err)
	}
	step = 500 * time.Millisecond
	if _, _, err := r.Measure(t.Context(), Sweep); !errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), "--seconds") {
		t.Errorf("too short a time: %v", err)
	}
}

func TestAnInterruptedRunKeepsWhatIsKnownAndChoosesNothing(t *testing.T) {
	for name, strategy := range map[string]Strategy{"sweep": Sweep, "search": Search} {
		r := pretended(t, 500)
		ctx, cancel := context.WithCancel(t.Context())
		r.Progress = func(float64, *Run) {
			if r.Count == 10 {
				cancel()
			}
		}
		chosen, _, err := r.Measure(ctx, strategy)
		if !errors.Is(err, context.Canceled) || chosen != Unchosen || r.Count != 10 || len(r.Rows(chosen)) == 0 {
			t.Errorf("%s: chosen %d after %d launches: %v", name, chosen, r.Count, err)
		}
		cancel()
	}
}

func TestASweepGoesFromACoarseGridToAFineOne(t *testing.T) {
	r := pretended(t, 0)
	order := coarseToFine(r.Space)
	seen := make(map[int]bool)
	widths := make(map[uint32]bool)
	for i, c := range order {
		seen[c] = true
		if i < len(order)/8 {
			widths[r.Space.At(c).Width] = true
		}
	}
	if len(seen) != r.Space.Len() || len(widths) < 2 {
		t.Errorf("%d of %d geometries, the first eighth of %d widths", len(seen), r.Space.Len(), len(widths))
	}
	at := r.Space.At(order[0])
	for _, v := range []uint32{at.Width, at.Groups, at.Chunk} {
		if log := int(math.Log2(float64(v))); log%4 != 0 {
			t.Errorf("the first one is %+v", at)
		}
	}
}
