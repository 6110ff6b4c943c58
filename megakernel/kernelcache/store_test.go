package kernelcache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestGetGoesOnWhileTheProgramIsBuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dev := newFake()
		dev.stopCompiling = make(chan struct{})
		w := openWorld(t, dev, true)
		defer w.close(t)
		for range 100 { // asking again does not build again
			if p, ok := w.Get("a"); ok {
				t.Fatalf("got %v before it is built", p)
			}
		}
		synctest.Wait()
		if st := w.Stats(); st.Building != 1 || st.Ready != 0 {
			t.Errorf("%+v", st)
		}
		dev.stopCompiling <- struct{}{}
		synctest.Wait()
		p, ok := w.Get("a")
		if !ok || p.Value != "a" || p.FromDisk || p.Fingerprint != fingerprint("source of a") {
			t.Fatalf("%+v, %v", p, ok)
		}
		if st := w.Stats(); st.Ready != 1 || st.Held != 1 || st.Built != 1 || st.Building != 0 {
			t.Errorf("%+v", st)
		}
		w.Release(p)
		if got := dev.sources(); len(got) != 1 {
			t.Errorf("compiled %v", got)
		}
	})
}

// TestProgramIsGivenOutOnlyAfterItsFirstDispatchIsDone: the warm-up is part of the
// build, up to the device's last word.
func TestProgramIsGivenOutOnlyAfterItsFirstDispatchIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dev := newFake()
		dev.stopFinishing = make(chan struct{})
		w := openWorld(t, dev, true)
		defer w.close(t)
		w.Get("a")
		synctest.Wait()
		if w.Ready("a") {
			t.Error("ready before its dispatch was finished")
		}
		dev.stopFinishing <- struct{}{}
		synctest.Wait()
		if !w.Ready("a") || !slices.Equal(dev.steps, []string{"compile", "adopt", "finish", "check"}) {
			t.Errorf("ready %v, steps %v", w.Ready("a"), dev.steps)
		}
	})
}

func TestMostUrgentIsBuiltFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dev := newFake()
		dev.stopCompiling = make(chan struct{})
		w := openWorld(t, dev, true)
		defer w.close(t)
		w.Get("first")
		synctest.Wait() // it is being built
		w.Prefetch("p1", "p2", "p3")
		w.Get("g1")
		w.Get("g2")
		w.Get("p3") // a launch wants what was prefetched
		w.Get("g1") // still
		go func() {
			if p, err := w.Wait(context.Background(), "w"); err != nil {
				t.Error(err)
			} else {
				w.Release(p)
			}
		}()
		synctest.Wait()
		close(dev.stopCompiling)
		synctest.Wait()
		want := "first w g1 p3 g2 p1 p2"
		if got := strings.ReplaceAll(strings.Join(dev.sources(), " "), "source of ", ""); got != want {
			t.Errorf("built %s, want %s", got, want)
		}
	})
}

