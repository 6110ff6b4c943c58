package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ringmaster/actors"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// testWalker is a job on a queue of actors that know the worker, or do not. publisher is theirs.
func testWalker(t *testing.T, publisher actors.Publisher, known bool) *graphWalker {
	cfg := actors.DefaultConfig()
	cfg.Incarnation = 3
	system, err := actors.New(cfg, publisher)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(system.Close)
	if known {
		if err := system.Announce("w", &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindWorker, Incarnation: 8, Seq: 1}, Worker: testWorker}); err != nil {
			t.Fatal(err)
		}
	}
	seq := uint64(0)
	return &graphWalker{
		graphAdvisor: &graphAdvisor{system: system, policy: &cfg.Policy, worker: "w", patience: clientPatience,
			publish: func(string, *telemetry.Graph) telemetry.Header {
				seq++
				return telemetry.Header{Incarnation: 3, Seq: seq}
			}},
		queue: "q", situation: frontier.Situation{Nodes: 1000, Edges: 16_000}, room: 1000, needs: frontier.Needs{Width: 64},
	}
}

func TestAJobTakesItsShapeFromTheDecisionOnItsFirstLevel(t *testing.T) {
	w := testWalker(t, nowhere{}, true)
	w.first = frontier.View{FrontierNodes: 1, FrontierEdges: 16, UnexploredEdges: 15_984}
	var err error
	if w.begun, err = w.ask(t.Context(), &w.first); err != nil {
		t.Fatal(err)
	}
	var job frontier.Job
	w.shape(&job)
	if job.Geometry != (frontier.Geometry{Width: 64}) || job.HitCapacity != 1000 || job.State.Topology != policy.TopologyNone || w.begun.Plan.Topology != policy.TopologySparse {
		t.Errorf("%+v", job)
	}
	// The next job begins in the state that this decision left, where memory is short with the workers that are left.
	w.memory = graphMemory{resident: 900_000, budget: 1_000_000}
	if w.begun, err = w.ask(t.Context(), &w.first); err != nil {
		t.Fatal(err)
	}
	w.shape(&job)
	if job.State.Topology != policy.TopologySparse || job.MemoryPressureBps != 9000 || job.Geometry.Groups == 0 || job.Geometry.Groups != w.begun.Plan.WorkerGroups {
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
	w := testWalker(t, nowhere{}, false)
	if _, err := w.ask(t.Context(), &view); !errors.Is(err, actors.ErrNoLimits) || !strings.Contains(err.Error(), "level 4: decision 1 of queue q has no plan") {
		t.Errorf("no limits: %v", err)
	}
	w = testWalker(t, nowhere{}, true)
	w.memory = graphMemory{resident: 1000, budget: 999}
	if _, err := w.ask(t.Context(), &view); err == nil || !strings.Contains(err.Error(), "has no plan: plan needs") {
		t.Errorf("no room: %v", err)
	}
	busy := stuck{wait: make(chan struct{})}
	w = testWalker(t, busy, true)
	w.patience = time.Millisecond
	if _, err := w.ask(t.Context(), &view); err == nil || !strings.Contains(err.Error(), "level 4: queue q has not decided within 1ms") {
		t.Errorf("late: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w.patience = time.Hour
	if _, err := w.ask(ended, &view); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	close(busy.wait)
	w.system.Close()
	if _, err := w.ask(t.Context(), &view); !errors.Is(err, actors.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// A job whose queue cannot decide runs on: what it tells is folded, and nobody is waited for.
func TestAJobOnTheDeviceWaitsForNoActor(t *testing.T) {
	busy := stuck{wait: make(chan struct{})}
	w := testWalker(t, busy, true)
	var job frontier.Job
	finish := w.stream(&job)
	for level := range uint32(10_000) {
		job.Observe([]frontier.Level{{View: frontier.View{Level: level, FrontierNodes: 1 + level%100, FrontierEdges: 50}, Requeued: 1}})
	}
	finish()
	if w.fresh || w.hits != (graphHits{}) || w.graphAdvisor.hits["q"].requeued != 10_000 {
		t.Errorf("the last level is not told: fresh %t, %+v", w.fresh, w.graphAdvisor.hits)
	}
	close(busy.wait)
	if _, err := w.ask(t.Context(), &frontier.View{FrontierNodes: 1}); err != nil {
		t.Fatal(err)
	}
	if st := w.system.Stats(); st.Decisions > 20 || st.Folded == 0 && st.Records > 3 {
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
	w := testWalker(t, nowhere{}, true)
	sum := uint64(0)
	w.publish = func(_ string, g *telemetry.Graph) telemetry.Header {
		sum = g.HitCount
		return telemetry.Header{Incarnation: 3}
	}
	post := func(queue int) {
		t.Helper()
		if err := w.post(fmt.Sprint("q", queue), actors.Walk{}, graphHits{found: 2}); err != nil {
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
	if len(w.graphAdvisor.hits) > maxCountedQueues {
		t.Errorf("%d queues are counted", len(w.graphAdvisor.hits))
	}
}
