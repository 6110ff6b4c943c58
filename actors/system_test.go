package actors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/complaint"
)

// must ends a test in which something has failed that it does not prove. Tests of rapid are tests, too.
func must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// countingPublisher counts, and confirms every done record.
type countingPublisher struct {
	recommended atomic.Uint64
	changed     chan struct{} // one token after a recommendation
	done        atomic.Uint64
}

func newCountingPublisher() *countingPublisher {
	return &countingPublisher{changed: make(chan struct{}, 1)}
}

func (p *countingPublisher) Recommend(string, string, *telemetry.Recommendation, []string) {
	p.recommended.Add(1)
	select {
	case p.changed <- struct{}{}:
	default:
	}
}
func (p *countingPublisher) Report(string, string, *telemetry.Launch) {}
func (p *countingPublisher) Done(_, _ string, _ *telemetry.Done, sent func(error)) {
	p.done.Add(1)
	sent(nil)
}

// promptEngine runs whatever is pending in one launch, on a goroutine of its own.
type promptEngine struct {
	plainEngine
	mu      sync.Mutex
	pending map[string][]telemetry.Done
}

func (e *promptEngine) Submit(queue string, w *telemetry.Work) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pending[queue] = append(e.pending[queue], telemetry.Done{Batch: w.Batch, Executed: uint32(len(w.Slots))})
	return nil
}

func (e *promptEngine) Launch(o Order, settled func(Report)) {
	go func() {
		e.mu.Lock()
		r := Report{Done: e.pending[o.Queue], Launch: telemetry.Launch{Applied: WireGeometry(o.Plan.Geometry()), ElapsedNs: 1000}}
		e.pending[o.Queue] = nil
		e.mu.Unlock()
		for _, d := range r.Done {
			r.Launch.Executed += uint64(d.Executed)
		}
		settled(r)
	}()
}

var testLimits = policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65535, MaxInvocationsPerWorkgroup: 1024}

func newSystem(t testing.TB, pub Publisher) *System {
	cfg := DefaultConfig()
	cfg.Incarnation = 99
	s, err := New(cfg, pub)
	must(t, err)
	return s
}

// Many submitters and publishers at once, outside of fake time: every batch is
// settled exactly once, and the books balance.
func TestEveryBatchIsSettledOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	pub := newCountingPublisher()
	s := newSystem(t, pub)
	defer s.Close()
	must(t, s.AttachEngine("gpu0", testLimits, 0, &promptEngine{pending: make(map[string][]telemetry.Done)}))
	const queues, batches, slots = 4, 200, 10
	outcomes := make([][]atomic.Uint32, queues)
	var settled, submitters sync.WaitGroup
	for q := range queues {
		outcomes[q] = make([]atomic.Uint32, batches)
		settled.Add(batches)
		submitters.Go(func() {
			work := telemetry.Work{Slots: make([]telemetry.Slot, slots)}
			name := fmt.Sprint("q", q)
			for b := range batches {
				if err := s.Ingest("gpu0", name, queueRecord(7, uint64(b+1), uint32(b)), time.Now(), ""); err != nil {
					t.Error(err)
				}
				work.Batch = fmt.Sprint("b", b)
				s.Submit("gpu0", "gpu0", name, &work, 0, func(o telemetry.Outcome, err error) {
					if o != telemetry.OutcomeDone || err != nil {
						t.Errorf("batch %d: outcome %d, %v", b, o, err)
					}
					outcomes[q][b].Add(1)
					settled.Done()
				})
			}
		})
	}
	submitters.Wait()
	settled.Wait()
	must(t, s.Drain(context.Background()))
	for q := range queues {
		for b := range batches {
			if n := outcomes[q][b].Load(); n != 1 {
				t.Errorf("batch %d of queue %d settled %d times", b, q, n)
			}
		}
	}
	st := s.Stats()
	if want := uint64(queues * batches * slots); st.SlotsSubmitted != want || st.SlotsExecuted != want || st.SlotsPending != 0 {
		t.Errorf("stats %+v, want %d slots submitted and executed", st, want)
	}
	if st.DeadLetters != 0 || st.Restarts != 0 {
		t.Errorf("%d dead letters, %d restarts", st.DeadLetters, st.Restarts)
	}
	if rows := s.Queues(); len(rows) != queues || rows[0].Queue != "q0" || !rows[0].Decided {
		t.Errorf("rows %+v", rows)
	}
}

