package session

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/live"
)

var limits = policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32}

// rig is a queue whose launches run on a simulated device, with the policy between
// tuner and device as in the real loop.
type rig struct {
	t       testing.TB
	cfg     policy.Config
	env     Env
	s       Session
	queue   uint32
	workers uint32 // ceiling that the queue asks for
	program byte
	speed   float64
	noise   float64
	random  *rand.Rand
	by      Plan                                  // of the last launch
	engine  func(policy.Geometry) policy.Geometry // what it makes of a plan
	ran     []policy.Geometry
}

func newRig(t testing.TB, mode Mode) *rig {
	r := &rig{t: t, cfg: policy.Standard(), queue: 50_000, program: 1, speed: 1, noise: 0.03, random: rand.New(rand.NewPCG(1, 2))}
	r.env = Env{Mode: mode, Spaces: NewSpaces(&r.cfg), Limits: limits, Device: "simulated"}
	r.engine = func(g policy.Geometry) policy.Geometry { return g }
	return r
}

// cost is the time of a launch in ns: too few groups leave lanes idle, too many
// cost their start, small chunks cost tickets, large ones leave a tail.
func cost(g policy.Geometry, slots float64) float64 {
	lanes := math.Min(float64(g.Width)*float64(g.Groups), 2048)
	tickets := math.Ceil(slots / float64(g.Chunk))
	tail := float64(g.Chunk) * 40 / float64(g.Width)
	return 20_000 + 700*float64(g.Groups) + 60*tickets + slots*900/lanes + tail + 30*float64(g.Width)
}

