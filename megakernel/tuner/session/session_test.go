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
	look    uint64  // number of the last look that was launched
	looks   int     // launched
	idle    float64 // time between two launches, as a part of a launch's
}

func newRig(t testing.TB, mode Mode) *rig {
	r := &rig{t: t, cfg: policy.Standard(), queue: 50_000, program: 1, speed: 1000, noise: 0.03, random: rand.New(rand.NewPCG(1, 2))}
	r.env = Env{Mode: mode, Spaces: NewSpaces(&r.cfg), Limits: limits, Device: "simulated"}
	r.engine = func(g policy.Geometry) policy.Geometry { return g }
	return r
}

// cost is the time of a launch in µs, if speed is 1000: too few groups leave lanes idle, too many
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
	req := policy.Request{QueueLen: r.queue, RequestedWorkerGroups: r.workers, Limits: limits}
	slots := r.cfg.PlannedLaunch(&req, new(policy.PlanState))
	tuned, look := view.For(slots, r.look)
	req.Tuned = tuned
	rec, _, err := policy.Decide(&r.cfg, &req, policy.State{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.by = Plan{Asked: tuned, Given: rec.Geometry(), Slots: slots, Look: look}
	return rec
}

func (r *rig) report() Report {
	r.plan()
	g := r.engine(r.by.Given)
	slots := float64(min(r.queue, g.Depth))
	ns := uint64(cost(g, slots) * r.speed * math.Exp(r.noise*r.random.NormFloat64()))
	r.ran = append(r.ran, g)
	if r.by.Look != 0 {
		r.look = r.by.Look
		r.looks++
	}
	return Report{
		Program: [32]byte{r.program}, Named: true, Geometry: g, Plan: r.by,
		Slots: uint64(slots), Ns: ns, WallNs: ns + 1000, SinceNs: uint64(float64(ns+1000) * (1 + r.idle)),
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

// kept is what is asked for without a look.
func (r *rig) kept(slots uint32) policy.Geometry {
	v := r.s.View()
	g, _ := v.For(slots, NoLook)
	return g
}

// settled runs until nothing is worth a look.
func (r *rig) settled() {
	r.t.Helper()
	for n := 0; len(r.s.tuners) == 0 || !r.s.tuners[0].state().settled; n++ {
		if n > 20_000 {
			r.t.Fatalf("still not settled after %d launches and %d looks", n, r.looks)
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
	if r.looks == 0 || r.s.tuners[0].live.Looks() > r.looks {
		t.Errorf("%d looks were launched", r.looks)
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
	r.speed *= 1.4
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
	r.settled()
	if g := r.kept(r.queue); g.Width > 64 {
		t.Errorf("settled on %+v, which does not run", g)
	}
}

// looking runs until a look is on offer.
func (r *rig) looking() *entry {
	r.t.Helper()
	for n := 0; r.s.looking == nil; n++ {
		if n > 1000 {
			r.t.Fatal("nothing is looked at")
		}
		r.launch()
	}
	return r.s.looking
}

func TestOnlyItsOwnPlanGivesALookUp(t *testing.T) {
	r := newRig(t, On)
	e := r.looking()
	report := r.report()
	look := e.live.Next().Geometry
	other := report
	other.Plan = Plan{Asked: report.Plan.Asked, Given: report.Plan.Given}
	other.Plan.Given.Width = look.Width / 2
	other.Geometry.Chunk++
	for range 100 {
		if _, err := r.s.Observe(&r.env, &other); err != nil {
			t.Fatal(err)
		}
	}
	if e.live.Next().Geometry != look {
		t.Errorf("given up by launches of another look: %v, then %v", look, e.live.Next().Geometry)
	}
	report.Plan.Look = r.s.number
	report.Plan.Given.Width = look.Width / 2
	report.Geometry.Width = look.Width / 2
	if _, err := r.s.Observe(&r.env, &report); err != nil || e.live.Next().Geometry == look {
		t.Errorf("its plan does not give %v, and it is still asked for: %v", look, err)
	}
}

// A look is launched once. It is asked for again only if nothing came of that.
func TestEachLookIsLaunchedOnce(t *testing.T) {
	r := newRig(t, On)
	e := r.looking()
	number := r.s.number
	before := r.report()
	if before.Plan.Look != number {
		t.Fatalf("look %d is on offer, launched is %+v", number, before.Plan)
	}
	between := r.report() // while the look's launch is under way
	if between.Plan.Look != 0 || between.Plan.Asked != e.keeps() {
		t.Errorf("launched again: %+v", between.Plan)
	}
	for n := 0; r.report().Plan.Look == 0; n++ { // the look's own report is lost
		if n > 2*lookAgain {
			t.Fatal("not asked for again")
		}
		if _, err := r.s.Observe(&r.env, &between); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever a queue's launches say, it tries nothing out while the device has time to spare or works for
// others, while its users cannot wait, or before a look is paid for.
func TestOnlyAQueueThatKeepsTheDeviceBusyLooks(t *testing.T) {
	for name, c := range map[string]struct {
		set   func(r *rig)
		looks bool
	}{
		"busy":                     {func(*rig) {}, true},
		"idle two thirds":          {func(r *rig) { r.idle = 2 }, false},
		"urgent":                   {func(r *rig) { r.env.Urgent = true }, false},
		"one look's worth of work": {func(r *rig) { r.speed = 1 }, true},
	} {
		r := newRig(t, On)
		c.set(r)
		r.launches(1500)
		if (r.looks > 0) != c.looks || !c.looks && r.kept(r.queue) != (policy.Geometry{}) {
			t.Errorf("%s: %d looks, asks for %v", name, r.looks, r.kept(r.queue))
		}
		if lost, allowed := r.s.tuners[0].live.Spent(); !c.looks && (lost != 0 || allowed != 0) {
			t.Errorf("%s: lost %v of %v", name, lost, allowed)
		}
	}
}

// A queue that was busy and no longer is looks at nothing any more.
func TestLooksEndWhenTheQueueIsNoLongerBusy(t *testing.T) {
	r := newRig(t, On)
	r.looking()
	r.idle = 3
	r.report() // the one that is on its way
	r.launches(2 * workMemory)
	looks := r.looks
	r.launches(1000)
	if r.looks != looks {
		t.Errorf("%d looks of an idle queue", r.looks-looks)
	}
}

// Whoever reports may say any time. What is earned is the time that has passed here, and no more.
func TestReportsEarnNoMoreThanTheTimeThatPassed(t *testing.T) {
	r := newRig(t, On)
	passed := uint64(0)
	for n := range 2000 {
		report := r.report()
		report.Ns, report.WallNs = 59e9, 0
		report.SinceNs = 1e6
		if n%100 == 99 {
			report.SinceNs = math.MaxUint64 // a clock that jumped
		}
		passed += min(report.SinceNs, mostNs)
		_, _ = r.s.Observe(&r.env, &report)
		if lost, allowed := r.s.tuners[0].live.Spent(); allowed > .021*float64(passed) || lost > float64(passed) {
			t.Fatalf("after %.3g s %.3g s may be lost and %.3g s are", float64(passed)/1e9, allowed/1e9, lost/1e9)
		}
	}
}

// A kernel that has to be built is charged once, and its look is tried again when it may be ready.
func TestLookWhoseKernelIsBuiltIsTriedAgain(t *testing.T) {
	r := newRig(t, On)
	e := r.looking()
	look, usual := e.live.Next().Geometry, r.ran[0]
	building := true
	r.engine = func(g policy.Geometry) policy.Geometry {
		if building && r.by.Look != 0 {
			return usual
		}
		return g
	}
	lost, _ := e.live.Spent()
	r.launches(40)
	if now, _ := e.live.Spent(); now != lost+buildNs {
		t.Errorf("%v ns were lost, then %v", lost, now)
	}
	if e.live.Next().Geometry != look || r.looks < 2 {
		t.Fatalf("%d tries, then %+v", r.looks, e.live.Next())
	}
	building = false
	for n := 0; e.live.Looks() == 0; n++ {
		if n > 2*lookAgain+2 {
			t.Fatal("the look never ran")
		}
		r.launch()
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
	large := r.kept(50_000)
	if r.kept(300) != (policy.Geometry{}) {
		t.Error("300 slots run like 50,000 before anything is known of them")
	}
	r.queue = 300
	r.launches(2000)
	if small := r.kept(300); small == large {
		t.Errorf("300 slots run like 50,000: %+v", small)
	}
	if r.kept(50_000) != large {
		t.Error("launches of 300 slots changed those of 50,000")
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
	if r.s.View() != view {
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
		if len(r.s.tuners) == 0 || r.s.tuners[0].state().settled {
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

// A device that holds more is given deeper launches, which are not cut to 64 Ki slots.
func TestDepthIsAskedForWhereThePolicysOwnIsAnother(t *testing.T) {
	standard := policy.Standard()
	s, described := NewSpaces(&standard), limits
	described.Units, described.UnitLanes = 132, 2048
	whole := policy.Geometry{Width: 256, Groups: 1024, Chunk: 1024, Depth: 1 << 20}
	if got := s.ask(described, whole, 1<<20).Depth; got != 0 {
		t.Errorf("a launch that is not split is asked for with a depth of %d", got)
	}
	if got := s.ask(limits, whole, 1<<20).Depth; got != 1<<20 {
		t.Errorf("a launch beyond the policy's own depth is asked for with %d", got)
	}
}
