package shadow

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry"
)

var (
	narrow = telemetry.Geometry{WorkgroupSizeX: 64, Groups: 4, ClaimChunk: 64}
	wide   = telemetry.Geometry{WorkgroupSizeX: 256, Groups: 8, ClaimChunk: 256}
	start  = time.Unix(1_700_000_000, 0)
)

func advice(g telemetry.Geometry, depth uint32) *telemetry.Recommendation {
	return &telemetry.Recommendation{WorkgroupSizeX: g.WorkgroupSizeX, Groups: g.Groups, ClaimChunk: g.ClaimChunk, BatchDepth: depth,
		ExecutionMode: "interpreter", LaunchMode: "wave", ValidForMs: 2000, Reasons: []telemetry.Reason{{Rule: "mode_queue_len", Threshold: 4096, Value: 10}}}
}

func ran(g telemetry.Geometry, slots, ns uint64) *telemetry.Launch {
	return &telemetry.Launch{Applied: g, Executed: slots, ElapsedNs: ns}
}

// heard is a recorder of a queue that ran wide for a while, by the advice, and then narrow against it. A launch takes
// 50 µs and 10 ns a slot if it is wide, twice that if it is narrow, and up to a fifth more, alike for twenty launches.
func heard(seed uint64, byAdvice, against int) (r *recorder, truth float64) {
	r, random := newRecorder(), rand.New(rand.NewPCG(seed, 7))
	noise := 0.0
	for i := range byAdvice + against {
		at := start.Add(time.Duration(i) * 10 * time.Millisecond)
		r.Advise(at, "w", "q", advice(wide, 65536))
		if i%20 == 0 {
			noise = random.Float64() / 5
		}
		slots := 1000 + random.Uint64N(9000)
		ns := (50_000 + 10*float64(slots)) * (1 + noise)
		g := wide
		if i >= byAdvice {
			g = narrow
			ns *= 2
			truth += ns - 1.1*(50_000+10*float64(slots)) // by the advice it would have had the mean of the noise
		}
		r.Launched(at, "w", "q", ran(g, slots, uint64(ns)))
	}
	return r, truth
}

func TestDifferencesAreTimedExplainedAndPriced(t *testing.T) {
	r, _ := heard(1, 200, 100)
	report := r.Report()
	q := report.Queues[0]
	if q.Queue != "w.q" || q.Launches != 300 || q.Different != 100 || q.Unadvised != 0 || len(q.Episodes) != 1 {
		t.Fatalf("%+v", q)
	}
	e := q.Episodes[0]
	if !e.From.Equal(start.Add(2*time.Second)) || !e.To.Equal(start.Add(2990*time.Millisecond)) || e.Launches != 100 || !strings.HasPrefix(e.Engine, "64x4x64") || !strings.HasPrefix(e.Advice, "256x8x256") {
		t.Errorf("%+v", e)
	}
	if c := q.Cost; c == nil || c.Launches != 100 || !(c.Low < c.Ns && c.Ns < c.High) || c.Ns < 9e6 || c.Ns > 14e6 {
		t.Errorf("cost %+v, refused %q", c, q.Refused)
	}
	for _, want := range []string{"w.q: 100 of 300 launches differ", "because of mode_queue_len (10, threshold 4096)", "with 95 % confidence"} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("want %q in %s", want, report)
		}
	}
}

// Of a hundred repetitions the interval holds the true difference in ninety at least.
func TestIntervalsCover(t *testing.T) {
	covered, n := 0, 100
	for seed := range n {
		r, truth := heard(uint64(seed), 400, 400)
		if c := r.Report().Queues[0].Cost; c != nil && c.Low <= truth && truth <= c.High {
			covered++
		}
	}
	if covered < 90 {
		t.Errorf("%d of %d intervals cover", covered, n)
	}
}

func TestWhatIsNotIdentifiedIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		byAdvice int
		slots    uint64 // of the launches against it
		against  int
		want     string
	}{
		"never ran":       {0, 5000, 100, "fewer than 8 launches at 256x8x256"},
		"too seldom":      {7, 5000, 100, "fewer than 8 launches at 256x8x256"},
		"far more slots":  {50, 60_000, 100, "no launch of about 60000 slots at 256x8x256"},
		"far fewer slots": {50, 10, 100, "no launch of about 10 slots at 256x8x256"},
		"too few in all":  {8, 5000, 4, "too few for an interval"},
	} {
		r, _ := heard(3, c.byAdvice, 0)
		r.Advise(start, "w", "q", advice(wide, 65536))
		for i := range c.against {
			r.Launched(start.Add(time.Duration(i)*time.Millisecond), "w", "q", ran(narrow, c.slots, 1000))
		}
		q := r.Report().Queues[0]
		if q.Cost != nil || !strings.Contains(q.Refused, c.want) || !strings.Contains(r.Report().String(), "is not known: ") {
			t.Errorf("%s: %+v, refused %q", name, q.Cost, q.Refused)
		}
	}
}