func (r *rig) plan() policy.Recommendation {
	r.t.Helper()
	view := r.s.View()
	req := policy.Request{QueueLen: r.queue, RequestedWorkerGroups: r.workers, Limits: limits, Tuned: view.For(r.queue)}
	rec, _, err := policy.Decide(&r.cfg, &req, policy.State{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.by = Plan{Asked: req.Tuned, Given: rec.Geometry(), QueueLen: r.queue}
	return rec
}

func (r *rig) report() Report {
	r.plan()
	g := r.engine(r.by.Given)
	slots := float64(min(r.queue, g.Depth))
	ns := uint64(cost(g, slots) * r.speed * math.Exp(r.noise*r.random.NormFloat64()))
	r.ran = append(r.ran, g)
	return Report{
		Program: [32]byte{r.program}, Named: true, Geometry: g, Plan: r.by,
		Slots: uint64(slots), Ns: ns, WallNs: ns + 1000,
	}
}

func (r *rig) launch() {
	r.t.Helper()
	report := r.report()
	if _, err := r.s.Observe(&r.env, &report); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) launches(n int) {
	r.t.Helper()
	for range n {
		r.launch()
	}
}

// settled runs until the exploration is over.
func (r *rig) settled() {
	r.t.Helper()
	for n := 0; len(r.s.tuners) == 0 || r.s.tuners[0].exploring(); n++ {
		if n > 2000 {
			r.t.Fatalf("still exploring after %d launches", n)
		}
		r.launch()
	}
}

// best is the time of the best geometry of the tuner's space.
func (r *rig) best() float64 {
	space, err := r.env.Spaces.Of(limits, BucketOf(r.queue))
	if err != nil {
		r.t.Fatal(err)
	}
	best := math.Inf(1)
	for c := range space.Len() {
		g := policy.Geometry(space.At(c))
		slots, ns := float64(r.queue), 0.0
		for ; slots > 0; slots -= float64(g.Depth) {
			ns += cost(g, math.Min(slots, float64(g.Depth)))
		}
		best = math.Min(best, ns)
	}
	return best
}

func TestLoopSettlesOnAGeometryThatThePolicyThenPlans(t *testing.T) {
	r := newRig(t, On)
	r.settled()
	if n := len(r.ran); n > 60 { // 24 looks, each with a launch of the incumbent
		t.Errorf("settled after %d launches", n)
	}
	plan := r.plan()
	if want := policy.TunedWidth | policy.TunedGroups | policy.TunedChunk; plan.Tuned&want != want {
		t.Errorf("the plan is not the tuner's: %+v", plan)
	}
	if ratio := cost(r.by.Given, float64(r.queue)) / r.best(); ratio > 1.1 {
		t.Errorf("%+v takes %.3f times the best", r.by.Given, ratio)
	}
}

func TestSteadyLoadKeepsItsGeometry(t *testing.T) {
	r := newRig(t, On)
	r.settled()
	changes, before := 0, r.s.View()
	for range 1000 {
		r.launch()
		if now := r.s.View(); now != before {
			changes, before = changes+1, now
		}
	}
	if changes > 1 {
		t.Errorf("%d changes of geometry in 1,000 launches", changes)
	}
}

func TestStepOfCostIsNoticedAndRemembered(t *testing.T) {
	memory := newMemory()
	r := newRig(t, On)
	r.env.Memory = memory
	r.settled()
	r.launches(50)
	stored := memory.stores
	r.speed = 1.4
	for n := 0; memory.stores == stored; n++ {
		if n == 12 {
			t.Fatal("not noticed within 12 launches")
		}
		r.launch()
	}
	r.settled()
	if memory.stores < stored+2 {
		t.Error("the end of the second exploration is not remembered")
	}
}

func TestRefusedReportsChangeNothing(t *testing.T) {
	r := newRig(t, On)
	r.settled()
	good := r.report()
	for name, c := range map[string]struct {
		spoil func(*Report)
		want  error
	}{
		"no fingerprint":    {func(b *Report) { b.Named = false }, ErrUnknownKernel},
		"too wide":          {func(b *Report) { b.Geometry.Width = 2048 }, ErrBeyondLimits},
		"no groups":         {func(b *Report) { b.Geometry.Groups = 0 }, ErrBeyondLimits},
		"too many groups":   {func(b *Report) { b.Geometry.Groups = 65_536 }, ErrBeyondLimits},
		"absurd chunk":      {func(b *Report) { b.Geometry.Chunk = math.MaxUint32 }, ErrBeyondLimits},
		"zero time":         {func(b *Report) { b.Ns = 0 }, live.ErrZeroTime},
		"negative, wrapped": {func(b *Report) { b.Ns = math.MaxUint64 }, live.ErrAbsurd},
		"no slots":          {func(b *Report) { b.Slots, b.Geometry.Depth = 0, 0 }, live.ErrEmpty},
		"absurd slots":      {func(b *Report) { b.Slots = 1 << 40 }, live.ErrAbsurd},
		"longer than wall":  {func(b *Report) { b.WallNs = b.Ns / 2 }, live.ErrWall},
	} {
		bad := good
		c.spoil(&bad)
		view := r.s.View()
		if changed, err := r.s.Observe(&r.env, &bad); !errors.Is(err, c.want) || changed {
			t.Errorf("%s: changed %v, %v, want %v", name, changed, err, c.want)
		}
		if r.s.View() != view {
			t.Errorf("%s: view %v", name, r.s.View())
		}
	}
}

func TestKernelsBeyondTheRoomAreRefusedWhileAllAreInUse(t *testing.T) {
	r := newRig(t, On)
	for i := range MaxTuners {
		r.program = byte(i + 1)
		r.launch()
	}
	r.program = 100
	report := r.report()
	if _, err := r.s.Observe(&r.env, &report); !errors.Is(err, ErrCrowded) {
		t.Errorf("one kernel more: %v", err)
	}
	r.program = 1
	r.launches(inUse)
	r.program = 100
	r.launch()
	if len(r.s.tuners) != MaxTuners {
		t.Errorf("%d tuners", len(r.s.tuners))
	}
}

func TestCeilingBelowTheSuggestionEndsTheExploration(t *testing.T) {
	for _, subgroup := range []uint32{8, 32} { // the models of both expect other geometries to be fast
		r := newRig(t, On)
		r.workers = 3
		r.env.Limits.SubgroupSize = subgroup
		r.settled()
	}
}

func TestSuggestionThatTheEngineDoesNotRunIsGivenUp(t *testing.T) {
	r := newRig(t, On)
	r.engine = func(g policy.Geometry) policy.Geometry {
		g.Width = min(g.Width, 64)
		return g
	}
	r.speed = 1000 // so that waiting is worth seconds
	r.settled()
	if g := r.s.View().For(r.queue); g.Width > 64 {
		t.Errorf("settled on %+v, which does not run", g)
	}
}

func TestOnlyThePlanOfASuggestionGivesItUp(t *testing.T) {
	r := newRig(t, On)
	r.launches(3)
	e := r.s.tuners[0]
	report := r.report()
	report.Geometry.Chunk++ // which no tuner asks for
	report.WallNs = 1e9
	next := e.next()
	report.Plan.Asked.Width = next.Width / 2
	for range 2 * missedLaunches {
		if _, err := r.s.Observe(&r.env, &report); err != nil {
			t.Fatal(err)
		}
	}
	if e.next() != next {
		t.Errorf("given up by launches of another suggestion: %v, then %v", next, e.next())
	}
	report.Plan.Asked = e.ask()
	report.Plan.Given.Width = next.Width / 2
	if _, err := r.s.Observe(&r.env, &report); err != nil || e.next() == next {
		t.Errorf("its plan does not give %v, and it is still asked for: %v", next, err)
	}
}

func TestLaunchesOnTheirWayDoNotUseUpTheBudget(t *testing.T) {
	r := newRig(t, On)
	r.launches(2)
	left := r.s.tuners[0].live.Next().Left
	stale := r.report()
	r.launch()
	for range 100 {
		if _, err := r.s.Observe(&r.env, &stale); err != nil {
			t.Fatal(err)
		}
	}
	if now := r.s.tuners[0].live.Next().Left; now < left-2 {
		t.Errorf("%d launches left of %d", now, left)
	}
}

func TestAKernelThatStandsInIsNoChange(t *testing.T) {
	r := newRig(t, On)
	r.settled()
	r.launches(10)
	view := r.s.View()
	r.program = 2
	r.launches(convincing - 1)
	if r.s.View() != view {
		t.Error("the view follows a kernel that ran a few times")
	}
	r.launches(2)
	if r.s.current[BucketOf(r.queue)].program.ID[0] != 2 {
		t.Error("the view does not follow the new kernel")
	}
}

func TestSizesOfLaunchesAreTunedApart(t *testing.T) {
	r := newRig(t, On)
	r.settled()
	large := r.s.View().For(50_000)
	r.queue = 300
	for range 200 {
		r.launch()
	}
	if small := r.s.View().For(300); small == large || small == (policy.Geometry{}) {
		t.Errorf("300 slots run like 50,000: %+v", small)
	}
	if r.s.View().For(50_000) != large {
		t.Error("launches of 300 slots changed those of 50,000")
	}
}

func TestNaturalGradientTakesTheBestWidthAndKeepsIt(t *testing.T) {
	r := newRig(t, Natural)
	r.settled()
	at := func(width uint32) float64 {
		rec, _, err := policy.Decide(&r.cfg, &policy.Request{QueueLen: r.queue, Limits: limits, Tuned: policy.Geometry{Width: width}}, policy.State{})
		if err != nil {
			t.Fatal(err)
		}
		return cost(policy.Geometry{Width: width, Groups: rec.DispatchGrid[0], Chunk: rec.ClaimChunk}, float64(r.queue))
	}
	best := math.Inf(1)
	for _, w := range []uint32{32, 64, 128, 256, 512, 1024} {
		best = math.Min(best, at(w))
	}
	before := r.s.View()
	if ratio := at(before.For(r.queue).Width) / best; ratio > 1.05 {
		t.Errorf("%+v takes %.3f times the best", before.For(r.queue), ratio)
	}
	changes := 0
	for range 1000 {
		r.launch()
		if now := r.s.View(); now != before {
			changes, before = changes+1, now
		}
	}
	if changes > 1 {
		t.Errorf("%d changes of width in 1,000 launches", changes)
	}
}

func TestOffTunesNothing(t *testing.T) {
	r := newRig(t, Off)
	r.launches(50)
	if r.s.View() != (View{}) || r.s.tuners != nil {
		t.Errorf("view %v", r.s.View())
	}
}

func TestParkedSessionGoesOnWhereItWas(t *testing.T) {
	r := newRig(t, On)
	r.env.Memory = newMemory()
	r.settled()
	view := r.s.View()
	r.s.Park(&r.env)
	if r.s.tuners != nil || r.s.View() != view {
		t.Error("parked with tuners, or without its view")
	}
	r.launch()
	if r.s.tuners[0].exploring() || r.s.View() != view {
		t.Errorf("had %v, goes on with %v", view, r.s.View())
	}
}

func BenchmarkReportToView(b *testing.B) {
	r := newRig(b, On)
	r.env.Memory = newMemory()
	r.settled()
	r.launches(100)
	report := r.report()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.s.Observe(&r.env, &report); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReportToViewExploring times a report during an exploration until the view has
// what is best so far, or the next look. Choosing that look comes later and is not timed.
func BenchmarkReportToViewExploring(b *testing.B) {
	r := newRig(b, On)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		r.s.Think(&r.env)
		if len(r.s.tuners) == 0 || !r.s.tuners[0].exploring() {
			r.s = Session{}
			r.launch()
		}
		report := r.report()
		b.StartTimer()
		if _, err := r.s.Take(&r.env, &report); err != nil {
			b.Fatal(err)
		}
	}
}

// A device that holds more is given deeper launches, which are not cut to 64 Ki slots: what was
// found for that many says nothing of longer queues then.
func TestLongQueuesOfADescribedDeviceAreNotLentWhatWasFoundForShortOnes(t *testing.T) {
	standard := policy.Standard()
	s, described := NewSpaces(&standard), limits
	described.Units, described.UnitLanes = 132, 2048
	if got := s.lender(limits); BucketSlots(got) != 1<<16 {
		t.Errorf("without a description launches are cut to %d slots", BucketSlots(got))
	}
	if got := s.lender(described); got != Buckets-1 {
		t.Errorf("launches are cut to %d slots", BucketSlots(got))
	}
	whole := policy.Geometry{Width: 256, Groups: 1024, Chunk: 1024, Depth: 1 << 20}
	if got := s.ask(described, whole, 1<<20).Depth; got != 0 {
		t.Errorf("a launch that is not split is asked for with a depth of %d", got)
	}
	if got := s.ask(limits, whole, 1<<20).Depth; got != 1<<20 {
		t.Errorf("a launch beyond the policy's own depth is asked for with %d", got)
	}
}