func TestCloseLeavesNothingRunning(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newSystem(t, newCountingPublisher())
	for i := range 50 {
		must(t, s.Ingest(fmt.Sprint("gpu", i%5), fmt.Sprint("q", i), queueRecord(7, 1, 10), time.Now(), ""))
	}
	s.Close()
	s.Close() // a second time does nothing
	if err := s.Ingest("gpu0", "q0", queueRecord(7, 2, 10), time.Now(), ""); !errors.Is(err, ErrClosed) {
		t.Errorf("record after Close: %v", err)
	}
}

func TestUnknownNamesAndKindsAreRefused(t *testing.T) {
	s := newSystem(t, newCountingPublisher())
	defer s.Close()
	if err := s.Ingest("gpu 0", "q", queueRecord(7, 1, 10), time.Now(), ""); !errors.Is(err, ErrName) {
		t.Errorf("worker with a space: %v", err)
	}
	if err := s.Ingest("gpu0", "a.b", queueRecord(7, 1, 10), time.Now(), ""); !errors.Is(err, ErrName) {
		t.Errorf("queue with a dot: %v", err)
	}
	if err := s.Ingest("gpu0", "q", &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindDone}}, time.Now(), ""); !errors.Is(err, ErrKind) {
		t.Errorf("done record: %v", err)
	}
	if err := s.Announce("gpu0", queueRecord(7, 1, 10)); !errors.Is(err, ErrKind) {
		t.Errorf("queue record as announcement: %v", err)
	}
	if err := s.AttachEngine("gpu0", testLimits, 0, &promptEngine{}); err != nil {
		t.Error(err)
	}
	if err := s.AttachEngine("gpu0", testLimits, 0, &promptEngine{}); !errors.Is(err, ErrAttached) {
		t.Errorf("second engine: %v", err)
	}
	if st := s.Stats(); st.RecordsRefused != 4 || st.Queues != 0 {
		t.Errorf("stats %+v", st)
	}
}

func TestASecondProcessOfALocalWorkerIsSaidOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		cfg := DefaultConfig()
		cfg.Incarnation, cfg.Logger = 99, slog.New(slog.NewTextHandler(&log, nil))
		s, err := New(cfg, newCountingPublisher())
		must(t, err)
		defer s.Close()
		must(t, s.AttachEngine("gpu0", testLimits, 0, &promptEngine{}))
		said := func(worker string, incarnation, seq uint64) int {
			before := strings.Count(log.String(), "another process announces itself")
			if err := s.Announce(worker, workerRecord(incarnation, seq)); err != nil {
				t.Error(err)
			}
			return strings.Count(log.String(), "another process announces itself") - before
		}
		if own, remote := said("gpu0", 99, 1), said("gpu1", 5, 1); own != 0 || remote != 0 {
			t.Errorf("of its own announcement it says %d, of another worker's %d", own, remote)
		}
		if first, again := said("gpu0", 5, 1), said("gpu0", 6, 1); first != 1 || again != 0 {
			t.Errorf("said %d times, and %d more at once", first, again)
		}
		time.Sleep(complaint.Pause)
		if later := said("gpu0", 5+2, 1); later != 1 || !strings.Contains(log.String(), "suppressed=1") {
			t.Errorf("a minute later %d times: %s", later, log.String())
		}
	})
}

