package live

import (
	"errors"
	"math"
	"testing"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/cache"
)

func TestImplausibleReportsAreRefusedAndChangeNothing(t *testing.T) {
	u, r := explored(t, &simulatedH200, load{65_536, 300, 8}, 1)
	good := r.launch(u.Next().Geometry)
	for name, c := range map[string]struct {
		spoil func(*Report)
		want  error
	}{
		"no slots":            {func(r *Report) { r.Slots = 0 }, ErrEmpty},
		"zero time":           {func(r *Report) { r.Ns = 0 }, ErrZeroTime},
		"negative as wrapped": {func(r *Report) { r.Ns = math.MaxUint64 }, ErrAbsurd},
		"a minute and more":   {func(r *Report) { r.Ns, r.WallNs = 61e9, 0 }, ErrAbsurd},
		"longer than wall":    {func(r *Report) { r.WallNs = r.Ns / 2 }, ErrWall},
		"too fast":            {func(r *Report) { r.Ns /= 20 }, ErrTooFast},
		"beyond the limits":   {func(r *Report) { r.Geometry.Width = 4096 }, ErrGeometry},
		"zero geometry":       {func(r *Report) { r.Geometry = policy.Geometry{} }, ErrGeometry},
	} {
		bad := good
		c.spoil(&bad)
		before := *u
		if err := u.Observe(bad); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		after := *u
		after.fast = before.fast
		if after != before {
			t.Errorf("%s: the tuner changed", name)
		}
		u.fast = 0
	}
	observe(t, u, good)
}

func TestDeviceThatBecameFasterIsBelieved(t *testing.T) {
	u, r := explored(t, &simulatedH200, load{65_536, 300, 8}, 1)
	r.speed = 1.0 / 20
	for range 12 {
		_ = u.Observe(r.launch(u.Next().Geometry))
	}
	if u.Changes() != 1 {
		t.Errorf("%d changes", u.Changes())
	}
}

func TestGeometryBeyondTheSafetyBoundIsNotRunAgain(t *testing.T) {
	for _, l := range loads(1) {
		r, u := newRing(&simulatedH200, l, 7), simulatedH200.fresh(t, l)
		runs := map[policy.Geometry]int{} // looks; the incumbent runs until a better one is found
		best := math.Inf(1)
		for range 500 {
			g := u.Next().Geometry
			if u.Next().Look {
				runs[g]++
			}
			best = math.Min(best, simulatedH200.ns(l, g))
			observe(t, u, r.launch(g))
		}
		for g, n := range runs {
			if cost := simulatedH200.ns(l, g) / best; cost > 1.65 && n > 1 {
				t.Errorf("%+v: %+v costs %.2f times the best and ran %d times", l, g, cost, n)
			}
		}
	}
}

func TestStateSurvivesTheCache(t *testing.T) {
	l := load{65_536, 300, 8}
	u, r := explored(t, &simulatedH200, l, 5)
	e := u.Entry(cache.Key{1})
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	v := simulatedH200.fresh(t, l)
	if n := v.Restore(&e); n != len(e.Measurements) {
		t.Errorf("%d of %d measurements taken", n, len(e.Measurements))
	}
	if v.Next().Geometry != u.Next().Geometry || !v.Over() {
		t.Errorf("had %+v, restored %+v", u.Next(), v.Next())
	}
	for range 200 {
		if v.Next().Look {
			t.Fatal("looks at something because of a restart")
		}
		observe(t, v, r.launch(v.Next().Geometry))
	}
	if v.Changes() != 0 {
		t.Errorf("%d changes after a restart without one", v.Changes())
	}
}

func TestRestoreTakesNothingFromAPoisonedEntry(t *testing.T) {
	s := simulatedH200.space(load{4096, 60, 0})
	g := s.At(3)
	for name, e := range map[string]cache.Entry{
		"not a number":  {Measurements: []cache.Measurement{{Geometry: g, Count: 1, Mean: math.NaN()}}},
		"no launches":   {Measurements: []cache.Measurement{{Geometry: g, Mean: 1}}},
		"other space":   {Measurements: []cache.Measurement{{Geometry: policy.Geometry{Width: 7}, Count: 1, Mean: 1}}},
		"only selected": {Selected: g},
	} {
		u := New(Config{Space: s})
		before := u.Next()
		if n := u.Restore(&e); n != 0 || u.Next() != before {
			t.Errorf("%s: %d taken, next %+v", name, n, u.Next())
		}
	}
}