func TestProgramInUseIsNeverEvicted(t *testing.T) {
	dev := newFake()
	w := openWorld(t, dev, false, func(c *Config) { c.Programs = 2 })
	defer w.close(t)
	a, err := w.Wait(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.Wait(context.Background(), "b")
	if err != nil {
		t.Fatal(err)
	}
	w.wait(t, "c")
	if !w.ready("a", "b") {
		t.Error("a program in use was evicted")
	}
	w.BuildOne()
	if w.Ready("c") || dev.programs() != 2 {
		t.Errorf("c, which nobody holds, is still there: %d programs", dev.programs())
	}
	// Held a, b and d: one more than the bound, until one is released.
	d, err := w.Wait(context.Background(), "d")
	if err != nil {
		t.Fatal(err)
	}
	if st := w.Stats(); st.Ready != 3 || st.Held != 3 {
		t.Errorf("%+v", st)
	}
	w.Release(b)
	if !w.ready("a", "d") || w.Ready("b") {
		t.Error("want b evicted once it is released")
	}
	w.Release(a)
	w.Release(d)
	if st := w.Stats(); st.Evicted != 2 || st.Ready != 2 {
		t.Errorf("%+v", st)
	}
}

func TestLeastRecentlyUsedIsEvicted(t *testing.T) {
	w := openWorld(t, newFake(), false, func(c *Config) { c.Programs = 3 })
	defer w.close(t)
	for _, key := range []string{"a", "b", "c"} {
		w.wait(t, key)
	}
	w.wait(t, "a")
	w.Prefetch("b") // ready: counts as a use
	w.wait(t, "d")
	if !w.ready("a", "b", "d") || w.Ready("c") {
		t.Error("want c evicted")
	}
}

func TestPrefetchTakesNoMoreThanTheStoreKeeps(t *testing.T) {
	w := openWorld(t, newFake(), false, func(c *Config) { c.Programs, c.Queue = 4, 2 })
	defer w.close(t)
	w.wait(t, "in use")
	if dropped := w.Prefetch("a", "b", "c", "d", "e"); dropped != 3 {
		t.Errorf("%d dropped, want 3: two over the bound, one over the queue's", dropped)
	}
	for w.BuildOne() {
	}
	if !w.ready("in use", "a", "b") {
		t.Error("not all are ready")
	}
	if st := w.Stats(); st.Built != 3 || st.Evicted != 0 || st.Dropped != 1 {
		t.Errorf("%+v", st)
	}
}

func TestFailureIsReportedOnceAndNotTriedAtEveryLaunch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dev := newFake()
		text := "0:7: undeclared identifier"
		dev.refuse = func(source string) error {
			if strings.HasSuffix(source, "bad") {
				return errors.New(text)
			}
			return nil
		}
		w := openWorld(t, dev, true)
		defer w.close(t)
		launches := func(n int) {
			for range n {
				if _, ok := w.Get("bad"); ok {
					t.Fatal("got a program that cannot be built")
				}
				synctest.Wait()
			}
		}
		launches(50)
		if got := dev.sources(); len(got) != 1 {
			t.Errorf("compiled %d times", len(got))
		}
		log := w.log.Take()
		if len(log) != 1 || !strings.Contains(log[0], "kernel bad") || !strings.Contains(log[0], text) {
			t.Errorf("log %q, want one line with the kernel's name and the driver's text", log)
		}
		if err := w.Failing("bad"); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("failing: %v", err)
		}
		// Tries come after 5, 10, 20, ... seconds.
		for try, pause := range []time.Duration{5, 10, 20, 40} {
			time.Sleep(pause*time.Second - time.Nanosecond)
			launches(5)
			if got := len(dev.sources()); got != try+1 {
				t.Errorf("%d tries before the pause of %d s was over, want %d", got, pause, try+1)
			}
			time.Sleep(time.Nanosecond)
			launches(5)
			if got := len(dev.sources()); got != try+2 {
				t.Errorf("%d tries after %d s, want %d", got, pause, try+2)
			}
		}
		if log := w.log.Take(); log != nil {
			t.Errorf("reported again: %q", log)
		}
		text = "out of memory"
		time.Sleep(time.Hour)
		launches(5)
		if log := w.log.Take(); len(log) != 1 || !strings.Contains(log[0], text) {
			t.Errorf("another reason: %q, want one line", log)
		}
		dev.refuse = nil
		time.Sleep(time.Hour)
		w.Get("bad")
		synctest.Wait()
		if !w.Ready("bad") || w.Failing("bad") != nil || len(w.failures.of) != 0 {
			t.Errorf("ready %v, failing %v after the compiler took it", w.Ready("bad"), w.Failing("bad"))
		}
		if st := w.Stats(); st.Failed != 6 {
			t.Errorf("%+v", st)
		}
	})
}

