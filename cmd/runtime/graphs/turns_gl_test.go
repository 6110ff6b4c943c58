//go:build cgo

package graphs

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"ringmaster/glcompute"
	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

func TestLaunchesRunBetweenTheSlicesOfAnUpload(t *testing.T) {
	s := newRingStore(t, 0)
	launched := 0
	s.turn = func() {
		if s.mu.TryLock() { // nobody waits for the device with the mutex
			s.mu.Unlock()
		} else {
			t.Error("the store is locked while the device is waited for")
		}
		s.launch(t)
		launched++
	}
	if err := s.load(t, "q", "g", "uniform:18:16"); err != nil {
		t.Fatal(err)
	}
	if launched < 6 { // 34 MB of targets
		t.Errorf("%d launches while the graph was uploaded", launched)
	}
	s.turn = func() {}
	if err := s.search(t.Context(), "q", "g"); err != nil {
		t.Error(err)
	}
}

// The context beside the device is real; it only waits before it compiles, as a slow driver would.
type slowBuilder struct {
	*glcompute.Device
	compiling chan struct{} // has a token for each kernel of a graph job that is compiled
	wait      chan struct{} // closed when compiling may go on
}

func (b *slowBuilder) CompileCompute(source string) (gpu.Program, error) {
	if strings.Contains(source, "BIND_OUT_OFFSETS") {
		b.compiling <- struct{}{}
		<-b.wait
	}
	return b.Device.CompileCompute(source)
}

