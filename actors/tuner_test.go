package actors

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
	"ringmaster/telemetry/complaint"
)

var tunedLimits = policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 8}

const tunedSlots = 50_000

// simulatedNs is the time of a launch on a simulated device, in microseconds where launchers are
// a thousand times slower: few lanes are slow, workgroups and tickets cost their start, large chunks leave a tail.
func simulatedNs(g telemetry.Geometry) float64 {
	lanes := math.Min(float64(g.WorkgroupSizeX)*float64(g.Groups), 2048)
	return 20_000 + 700*float64(g.Groups) + 60*tunedSlots/float64(g.ClaimChunk) + tunedSlots*900/lanes +
		float64(g.ClaimChunk)*40/float64(g.WorkgroupSizeX) + 30*float64(g.WorkgroupSizeX)
}

// launcher is a queue whose launches are simulated: by an engine here, or by a
// worker elsewhere that follows what is recommended and reports over NATS.
type launcher struct {
	t       *testing.T
	s       *System
	engine  *heldEngine // nil: elsewhere
	seq     uint64
	speed   float64
	random  *rand.Rand
	bare    bool          // reports name no kernel
	pause   time.Duration // of the device between two launches
	settled []telemetry.Geometry
}

func newLauncher(t *testing.T, local bool, adjust func(*Config)) *launcher {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Incarnation = 99
	if adjust != nil {
		adjust(&cfg)
	}
	s, err := New(cfg, newCountingPublisher())
	must(t, err)
	l := &launcher{t: t, s: s, speed: 1000, random: rand.New(rand.NewPCG(3, 4))}
	if local {
		l.engine = &heldEngine{}
		err = s.AttachEngine("gpu0", tunedLimits, 0, l.engine)
	} else {
		w := workerRecord(5, 1)
		w.Worker.MaxWorkgroupSizeX, w.Worker.MaxWorkgroupsPerDimension = tunedLimits.MaxWorkgroupSizeX, tunedLimits.MaxWorkgroupsPerDimension
		w.Worker.MaxInvocationsPerWorkgroup, w.Worker.SubgroupSize = tunedLimits.MaxInvocationsPerWorkgroup, tunedLimits.SubgroupSize
		w.Worker.Vendor, w.Worker.Renderer, w.Worker.Driver = "Acme", "Simulator 1", "1.0"
		w.Worker.Has |= telemetry.HasSubgroupSize | telemetry.HasVendor | telemetry.HasRenderer | telemetry.HasDriver
		err = s.Announce("gpu0", w)
	}
	must(t, err)
	l.decide()
	if local {
		work := telemetry.Work{Batch: "b", Slots: make([]telemetry.Slot, 1)}
		s.Submit("gpu0", "gpu0", "q", &work, 0, func(telemetry.Outcome, error) {})
		synctest.Wait()
	}
	return l
}

// decide has the queue decide once more.
func (l *launcher) decide() {
	l.t.Helper()
	l.seq++
	r := &telemetry.Record{
		Header: telemetry.Header{Kind: telemetry.KindQueue, Incarnation: 7, Seq: l.seq},
		Queue:  telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: tunedSlots},
	}
	if err := l.s.Ingest("gpu0", "q", r, time.Now(), ""); err != nil {
		l.t.Fatal(err)
	}
	synctest.Wait()
}

// launch runs the next launch at the newest recommendation.
func (l *launcher) launch() telemetry.Recommendation {
	l.t.Helper()
	rec, _ := l.s.Latest("gpu0", "q")
	g := telemetry.Geometry{WorkgroupSizeX: rec.WorkgroupSizeX, Groups: rec.Groups, ClaimChunk: rec.ClaimChunk}
	if l.engine != nil {
		g = WireGeometry(l.engine.held[0].order.Plan.Geometry())
	}
	ns := uint64(simulatedNs(g) * l.speed * math.Exp(0.03*l.random.NormFloat64()))
	launch := telemetry.Launch{
		Launch: l.seq, Decision: rec.Decision, Applied: g, Recommended: g, AppliedDepth: rec.BatchDepth,
		Executed: tunedSlots, ElapsedNs: ns, WallNs: ns + 5000, TimeSource: telemetry.TimeQuery,
		Fingerprint: bytes.Repeat([]byte{1}, telemetry.FingerprintSize),
		Has:         telemetry.HasElapsedNs | telemetry.HasTimeSource,
	}
	if l.bare {
		launch.Fingerprint = nil
	}
	l.settled = append(l.settled, g)
	time.Sleep(time.Duration(ns) + l.pause)
	if l.engine != nil {
		settle := l.engine.held[0].settle
		l.engine.held = l.engine.held[1:]
		settle(Report{Launch: launch, Pending: tunedSlots})
	} else {
		r := &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindLaunch, Incarnation: 8, Seq: l.seq}, Launch: launch}
		if err := l.s.Ingest("gpu0", "q", r, time.Now(), ""); err != nil {
			l.t.Fatal(err)
		}
	}
	synctest.Wait()
	l.decide()
	return rec
}

