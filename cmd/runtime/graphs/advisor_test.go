package graphs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ringmaster/actors"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// nowhere is a publisher that discards everything.
type nowhere struct{}

func (nowhere) Recommend(string, string, *telemetry.Recommendation, []string) {}
func (nowhere) Report(string, string, *telemetry.Launch)                      {}
func (nowhere) Done(_, _ string, _ *telemetry.Done, sent func(error))         { sent(nil) }

// patience bounds every wait of the tests. It is no part of what they prove.
const patience = 30 * time.Second

// newSystem is a system of actors that know the worker w, or do not.
func newSystem(t *testing.T, publisher actors.Publisher, known bool) *actors.System {
	t.Helper()
	cfg := actors.DefaultConfig()
	cfg.Incarnation = 3
	system, err := actors.New(cfg, publisher)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(system.Close)
	if known {
		err := system.Announce("w", &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindWorker, Incarnation: 8, Seq: 1}, Worker: telemetry.Worker{
			MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65535, MaxInvocationsPerWorkgroup: 1024,
			Has: telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension | telemetry.HasWorkerMaxInvocationsPerWorkgroup,
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return system
}

// numbered is a function that numbers graph records.
func numbered() func(string, *telemetry.Graph) telemetry.Header {
	var seq atomic.Uint64
	return func(string, *telemetry.Graph) telemetry.Header {
		return telemetry.Header{Incarnation: 3, Seq: seq.Add(1)}
	}
}

// testWalker is a job on a queue of actors that know the worker, or do not. publisher is theirs.
func testWalker(t *testing.T, publisher actors.Publisher, known bool) (*walker, *queueDesk) {
	a := &advisor{system: newSystem(t, publisher, known), worker: "w", patience: patience, publish: numbered()}
	d := a.desk("q")
	return &walker{desk: d, situation: frontier.Situation{Nodes: 1000, Edges: 16_000}, room: 1000, needs: frontier.Needs{Width: 64}}, d
}

func TestAJobTakesItsShapeFromTheDecisionOnItsFirstLevel(t *testing.T) {
	w, d := testWalker(t, nowhere{}, true)
	w.first = frontier.View{FrontierNodes: 1, FrontierEdges: 16, UnexploredEdges: 15_984}
	var err error
	if w.begun, err = d.ask(t.Context(), w, &w.first); err != nil {
		t.Fatal(err)
	}
	var job frontier.Job
	w.shape(&job)
	if job.Geometry != (policy.Geometry{Width: 64}) || job.HitCapacity != 1000 || job.State.Topology != policy.TopologyNone || w.begun.plan.Topology != policy.TopologySparse {
		t.Errorf("%+v", job)
	}
	// The next job begins in the state that this decision left, where memory is short with the workers that are left.
	w.memory = Memory{resident: 900_000, budget: 1_000_000}
	if w.begun, err = d.ask(t.Context(), w, &w.first); err != nil {
		t.Fatal(err)
	}
	w.shape(&job)
	if job.State.Topology != policy.TopologySparse || job.MemoryPressureBps != 9000 || job.Geometry.Groups == 0 || job.Geometry.Groups != w.begun.plan.WorkerGroups {
		t.Errorf("under pressure: %+v", job)
	}
}

// stuck is a publisher whose actors wait until it is let go.
type stuck struct {
	nowhere
	wait chan struct{}
}

func (s stuck) Recommend(string, string, *telemetry.Recommendation, []string) { <-s.wait }

func TestALevelWithoutADecisionSaysWhy(t *testing.T) {
	view := frontier.View{Level: 4, FrontierNodes: 10, FrontierEdges: 50}
	w, d := testWalker(t, nowhere{}, false)
	if _, err := d.ask(t.Context(), w, &view); !errors.Is(err, actors.ErrNoLimits) || !strings.Contains(err.Error(), "level 4: decision 1 of queue q has no plan") {
		t.Errorf("no limits: %v", err)
	}
	w, d = testWalker(t, nowhere{}, true)
	w.memory = Memory{resident: 1000, budget: 999}
	if _, err := d.ask(t.Context(), w, &view); err == nil || !strings.Contains(err.Error(), "has no plan: plan needs") {
		t.Errorf("no room: %v", err)
	}
	busy := stuck{wait: make(chan struct{})}
	w, d = testWalker(t, busy, true)
	d.patience = time.Millisecond
	if _, err := d.ask(t.Context(), w, &view); err == nil || !strings.Contains(err.Error(), "level 4: queue q has not decided within 1ms") {
		t.Errorf("late: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	d.patience = time.Hour
	if _, err := d.ask(ended, w, &view); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	close(busy.wait)
	d.system.Close()
	if _, err := d.ask(t.Context(), w, &view); !errors.Is(err, actors.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// A job whose queue cannot decide runs on: what it tells is folded, and nobody is waited for.
func TestAJobOnTheDeviceWaitsForNoActor(t *testing.T) {
	busy := stuck{wait: make(chan struct{})}
	w, d := testWalker(t, busy, true)
	var job frontier.Job
	finish := w.stream(&job)
	for level := range uint32(10_000) {
		job.Observe([]frontier.Level{{View: frontier.View{Level: level, FrontierNodes: 1 + level%100, FrontierEdges: 50}, Requeued: 1}})
	}
	finish()
	if w.fresh || w.hits != (hits{}) || d.advisor.hits["q"].requeued != 10_000 {
		t.Errorf("the last level is not told: fresh %t, %+v", w.fresh, d.advisor.hits)
	}
	close(busy.wait)
	if _, err := d.ask(t.Context(), w, &frontier.View{FrontierNodes: 1}); err != nil {
		t.Fatal(err)
	}
	if st := d.system.Stats(); st.Decisions > 20 || st.Folded == 0 && st.Records > 3 {
		t.Errorf("%+v", st)
	}
}

func TestARefusedRunSaysWhatWasTooMuch(t *testing.T) {
	late, cancel := context.WithTimeoutCause(t.Context(), 0, fmt.Errorf("%w: it took longer", natsio.ErrGraphRequest))
	defer cancel()
	<-late.Done()
	for want, err := range map[string]error{
		"it took longer": refusedRun(late, context.DeadlineExceeded),
		"a worker runs at most 131072: level 9: job has more levels": refusedRun(t.Context(), fmt.Errorf("level 9: %w", frontier.ErrLevels)),
		"the budget is 5": refusedRun(t.Context(), fmt.Errorf("the budget is 5: %w", frontier.ErrBudget)),
	} {
		if !errors.Is(err, natsio.ErrGraphRequest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	lost := errors.New("device lost")
	if err := refusedRun(t.Context(), lost); err != lost {
		t.Error(err)
	}
}

func TestHitsAreCountedForABoundedNumberOfQueues(t *testing.T) {
	_, d := testWalker(t, nowhere{}, true)
	sum := uint64(0)
	d.publish = func(_ string, g *telemetry.Graph) telemetry.Header {
		sum = g.HitCount
		return telemetry.Header{Incarnation: 3}
	}
	post := func(queue int) {
		t.Helper()
		if err := d.post(fmt.Sprint("q", queue), actors.Walk{}, hits{found: 2}); err != nil {
			t.Fatal(err)
		}
	}
	for queue := range maxCountedQueues {
		post(queue)
	}
	if post(7); sum != 4 {
		t.Errorf("%d hits of a queue that is counted, want 4", sum)
	}
	for queue := range 2 * maxCountedQueues {
		post(queue)
	}
	if len(d.advisor.hits) > maxCountedQueues {
		t.Errorf("%d queues are counted", len(d.advisor.hits))
	}
}