func TestLaunchesRunWhileTheKernelsOfARunAreBuilt(t *testing.T) {
	builder := &slowBuilder{compiling: make(chan struct{}, 64), wait: make(chan struct{})}
	s := newRingStore(t, 0, func(cfg *megakernel.Config) {
		cfg.Beside = func(dev gpu.Device) (_ gpu.Device, err error) {
			builder.Device, err = dev.(*glcompute.Device).OpenShared()
			return builder, err
		}
	})
	if err := s.load(t, "q", "g", "grid:9x9"); err != nil {
		t.Fatal(err)
	}
	s.launch(t) // has its kernel from now on
	ran := make(chan error, 1)
	go func() { ran <- s.search(t.Context(), "q", "g") }()
	<-builder.compiling
	for range 3 {
		s.launch(t)
	}
	select {
	case err := <-ran:
		t.Errorf("the run ended without its kernels: %v", err)
	default:
	}
	close(builder.wait)
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

// waits waits until so many runs of a queue wait or are under way.
func (s *ringStore) waits(queue string, runs int) {
	for n := 0; n < runs; {
		s.mu.Lock()
		n = s.entered[queue]
		s.mu.Unlock()
	}
}

func TestAnUploadGoesOnBesideARunAndTheGraphOfTheRunIsFreedBehindIt(t *testing.T) {
	s := newRingStore(t, 0)
	for _, name := range []string{"long", "other"} {
		if err := s.load(t, "q", name, "path:3000"); err != nil {
			t.Fatal(err)
		}
	}
	waiting := make(chan error, 1)
	var walked *storedGraph
	turns := 0
	s.turn = func() {
		if turns++; turns != 4 {
			return
		}
		s.turn = func() {}
		if err := s.load(t, "q", "new", "grid:9x9"); err != nil {
			t.Error(err)
		}
		if err := s.drop(graphKey{"q", "other"}, true); err != nil {
			t.Error(err)
		}
		if got := s.names("q"); got != "long new" {
			t.Errorf("listed during a run: %s", got)
		}
		go func() { waiting <- s.search(t.Context(), "q", "long") }()
		s.waits("q", 2)
		walked = s.runs["q"].graph
		if err := s.drop(graphKey{"q", "long"}, true); err != nil {
			t.Error(err)
		}
		if got := s.names("q"); got != "new" || s.used() != walked.bytes()+gridBytes(9, 9) {
			t.Errorf("while the graph of a run is dropped, %s are listed and take %d bytes", got, s.used())
		}
	}
	if err := s.search(t.Context(), "q", "long"); !errors.Is(err, natsio.ErrNoGraph) || !strings.Contains(err.Error(), "dropped") {
		t.Errorf("a run on a graph that was dropped: %v", err)
	}
	if err := <-waiting; !errors.Is(err, natsio.ErrNoGraph) {
		t.Errorf("one that waited: %v", err)
	}
	if s.used() != gridBytes(9, 9) {
		t.Errorf("%d bytes are taken when the run is over", s.used())
	}
	if err := s.search(t.Context(), "q", "new"); err != nil {
		t.Error(err)
	}
}

func TestAGraphThatIsReplacedDuringARunOnItTakesItsPlaceBehindTheRun(t *testing.T) {
	s := newRingStore(t, 2*gridBytes(80, 80))
	if err := s.load(t, "q", "g", "grid:9x9"); err != nil {
		t.Fatal(err)
	}
	turns := 0
	s.turn = func() {
		if turns++; turns != 3 {
			return
		}
		s.turn = func() {}
		if err := s.load(t, "q", "g", "grid:80x80"); !errors.Is(err, natsio.ErrGraphBusy) {
			t.Errorf("a graph for which there is no room beside the run: %v", err)
		}
		if err := s.load(t, "q", "g", "path:30"); err != nil {
			t.Error(err)
		}
	}
	if err := s.search(t.Context(), "q", "g"); err != nil {
		t.Errorf("the run on what was replaced: %v", err)
	}
	if got := s.listed("q"); len(got) != 1 || got[0].Nodes != 30 || s.used() != got[0].Bytes {
		t.Errorf("%+v, %d bytes are taken", got, s.used())
	}
}

func TestRunsWaitForTheirTurnUpToABound(t *testing.T) {
	s := newRingStore(t, 0)
	for _, queue := range []string{"q", "p"} {
		if err := s.load(t, queue, "g", "grid:9x9"); err != nil {
			t.Fatal(err)
		}
	}
	const first, second = maxGraphRuns / 4, (maxGraphRuns - maxGraphRuns/4) / 4 // runs of the queues
	ended := make(chan error, maxGraphRuns)
	stopped, stop := context.WithCancelCause(t.Context())
	var begun atomic.Bool
	s.turn = func() {
		if !begun.CompareAndSwap(false, true) {
			return
		}
		go func() { ended <- s.search(stopped, "q", "g") }()
		for range first - 2 {
			go func() { ended <- s.search(t.Context(), "q", "g") }()
		}
		s.waits("q", first)
		if err := s.search(t.Context(), "q", "g"); !errors.Is(err, natsio.ErrGraphBusy) {
			t.Errorf("one run of a queue too many: %v", err)
		}
		stop(natsio.ErrGraphCanceled)
		if err := <-ended; !errors.Is(err, natsio.ErrGraphCanceled) {
			t.Errorf("a run that was canceled while it waited: %v", err)
		}
	}
	if err := s.search(t.Context(), "q", "g"); err != nil {
		t.Error(err)
	}
	for range first - 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// A run of another queue begins beside eight long ones of one queue, and takes turns with the one of them that is under
// way: it is over while that one is at its first levels of four hundred.
func TestARunTakesTurnsWithTheLongRunsOfAnotherQueue(t *testing.T) {
	s := newRingStore(t, 0)
	for queue, spec := range map[string]string{"long": "path:400", "victim": "path:10"} {
		if err := s.load(t, queue, "g", spec); err != nil {
			t.Fatal(err)
		}
	}
	run := func(queue string) error { // a turn or two for each level
		return s.Answer(t.Context(), queue, &telemetry.GraphRequest{Ask: telemetry.GraphRun, Name: "g", Algorithm: "bfs", DecideHost: true, Data: make([]byte, 8)})
	}
	underWay := make(chan struct{})
	var turns atomic.Int64
	s.turn = func() {
		if turns.Add(1) == 10 {
			close(underWay)
		}
	}
	const long = 8
	ended := make(chan error, long)
	for range long {
		go func() { ended <- run("long") }()
	}
	<-underWay
	s.waits("long", long)
	if err := run("victim"); err != nil {
		t.Error(err)
	}
	s.mu.Lock()
	if n := s.entered["long"]; n != long {
		t.Errorf("%d of the long runs were over before it", long-n)
	}
	s.mu.Unlock()
	for range long {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// What has begun, who waits, and in which order, without a device.
func TestRunsOfTheQueuesBeginByTurns(t *testing.T) {
	s := newStore(Config{Budget: 100})
	enter := func(queue string, room uint64) *waitingRun {
		w, err := s.enter(graphKey{queue, "g"}, room, func(error) {})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	expect := func(what string, begun bool, runs ...*waitingRun) {
		t.Helper()
		for i, w := range runs {
			select {
			case <-w.begun:
				if !begun {
					t.Errorf("%s: run %d has begun", what, i)
				}
			default:
				if begun {
					t.Errorf("%s: run %d has not begun", what, i)
				}
			}
		}
	}
	end := func(w *waitingRun) {
		if err := s.end(&w.running); err != nil {
			t.Error(err)
		}
	}
	a, a2, a3 := enter("a", 40), enter("a", 40), enter("a", 40)
	b := enter("b", 60)
	expect("one of each queue", true, a, b)
	expect("a second of a queue", false, a2, a3)
	large, small := enter("c", 200), enter("d", 1)
	expect("no room", false, large, small)
	end(a)
	expect("who has had a run, and who comes behind what has no room,", false, a2, small)
	end(b)
	expect("what is larger than the budget, alone,", true, large)
	if large.room != 100 {
		t.Errorf("it may take %d bytes", large.room)
	}
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(natsio.ErrGraphCanceled)
	if err := s.begin(gone, a2); !errors.Is(err, natsio.ErrGraphCanceled) {
		t.Errorf("a run that was canceled while it waited: %v", err)
	}
	end(large)
	expect("the others", true, small, a3)
	end(small)
	end(a3)
	if len(s.runs)+len(s.line)+len(s.entered)+len(s.lastRun) != 0 {
		t.Errorf("left are %v, %v, %v, %v", s.runs, s.line, s.entered, s.lastRun)
	}
}