// The input of a decision is all it depended on: replaying it gives the plan
// and the state that the actors came to.
func TestDecisionInputReplays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := DefaultConfig()
		cfg.Incarnation = 99
		var inputs []DecisionInput
		cfg.OnDecision = func(d DecisionInput) { inputs = append(inputs, d) }
		s, err := New(cfg, newCountingPublisher())
		must(t, err)
		defer s.Close()
		must(t, s.AttachEngine("gpu0", testLimits, 1<<20, &promptEngine{pending: make(map[string][]telemetry.Done)}))
		for seq := uint64(1); seq < 60; seq++ {
			r := queueRecord(7, seq, uint32(seq*seq*37%9000))
			if seq%3 == 0 {
				r = graphRecord(7, seq, 5000)
				r.Graph.Has |= telemetry.HasFrontierDensityBps
				r.Graph.FrontierDensityBps = uint16(seq * 1234 % 10000)
			}
			must(t, s.Ingest("gpu0", "q", r, time.Now(), ""))
			synctest.Wait()
		}
		if len(inputs) != 59 {
			t.Fatalf("%d decisions for 59 records", len(inputs))
		}
		for i, in := range inputs {
			_, after, err := policy.Decide(&cfg.Policy, &in.Request, in.Before)
			if after != in.After || (err == nil) != (in.Err == nil) {
				t.Errorf("decision %d: after %+v (%v), replayed %+v (%v)", in.Decision, in.After, in.Err, after, err)
			}
			if i > 0 && in.Before != inputs[i-1].After {
				t.Errorf("decision %d starts from %+v, not from %+v", in.Decision, in.Before, inputs[i-1].After)
			}
		}
	})
}

func TestRecommendationsSayHowLongTheyHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t, newCountingPublisher())
		defer s.Close()
		if _, ok := s.Latest("gpu0", "q"); ok {
			t.Error("a recommendation for an unknown queue")
		}
		must(t, s.Ingest("gpu0", "q", queueRecord(7, 1, 10), time.Now(), ""))
		synctest.Wait()
		r, ok := s.Latest("gpu0", "q")
		if !ok || r.ValidForMs != 3000 || r.Decision != 1 || r.Heartbeat {
			t.Errorf("latest %+v, %t", r, ok)
		}
	})
}

// What a worker elsewhere says that its device is shapes the plans of its queues; one that says
// nothing, or only half, is planned for by its limits.
func TestUnitsOfAnAnnouncementShapeThePlan(t *testing.T) {
	const units, both = telemetry.HasUnits, telemetry.HasUnits | telemetry.HasUnitLanes
	for has, want := range map[telemetry.Presence]telemetry.Geometry{
		0:     {WorkgroupSizeX: 256, Groups: 16, ClaimChunk: 256},
		units: {WorkgroupSizeX: 256, Groups: 16, ClaimChunk: 256},
		both:  {WorkgroupSizeX: 128, Groups: 2112, ClaimChunk: 32},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSystem(t, newCountingPublisher())
			defer s.Close()
			w := workerRecord(5, 1)
			w.Worker.Has |= has
			w.Worker.Units, w.Worker.UnitLanes = 132, 2048
			must(t, s.Announce("gpu0", w))
			must(t, s.Ingest("gpu0", "q", queueRecord(7, 1, 4096), time.Now(), ""))
			synctest.Wait()
			r, _ := s.Latest("gpu0", "q")
			if got := (telemetry.Geometry{WorkgroupSizeX: r.WorkgroupSizeX, Groups: r.Groups, ClaimChunk: r.ClaimChunk}); got != want {
				t.Errorf("with fields %#x: %+v, want %+v", has, got, want)
			}
		})
	}
}

func TestConfigReportsEveryProblem(t *testing.T) {
	if err := func() error { c := DefaultConfig(); c.Incarnation = 1; return c.Validate() }(); err != nil {
		t.Errorf("the default configuration: %v", err)
	}
	bad := DefaultConfig()
	bad.MaxQueues, bad.Logger = 0, nil
	bad.Policy.MinHitCapacity = 0
	err := bad.Validate()
	for _, want := range []string{"incarnation", "queue limit", "logger", "min hit capacity"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of the %s in: %v", want, err)
		}
	}
	if _, err := New(bad, newCountingPublisher()); err == nil {
		t.Error("a system with a bad configuration")
	}
}