func TestSpaceFitsTheDevice(t *testing.T) {
	for _, w := range []Workload{
		{Limits: policy.Limits{MaxWorkgroupSizeX: 1024, MaxInvocationsPerWorkgroup: 256, MaxWorkgroupsPerDimension: 64, SubgroupSize: 64}, Slots: 100_000},
		{Limits: policy.Limits{MaxWorkgroupSizeX: 20, MaxInvocationsPerWorkgroup: 20, MaxWorkgroupsPerDimension: 1}, Slots: 1},
		{Limits: simulatedH200.limits, Slots: 1 << 30, Legal: func(g policy.Geometry) bool { return g.Chunk <= 256*g.Width }},
	} {
		s, err := NewSpace(w)
		if err != nil {
			t.Fatalf("%+v: %v", w.Limits, err)
		}
		for c := range s.Len() {
			g := s.At(c)
			if g.Width > w.Limits.MaxWidth() || g.Groups > w.Limits.MaxWorkgroupsPerDimension || g.Depth > w.Slots || g.Chunk == 0 || g.Groups == 0 {
				t.Fatalf("%+v for %+v", g, w.Limits)
			}
			if back, ok := s.Find(g); !ok || back != c {
				t.Fatalf("%+v is found as %d, not %d", g, back, c)
			}
		}
	}
	described := simulatedH200.limits
	described.Units = 132
	s, err := NewSpace(Workload{Limits: described, Slots: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	for _, groups := range []uint32{128, 132, 264, 512, 528, 1056} {
		if _, ok := s.Find(policy.Geometry{Width: 128, Groups: groups, Chunk: 32, Depth: 1 << 16}); !ok {
			t.Errorf("no %d workgroups among the geometries of 132 units", groups)
		}
	}
	for _, w := range []Workload{
		{Limits: simulatedH200.limits},
		{Limits: simulatedH200.limits, Slots: 1 << 31},
		{Slots: 100},
	} {
		if _, err := NewSpace(w); !errors.Is(err, ErrWorkload) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

func TestSnapshotIsIndependentAndReplayIsExact(t *testing.T) {
	l := load{65_536, 60, 0}
	r, u := newRing(&simulatedH200, l, 9), simulatedH200.fresh(t, l)
	var copied Tuner
	var later []Report
	for i := range 300 {
		if i == 100 {
			copied = *u
		}
		report := r.launch(u.Next().Geometry)
		observe(t, u, report)
		if i >= 100 {
			later = append(later, report)
		}
	}
	for _, report := range later {
		if got := copied.Next().Geometry; got != report.Geometry {
			t.Fatalf("replay runs %+v, the original ran %+v", got, report.Geometry)
		}
		observe(t, &copied, report)
	}
	if copied != *u || u.Looks() == 0 {
		t.Errorf("the replay of a snapshot differs, or nothing was looked at: %d looks", u.Looks())
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	u, r := explored(t, &simulatedH200, load{65_536, 300, 8}, 1)
	report := r.launch(u.Next().Geometry)
	if n := testing.AllocsPerRun(1000, func() { _ = u.Observe(report); _ = u.Next() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Where a process ends before its looks are over, the next one goes on with what is left of them.
func TestLooksGoOnAfterARestart(t *testing.T) {
	l := load{65_536, 300, 8}
	r, u := newRing(&simulatedH200, l, 3), simulatedH200.fresh(t, l)
	for u.Looks() < 10 || u.Next().NsPerSlot == 0 {
		observe(t, u, r.launch(u.Next().Geometry))
	}
	e, v := u.Entry(cache.Key{1}), simulatedH200.fresh(t, l)
	v.Restore(&e)
	if v.Looks() != u.Looks() || v.Over() || v.Choice() != u.Choice() || v.Next().Look {
		t.Errorf("%d looks, goes on with %d, over %v, at %v after %v", u.Looks(), v.Looks(), v.Over(), v.Choice(), u.Choice())
	}
	if lost, allowed := v.Spent(); lost != 0 || allowed != 0 {
		t.Errorf("what was earned before the restart counts: %v of %v", lost, allowed)
	}
}