func (l *launcher) launches(n int) (last telemetry.Recommendation) {
	l.t.Helper()
	for range n {
		last = l.launch()
	}
	return last
}

// manyLaunches are enough for a queue that keeps its device busy to find a better geometry.
const manyLaunches = 10_000

// asked is what decisions are asked for without a look.
func (l *launcher) asked() policy.Geometry {
	view := l.session().View()
	g, _ := view.For(tunedSlots, session.NoLook)
	return g
}

// session is the tuner actor's; the actors are at rest when a test looks.
func (l *launcher) session() *session.Session {
	return l.s.roster[0].tuner.session
}

// heldEngine holds its launches until it is told what came of them, the first
// first.
type heldEngine struct {
	plainEngine
	held []heldLaunch
}

type heldLaunch struct {
	order  Order
	settle func(Report)
}

func (e *heldEngine) Submit(string, *telemetry.Work) error { return nil }
func (e *heldEngine) Launch(o Order, settled func(Report)) {
	e.held = append(e.held, heldLaunch{o, settled})
}
func (e *heldEngine) DeviceIdentity() string { return "Acme; Simulator 1; 1.0" }

func everyLauncher(t *testing.T, test func(t *testing.T, local bool)) {
	for name, local := range map[string]bool{"its own engine": true, "a launcher elsewhere": false} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, local) }) })
	}
}

func TestTunedLaunchesBecomeTheRecommendation(t *testing.T) {
	everyLauncher(t, func(t *testing.T, local bool) {
		l := newLauncher(t, local, nil)
		defer l.s.Close()
		first := l.launch()
		rec := l.launches(manyLaunches)
		asked := l.asked()
		if rec.WorkgroupSizeX != asked.Width || rec.Groups != asked.Groups || rec.ClaimChunk != asked.Chunk {
			t.Errorf("recommended %dx%dx%d, the tuner asks for %+v", rec.WorkgroupSizeX, rec.Groups, rec.ClaimChunk, asked)
		}
		begin, end := l.settled[0], l.settled[len(l.settled)-1]
		if gain := simulatedNs(begin) / simulatedNs(end); gain < 1.1 {
			t.Errorf("from %+v to %+v: %.2f times as fast", begin, end, gain)
		}
		tuned := func(r telemetry.Recommendation) bool {
			for _, why := range r.Reasons {
				if why.Rule == policy.RuleTuned.String() {
					return true
				}
			}
			return false
		}
		if tuned(first) || !tuned(rec) {
			t.Errorf("reasons before %v and after %v", first.Reasons, rec.Reasons)
		}
	})
}

func TestSteadyLoadKeepsTheRecommendationAndAStepIsNoticed(t *testing.T) {
	everyLauncher(t, func(t *testing.T, local bool) {
		memory := &countingMemory{}
		l := newLauncher(t, local, func(c *Config) { c.TunerMemory = memory })
		defer l.s.Close()
		l.launches(manyLaunches)
		changes, before := 0, l.settled[len(l.settled)-1]
		for range 1000 {
			l.launch()
			if now := l.settled[len(l.settled)-1]; now != before {
				changes, before = changes+1, now
			}
		}
		if changes > 1 {
			t.Errorf("%d changes of geometry in 1,000 launches", changes)
		}
		l.speed *= 1.5
		stored := memory.stored
		for n := 0; memory.stored == stored; n++ {
			if n == 12 {
				t.Fatal("a step of cost is not noticed within 12 launches")
			}
			l.launch()
		}
	})
}

func TestRestartedSystemBeginsWithWhatWasLearned(t *testing.T) {
	everyLauncher(t, func(t *testing.T, local bool) {
		memory := &countingMemory{}
		l := newLauncher(t, local, func(c *Config) { c.TunerMemory = memory })
		learned := l.launches(manyLaunches)
		l.s.Close()
		again := newLauncher(t, local, func(c *Config) { c.TunerMemory = memory })
		defer again.s.Close()
		if rec := again.launches(20); rec.WorkgroupSizeX != learned.WorkgroupSizeX || rec.Groups != learned.Groups || rec.ClaimChunk != learned.ClaimChunk {
			t.Errorf("learned %dx%dx%d, begins with %dx%dx%d", learned.WorkgroupSizeX, learned.Groups, learned.ClaimChunk,
				rec.WorkgroupSizeX, rec.Groups, rec.ClaimChunk)
		}
	})
}

