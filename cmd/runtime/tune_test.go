package main

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/live"
	"ringmaster/megakernel/tuner/workload"
)

// pretended is a run on a device that exists only as a formula: it is fastest at a
// width of 128 with 64 workgroups and claims of 256.
func pretended(t *testing.T, launches int) *tuneRun {
	t.Helper()
	space, err := live.NewSpace(live.Workload{
		Slots:  16 << 10,
		Limits: policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 1 << 20, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32},
	})
	if err != nil {
		t.Fatal(err)
	}
	off := func(v, best uint32) float64 { return math.Abs(math.Log2(float64(v) / float64(best))) }
	return &tuneRun{
		space: space, launches: launches, warm: func() error { return nil }, now: time.Now,
		launch: func(g live.Geometry) (live.Report, error) {
			ns := 1e5 * (1 + off(g.Width, 128)/4 + off(g.Groups, 64)/4 + off(g.Chunk, 256)/8 + off(g.Depth, 16<<10)/3)
			return live.Report{Geometry: g, Slots: 16 << 10, Ns: uint64(ns), WallNs: uint64(ns) + 1000}, nil
		},
	}
}

func TestEveryStrategyFindsTheBestGeometryOrOneNearIt(t *testing.T) {
	for name, c := range map[string]struct {
		strategy func(context.Context, *tuneRun) (int, error)
		launches int
		whole    bool
		within   float64
	}{
		"sweep, all of it":    {sweep, 0, true, 1},
		"sweep, part of it":   {sweep, 200, false, 1.3},
		"search":              {searchRing, 120, false, 1},
		"live":                {liveRing, 0, true, 1.2},
		"live, cut short":     {liveRing, 12, false, 2},
		"sweep, cut to a bit": {sweep, leastLaunches, false, 5},
	} {
		r := pretended(t, c.launches)
		chosen, whole, err := r.run(t.Context(), c.strategy)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		report, _ := r.launch(r.space.At(chosen))
		if over := float64(report.Ns) / 1e5; over > c.within || whole != c.whole {
			t.Errorf("%s: %+v is %.2f of the best, whole %v, after %d launches", name, r.space.At(chosen), over, whole, r.count)
		}
		if c.launches > 0 && r.count > c.launches {
			t.Errorf("%s: %d launches of %d", name, r.count, c.launches)
		}
	}
}

func TestRowsSayHowOftenAndHowFastTheirGeometryRan(t *testing.T) {
	r := pretended(t, 0)
	chosen, _, err := r.run(t.Context(), sweep)
	if err != nil {
		t.Fatal(err)
	}
	rows := r.rows(chosen)
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
	if len(rows) != r.space.Len() || launches != r.count || picked != 1 || rows[0].Launches <= 1 {
		t.Errorf("%d rows of %d launches, %d chosen; %d launches ran; the first has %d", len(rows), launches, picked, r.count, rows[0].Launches)
	}
}

func TestABudgetOfTimeEndsARun(t *testing.T) {
	r := pretended(t, 0)
	r.span = time.Second
	clock := time.Unix(0, 0)
	r.now = func() time.Time { return clock }
	step := 10 * time.Millisecond
	launch := r.launch
	r.launch = func(g live.Geometry) (live.Report, error) { clock = clock.Add(step); return launch(g) }
	if _, whole, err := r.run(t.Context(), sweep); err != nil || whole || r.count > 100 || r.count < 95 {
		t.Errorf("%d launches, whole %v: %v", r.count, whole, err)
	}
	step = 500 * time.Millisecond
	if _, _, err := r.run(t.Context(), sweep); !errors.Is(err, errBudget) || !strings.Contains(err.Error(), "--seconds") {
		t.Errorf("too short a time: %v", err)
	}
}

func TestAnInterruptedRunKeepsWhatIsKnownAndChoosesNothing(t *testing.T) {
	for name, strategy := range map[string]func(context.Context, *tuneRun) (int, error){"sweep": sweep, "search": searchRing, "live": liveRing} {
		r := pretended(t, 500)
		ctx, cancel := context.WithCancel(t.Context())
		r.progress = func(float64, *tuneRun) {
			if r.count == 10 {
				cancel()
			}
		}
		chosen, _, err := r.run(ctx, strategy)
		if !errors.Is(err, context.Canceled) || chosen != unchosen || r.count != 10 || len(r.rows(chosen)) == 0 {
			t.Errorf("%s: chosen %d after %d launches: %v", name, chosen, r.count, err)
		}
		cancel()
	}
}

func TestASweepGoesFromACoarseGridToAFineOne(t *testing.T) {
	r := pretended(t, 0)
	order := coarseToFine(r.space)
	seen := make(map[int]bool)
	widths := make(map[uint32]bool)
	for i, c := range order {
		seen[c] = true
		if i < len(order)/8 {
			widths[r.space.At(c).Width] = true
		}
	}
	if len(seen) != r.space.Len() || len(widths) < 2 {
		t.Errorf("%d of %d geometries, the first eighth of %d widths", len(seen), r.space.Len(), len(widths))
	}
	at := r.space.At(order[0])
	for _, v := range []uint32{at.Width, at.Groups, at.Chunk} {
		if log := int(math.Log2(float64(v))); log%4 != 0 {
			t.Errorf("the first one is %+v", at)
		}
	}
}

