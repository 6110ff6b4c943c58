package glcompute

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestDoSerialisesManyGoroutines(t *testing.T) {
	thread := NewThread()
	defer thread.Close()
	const callers, calls = 16, 200
	inside, total := 0, 0 // unguarded: the race detector and the sum judge
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range calls {
				err := thread.Do(func() error {
					inside++
					defer func() { inside-- }()
					if inside != 1 {
						return errors.New("two functions at once")
					}
					total++
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if total != callers*calls {
		t.Errorf("%d calls ran, want %d", total, callers*calls)
	}
}

func TestDoReturnsTheFunctionsError(t *testing.T) {
	thread := NewThread()
	defer thread.Close()
	want := errors.New("its own")
	if err := thread.Do(func() error { return want }); err != want {
		t.Errorf("got %v", err)
	}
}

func TestDoAfterCloseFailsAndRunsNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	thread := NewThread()
	thread.Close()
	thread.Close()
	if err := thread.Do(func() error { t.Error("ran"); return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func TestCloseWaitsForTheCallUnderWay(t *testing.T) {
	thread := NewThread()
	started, finish := make(chan struct{}), make(chan struct{})
	finished := false
	go thread.Do(func() error {
		close(started)
		<-finish
		finished = true
		return nil
	})
	<-started
	go close(finish)
	thread.Close()
	if !finished {
		t.Error("Close returned before the call ended")
	}
}

func TestPanicReachesTheCallerAndTheThreadGoesOn(t *testing.T) {
	thread := NewThread()
	defer thread.Close()
	cause := errors.New("a bug")
	func() {
		defer func() {
			p, ok := recover().(*ThreadPanic)
			if !ok || !errors.Is(p, cause) {
				t.Fatalf("recovered %v, want a *ThreadPanic around %v", p, cause)
			}
			if !strings.Contains(string(p.Stack), "thread_test.go") {
				t.Errorf("the stack does not show the function:\n%s", p.Stack)
			}
		}()
		thread.Do(func() error { panic(cause) })
	}()
	if err := thread.Do(func() error { return nil }); err != nil {
		t.Errorf("after the panic: %v", err)
	}
}

func TestGoexitEndsTheThreadWithoutBlockingCallers(t *testing.T) {
	thread := NewThread()
	defer thread.Close()
	func() {
		defer func() {
			if p, ok := recover().(*ThreadPanic); !ok || !errors.Is(p, errGoexit) {
				t.Errorf("recovered %v", p)
			}
		}()
		thread.Do(func() error { runtime.Goexit(); return nil })
	}()
	if err := thread.Do(func() error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("after Goexit: %v, want ErrClosed", err)
	}
}

func TestMainServesTheMainThread(t *testing.T) {
	ran := false
	if err := onMain(func() error { ran = true; return nil }); err != nil || !ran {
		t.Errorf("onMain under Main: %v, ran %v", err, ran)
	}
}

// withoutMain hides the Main that TestMain runs.
func withoutMain(t *testing.T) {
	mainThread.Lock()
	thread := mainThread.thread
	mainThread.thread = nil
	mainThread.Unlock()
	t.Cleanup(func() {
		mainThread.Lock()
		mainThread.thread = thread
		mainThread.Unlock()
	})
}

func TestMainReturnsTheExitCodeAndUnregisters(t *testing.T) {
	withoutMain(t)
	if code := Main(func() int { return 7 }); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	if err := onMain(func() error { return nil }); !errors.Is(err, ErrNoMain) {
		t.Errorf("after Main: %v, want ErrNoMain", err)
	}
}

func TestSecondMainPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Main(func() int { return 0 })
}

func BenchmarkDo(b *testing.B) {
	thread := NewThread()
	defer thread.Close()
	nothing := func() error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		thread.Do(nothing)
	}
}