// TestWhoWaitsHasItTriedAtOnce, however often it failed, and gets the error of that try.
func TestWhoWaitsHasItTriedAtOnce(t *testing.T) {
	dev := newFake()
	dev.refuse = func(string) error { return fmt.Errorf("try %d", len(dev.compiled)) }
	w := openWorld(t, dev, false)
	defer w.close(t)
	for try := range 4 {
		want := fmt.Sprintf("kernel a: try %d", try+1)
		if _, err := w.Wait(context.Background(), "a"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	dev.refuse = nil
	w.wait(t, "a")
}

func TestFailuresAreBounded(t *testing.T) {
	dev := newFake()
	dev.refuse = func(string) error { return errors.New("no") }
	w := openWorld(t, dev, false, func(c *Config) { c.Programs = 2 })
	defer w.close(t)
	for i := range 100 {
		w.Get(strings.Repeat("x", i))
		w.BuildOne()
	}
	if st := w.Stats(); len(w.failures.of) != 8 || st.Failed != 100 {
		t.Errorf("%d remembered, want the last 8; %+v", len(w.failures.of), st)
	}
}

func TestProgramThatFailsTheCheckIsDeleted(t *testing.T) {
	dev := newFake()
	w := openWorld(t, dev, false)
	defer w.close(t)
	if _, err := w.Wait(context.Background(), "misfit"); err == nil || !strings.Contains(err.Error(), "another width") {
		t.Errorf("%v", err)
	}
	dev.check = errors.New("GL_OUT_OF_MEMORY")
	if _, err := w.Wait(context.Background(), "a"); err == nil || !strings.Contains(err.Error(), "OUT_OF_MEMORY") {
		t.Errorf("%v", err)
	}
	if len(dev.deleted) != 2 || dev.programs() != 0 {
		t.Errorf("deleted %v", dev.deleted)
	}
}

func TestWaitEndsWithItsContextAndWithTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dev := newFake()
		dev.stopCompiling = make(chan struct{})
		w := openWorld(t, dev, true)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := w.Wait(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		ended := make(chan error)
		go func() {
			_, err := w.Wait(context.Background(), "b")
			ended <- err
		}()
		synctest.Wait()
		closed := make(chan struct{})
		go func() {
			w.close(t)
			close(closed)
		}()
		if err := <-ended; !errors.Is(err, ErrClosed) {
			t.Errorf("%v, want ErrClosed", err)
		}
		synctest.Wait()
		select {
		case <-closed:
			t.Error("closed under a build")
		default:
		}
		close(dev.stopCompiling)
		<-closed
		if _, ok := w.Get("a"); ok {
			t.Error("Get after Close gave a program")
		}
		if _, err := w.Wait(context.Background(), "a"); !errors.Is(err, ErrClosed) {
			t.Errorf("Wait after Close: %v", err)
		}
		if w.Prefetch("a") != 1 {
			t.Error("Prefetch after Close")
		}
		if got := dev.sources(); len(got) != 1 {
			t.Errorf("built %v, want what was under way and nothing else", got)
		}
	})
}

func TestWithoutABackgroundTheCallerSaysWhen(t *testing.T) {
	dev := newFake()
	w := openWorld(t, dev, false)
	defer w.close(t)
	w.Get("a")
	w.Prefetch("b")
	if len(dev.sources()) != 0 {
		t.Fatal("built before BuildOne")
	}
	if !w.BuildOne() || !w.Ready("a") || w.Ready("b") {
		t.Error("want a built, and only a")
	}
	if !w.BuildOne() || !w.Ready("b") || w.BuildOne() {
		t.Error("want b built, and nothing left")
	}
}

func TestWithoutABackgroundEachBuildOfAWaitIsATurn(t *testing.T) {
	w := openWorld(t, newFake(), false)
	defer w.close(t)
	turns := 0
	turn := func(use func() error) error { turns++; return use() }
	w.Get("b")
	for range 2 { // "a" is more urgent than "b", because somebody waits for it
		p, err := w.WaitInTurns(t.Context(), fakeKernel("a"), turn)
		if err != nil || turns != 1 || w.Ready("b") {
			t.Errorf("%d turns, error %v, b ready: %v", turns, err, w.Ready("b"))
		}
		w.Release(p)
	}
	refused := errors.New("the device is gone")
	_, err := w.WaitInTurns(t.Context(), fakeKernel("c"), func(func() error) error { return refused })
	if !errors.Is(err, refused) || w.Ready("c") {
		t.Errorf("a turn that was refused: %v", err)
	}
}