// apartMemory has a memory for each worker elsewhere.
type apartMemory struct {
	countingMemory
	elsewhere map[string]*countingMemory
}

func (m *apartMemory) Elsewhere(worker string) session.Memory {
	m.elsewhere[worker] = &countingMemory{}
	return m.elsewhere[worker]
}

func TestWhatWorkersElsewhereReportIsRememberedApart(t *testing.T) {
	everyLauncher(t, func(t *testing.T, local bool) {
		memory := &apartMemory{elsewhere: make(map[string]*countingMemory)}
		l := newLauncher(t, local, func(c *Config) { c.TunerMemory, c.RemoteMemory = memory, memory.Elsewhere })
		l.launches(manyLaunches)
		l.s.Close()
		if here, there := memory.stored, memory.elsewhere["gpu0"].stored; local != (here > 0) || local != (there == 0) {
			t.Errorf("remembered %d times here and %d times elsewhere", here, there)
		}
	})
}

func TestReportsThatCannotBeAreCountedAndWarnedOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		l := newLauncher(t, false, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		defer l.s.Close()
		l.launches(3)
		l.bare = true
		l.launches(20)
		if n := l.s.Stats().ReportsUntuned; n != 20 {
			t.Errorf("%d reports counted, want 20", n)
		}
		if n := strings.Count(log.String(), "not used for tuning"); n != 1 {
			t.Errorf("%d warnings for 20 reports:\n%s", n, log.String())
		}
		time.Sleep(complaint.Pause)
		l.launch()
		if !strings.Contains(log.String(), "suppressed=19") {
			t.Errorf("the second warning does not count what was suppressed:\n%s", log.String())
		}
	})
}

func TestAutotunerOffLeavesTheGeometryToThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLauncher(t, true, func(c *Config) { c.Autotuner = session.Off })
		defer l.s.Close()
		l.launches(30)
		for _, g := range l.settled {
			if g != l.settled[0] {
				t.Fatalf("%+v after %+v", g, l.settled[0])
			}
		}
	})
}

// countingMemory remembers in a map. The tests look at it while the actors rest.
type countingMemory struct {
	entries map[cache.Key]cache.Entry
	stored  int
}

func (m *countingMemory) Recall(_ string, key cache.Key, after uint64) (cache.Entry, uint64, bool) {
	e, ok := m.entries[key]
	return e, 1, ok && after == 0
}

func (m *countingMemory) Remember(_ string, e cache.Entry) {
	if m.entries == nil {
		m.entries = make(map[cache.Key]cache.Entry)
	}
	m.entries[e.Key] = e
	m.stored++
}

// Whoever can report launches can name any number of queues and kernels.
func TestTunersForLaunchesElsewhereAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const kernels, queues = session.MaxTuners, workerTuners/session.MaxTuners + 10
		l := newLauncher(t, false, func(c *Config) { c.idleAfter = 5 * c.heartbeat; unpaced(c) })
		defer l.s.Close()
		report := func(queue, kernel int) {
			l.seq++
			launch := telemetry.Launch{
				Launch: l.seq, Applied: telemetry.Geometry{WorkgroupSizeX: 64, Groups: 4, ClaimChunk: 64},
				Executed: 1000, ElapsedNs: 1e6, TimeSource: telemetry.TimeQuery, Has: telemetry.HasElapsedNs | telemetry.HasTimeSource,
				Fingerprint: bytes.Repeat([]byte{byte(kernel + 1)}, telemetry.FingerprintSize),
			}
			r := &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindLaunch, Incarnation: 8, Seq: l.seq}, Launch: launch}
			must(t, l.s.Ingest("gpu0", fmt.Sprintf("q%d", queue), r, time.Now(), ""))
		}
		for queue := range queues {
			for kernel := range kernels {
				report(queue, kernel)
			}
			synctest.Wait()
		}
		const over = kernels*queues - workerTuners
		if n := l.s.Stats().ReportsUntuned; n != over {
			t.Errorf("%d reports found no room, want %d", n, over)
		}
		time.Sleep(3 * l.s.cfg.idleAfter) // the queues are forgotten, and the worker
		synctest.Wait()
		must(t, l.s.Announce("gpu0", workerRecord(5, 1)))
		report(0, 0)
		synctest.Wait()
		if n := l.s.Stats().ReportsUntuned; n != over {
			t.Errorf("%d reports found no room after the queues were forgotten", n-over)
		}
		if n := l.s.room.Taken(); n != 1 {
			t.Errorf("%d tuners take room after the queues were forgotten, want 1", n)
		}
	})
}