func TestOwnSlotsAreDealtOutByTheirShares(t *testing.T) {
	set := exampleSet(t)
	l, err := ownLoad([]string{"add a0=1 a1=0 x30", "load a0=0..10/1"}, 80, 16, set)
	if err != nil {
		t.Fatal(err)
	}
	adds := 0
	var loads []uint32
	for i, s := range l.slots {
		if s.Opcode == 2 {
			adds++
		} else {
			loads = append(loads, s.Args[0])
		}
		if i == 7 && (adds < 5 || adds > 7) {
			t.Errorf("of the first 8 slots %d are adds", adds)
		}
	}
	if len(l.slots) != 80 || adds != 60 || loads[0] != 0 || loads[9] != 9 || loads[10] != 0 || l.name != "add+load" {
		t.Errorf("%s: %d slots, %d adds, loads of %v", l.name, len(l.slots), adds, loads)
	}
}

func TestTuneRefusesWhatCannotBeMeantBeforeAnythingIsOpened(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "none.png")
	for line, want := range map[string]string{
		"--workload nothing":                      "there is no bundled workload nothing",
		"--workload light-4k --slots nop":         "give one of them",
		"--slots transmogrify":                    "there is no opcode transmogrify",
		"--slots-file /nonexistent":               "--slots-file",
		"--slots-file -":                          "names no slots",
		"--ring=-1":                               "--ring -1",
		"--ring 99999999":                         "--ring 99999999",
		"--launches 3":                            "the budget is too small",
		"--seconds=-1":                            "less than nothing",
		"--seconds NaN":                           "less than nothing",
		"--strategy live --seconds 0":             "needs a bound",
		"--window 0":                              "--window 0",
		"--picture " + empty + "/x.png":           "no picture can be written there",
		"--picture picture.bmp":                   "has to end in .png or .svg",
		"--opcodes /nonexistent --workload light": "/nonexistent",
	} {
		// Without a device the command would fail too, but later and otherwise.
		args := append([]string{"tune", "--device", "no-such-device"}, strings.Fields(line)...)
		got := ringmaster(t, t.Context(), "# nothing\n", args...)
		if got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%s: exit code %d, %q, want %q", line, got.code, got.err, want)
		}
	}
	if got := ringmaster(t, t.Context(), "", "tune", "--strategy", "luck"); got.code != 2 {
		t.Errorf("an unknown strategy: exit code %d", got.code)
	}
	if got := ringmaster(t, t.Context(), "", "tune", "--device", "no-such-device", "--workload", "light-256"); got.code != 1 || strings.Contains(got.err, "panic") {
		t.Errorf("no device: exit code %d, %q", got.code, got.err)
	}
	list := ringmaster(t, t.Context(), "", "tune", "--list")
	for _, w := range workload.Bundled() {
		if !strings.Contains(list.stdout, w.Name) {
			t.Errorf("--list does not name %s", w.Name)
		}
	}
}

func TestProgressIsDrawnOnATerminalOnly(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		var out strings.Builder
		r := pretended(t, 50)
		r.progress = tuneProgress(&screen{out: &out, terminal: terminal, width: 200})
		if _, _, err := r.run(t.Context(), sweep); err != nil {
			t.Fatal(err)
		}
		if drawn := strings.Contains(out.String(), "[") && strings.Contains(out.String(), "1 launches, 1 of "); drawn != terminal {
			t.Errorf("terminal %v: drew %q", terminal, out.String())
		}
	}
}

// As for run: an empty directory, or variable, is none.
func TestTuneStoresWhereRunLooks(t *testing.T) {
	none := ""
	for want, c := range map[string]tuneCmd{
		"":                                 {TunerCache: &none},
		filepath.Join(cacheDir(), "tuner"): {},
	} {
		run := autotuneFlags{TunerCache: c.TunerCache}
		if got := c.cacheDir(); got != want || run.dir() != want {
			t.Errorf("%q, run looks in %q, want %q", got, run.dir(), want)
		}
	}
}

func TestWhatWasFasterByLuckIsNotStoredAsFasterThanTheChoice(t *testing.T) {
	result := &tuned{Slots: 100, Rows: []tuneRow{
		{Width: 32, Groups: 1, Chunk: 32, Depth: 100, Launches: 4, MedianNs: 600},
		{Width: 64, Groups: 1, Chunk: 32, Depth: 100, Launches: 9, MedianNs: 1000, Chosen: true},
		{Width: 128, Groups: 1, Chunk: 32, Depth: 100, Launches: 2, MedianNs: 2000},
	}}
	e := tunedEntry(result, cache.Key{1})
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	var means []float64
	for _, m := range e.Measurements {
		means = append(means, m.Mean)
	}
	if e.Selected.Width != 64 || !slices.Equal(means, []float64{10, 10, 20}) {
		t.Errorf("selected %+v, means %v", e.Selected, means)
	}
}