// A launch of more slots than the advice allows is several launches by it, each with its own start.
func TestLaunchesThatTheAdviceSplitsDiffer(t *testing.T) {
	r := newRecorder()
	for i := range 200 {
		at := start.Add(time.Duration(i) * time.Millisecond)
		r.Advise(at, "w", "q", advice(wide, 1000))
		slots := uint64(500 + 5*(i%100))
		if i >= 100 {
			slots = 4 * 900
		}
		r.Launched(at, "w", "q", ran(wide, slots, 50_000+10*slots))
	}
	q := r.Report().Queues[0]
	if c := q.Cost; q.Different != 100 || c == nil || c.Ns > -14.9e6 || c.Ns < -15.1e6 { // three starts of 50 µs more, a hundred times
		t.Errorf("%d differ, cost %+v, refused %q", q.Different, c, q.Refused)
	}
	if !strings.Contains(q.Episodes[0].Advice, "at most 1000 slots a launch") {
		t.Errorf("%+v", q.Episodes)
	}
}

func TestAdviceEndsAndLaunchesWithoutMeasureAreCounted(t *testing.T) {
	r := newRecorder()
	r.Launched(start, "w", "q", ran(wide, 10, 1000)) // before any advice
	r.Advise(start, "w", "q", advice(wide, 0))
	r.Launched(start.Add(2*time.Second), "w", "q", ran(wide, 10, 1000))
	r.Launched(start.Add(2001*time.Millisecond), "w", "q", ran(wide, 10, 1000)) // it has expired
	r.Advise(start.Add(3*time.Second), "w", "q", advice(wide, 0))
	r.Advise(start.Add(3*time.Second), "w", "q", &telemetry.Recommendation{Error: "no device limits", ValidForMs: 2000})
	r.Launched(start.Add(3*time.Second), "w", "q", ran(wide, 10, 1000))
	for _, l := range []*telemetry.Launch{ran(telemetry.Geometry{}, 10, 1000), ran(wide, 0, 1000), ran(wide, 10, 0), {Status: telemetry.LaunchFailed}} {
		r.Launched(start, "w", "q", l)
	}
	if q := r.Report().Queues[0]; q.Launches != 4 || q.Unadvised != 3 || q.Unmeasured != 4 || q.Different != 0 || q.Cost != nil || q.Refused != "" {
		t.Errorf("%+v", q)
	}
	if got := newRecorder().Report().String(); !strings.Contains(got, "no launch was reported") {
		t.Error(got)
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	r := newRecorder()
	for i := range maxLaunches + 5 {
		r.Launched(start.Add(time.Duration(i)), "w", "q", ran(wide, 10, 1000))
	}
	for i := range maxQueues + 5 {
		r.Advise(start, "w", "q"+time.Duration(i).String(), advice(wide, 0))
	}
	if len(r.queues) != maxQueues || len(r.queues["w.q"].launches) != maxLaunches || r.Left != 5+6 {
		t.Errorf("%d queues, %d launches, %d left", len(r.queues), len(r.queues["w.q"].launches), r.Left)
	}
}

// The picture has a queue's launches above the advice for them, and is bounded however much was heard.
func TestThePictureShowsWhatRanBesideTheAdvice(t *testing.T) {
	r, _ := heard(1, 200, 100)
	picture := r.Picture()
	for what, want := range map[string]int{">w.q</text>": 1, ">advice</text>": 1, "<title>256x8x256, interpreter, wave</title>": 2, "<title>64x4x64, interpreter, wave</title>": 1} {
		if got := strings.Count(picture, what); got != want {
			t.Errorf("%d times %s, want %d in\n%s", got, what, want, picture)
		}
	}
	many := newRecorder()
	for i := range 60_000 {
		queue := "q" + strconv.Itoa(i%30)
		many.Launched(start.Add(time.Duration(i)*time.Millisecond), "w", queue, ran([]telemetry.Geometry{wide, narrow}[i/30%2], 1000, 1000))
	}
	if picture := many.Picture(); len(picture) > 20*2*pictureWide*2*220 || !strings.Contains(picture, "10 queues with fewer differences not drawn") {
		t.Errorf("%d bytes", len(picture))
	}
	if picture := newRecorder().Picture(); !strings.HasSuffix(picture, "</svg>\n") {
		t.Errorf("of nothing: %s", picture)
	}
}
