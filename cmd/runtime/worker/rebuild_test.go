//go:build cgo

package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/glcompute"
	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel"
	"ringmaster/megakernel/faultgl"
	"ringmaster/megakernel/gpu"
	"ringmaster/telemetry"
)

// faultyGPU is a real device with a layer of faults over it.
type faultyGPU struct {
	*faultgl.Device
	real *glcompute.Device
}

func newFaultyGPU(t *testing.T, faults ...faultgl.Fault) faultyGPU {
	t.Helper()
	real := gltest.Open(t)
	return faultyGPU{faultgl.Wrap(real, faults...), real}
}

func (g faultyGPU) Info() glcompute.Info { return g.real.Info() }
func (g faultyGPU) Close() error         { g.Release(); return g.real.Close() }

func TestWorkSurvivesResetsOfTheDevice(t *testing.T) {
	for _, kind := range []faultgl.Kind{faultgl.Guilty, faultgl.Innocent, faultgl.Unknown} {
		for dispatch, after := range map[int]bool{2: false, 3: true} {
			t.Run(fmt.Sprintf("%s at dispatch %d", kind, dispatch), func(t *testing.T) {
				s := openDoneShop(t)
				opened, refusals := 0, 2
				n := s.serve(t, func(cfg *Config) {
					cfg.Device = newFaultyGPU(t, faultgl.Fault{Kind: kind, Dispatch: dispatch, After: after})
					cfg.Engine.Reopen = func() (Device, error) {
						if refusals--; refusals >= 0 { // as while the driver still resets
							return nil, errors.New("not yet")
						}
						opened++
						return newFaultyGPU(t), nil
					}
				})
				s.wait(t)
				before := counted(t, n)
				s.addMore(t)
				if got := counted(t, n); got != before+moreBatches*shopSlots {
					t.Errorf("%d adds of %d batches after the loss counted", got-before, moreBatches)
				}
				s.close(t, n)
				lost := s.check(t)
				if opened != 1 || n.engine.keeper.epoch != 1 {
					t.Errorf("opened %d times again, epoch %d", opened, n.engine.keeper.epoch)
				}
				// All adds may be done before the fatal dispatch, which is then one of stores: no
				// batch is lost, and the new heap has counted nothing.
				if lost == 0 && before != 0 || before > uint32((shopBatches-lost)*shopSlots) {
					t.Errorf("%d batches of adds lost, %d adds counted before further ones", lost, before)
				}
				said := s.said.String()
				if !strings.Contains(said, "the device is back") || !strings.Contains(said, string(kind)) {
					t.Errorf("the log does not tell of it: %s", said)
				}
				t.Log(said)
			})
		}
	}
}

func TestTransferLearnsOfALossAndHasTheDeviceRepaired(t *testing.T) {
	dev := newFaultyGPU(t)
	reopened := newFaultyGPU(t)
	log := slog.New(slog.DiscardHandler)
	e, err := newEngine(dev, EngineConfig{Reopen: func() (Device, error) { return reopened, nil }}, log)
	must(t, err)
	port, words := heapPort{e}, []uint32{7}
	if _, err := port.Write("q", 0, words); err != nil {
		t.Fatal(err)
	}
	dev.Fail(faultgl.Innocent)
	_, err = port.Read("q", 0, words)
	if !errors.Is(err, megakernel.ErrHeapLost) || !strings.Contains(err.Error(), "upload it again") {
		t.Errorf("a read of a lost heap: %v", err)
	}
	for err != nil { // until the repair, which nothing else asks for
		if _, err = port.Read("q", 0, words); err != nil && !errors.Is(err, megakernel.ErrHeapLost) {
			t.Fatal(err)
		}
	}
	if words[0] != 0 {
		t.Errorf("word 0 of the new heap is %d", words[0])
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if e.keeper.epoch != 1 || e.keeper.device != Device(reopened) {
		t.Errorf("epoch %d", e.keeper.epoch)
	}
}

// The device is lost with several launches in flight: all of them run again, or their
// batches are told that the heap is lost, and the device is opened once.
//
// A busy host has the work come more slowly than the device runs it, so that there is
// never enough of it for three launches. So the device waits with the fatal dispatch until
// they are under way.
func TestWorkSurvivesAResetUnderSeveralLaunches(t *testing.T) {
	for _, dispatch := range []int{2, 4, 9} {
		t.Run(fmt.Sprintf("at dispatch %d", dispatch), func(t *testing.T) {
			s := openDoneShop(t)
			depths := make(chan uint32, 1<<10)
			if _, err := s.conn.SubscribeLaunches("w1", "*", func(_, _ string, _ *telemetry.Header, l *telemetry.Launch) {
				depths <- l.InFlight
			}); err != nil {
				t.Fatal(err)
			}
			opened, node := 0, make(chan *Node, 1)
			n := s.serve(t, func(cfg *Config) {
				cfg.Policy.Sizing.BatchDepth, cfg.Policy.BoundLaunches = 256, false // else the two queues have one launch in flight
				fault := faultgl.Fault{Kind: faultgl.Innocent, Dispatch: dispatch, After: true}
				cfg.Device = &waitingGPU{newFaultyGPU(t, fault), dispatch, func() { waitForLaunches(t, <-node, 3) }}
				cfg.Engine.Reopen = func() (Device, error) { opened++; return newFaultyGPU(t), nil }
			})
			node <- n
			s.wait(t)
			s.close(t, n)
			lost := s.check(t)
			if opened != 1 || n.engine.keeper.epoch != 1 {
				t.Errorf("opened %d times again, epoch %d, %d batches lost", opened, n.engine.keeper.epoch, lost)
			}
			for end, deepest := time.After(time.Minute), uint32(0); deepest != 3; {
				select {
				case depth := <-depths: // delivered on a goroutine of its own, maybe after the results
					deepest = max(deepest, depth)
				case <-end:
					t.Fatalf("%d launches in flight at most", deepest)
				}
			}
		})
	}
}

// waitingGPU calls wait before one of its dispatches, on the device's thread.
type waitingGPU struct {
	faultyGPU
	dispatch int
	wait     func()
}

func (g *waitingGPU) Dispatch(program gpu.Program, groups uint32) {
	if g.Dispatches()+1 == g.dispatch {
		g.wait()
	}
	g.faultyGPU.Dispatch(program, groups)
}

func (g *waitingGPU) DispatchIndirect(program gpu.Program, buffer gpu.Buffer, offset int) {
	if g.Dispatches()+1 == g.dispatch {
		g.wait()
	}
	g.faultyGPU.DispatchIndirect(program, buffer, offset)
}

// waitForLaunches returns when so many launches of a node are under way: with its ring, or
// ordered and about to be.
func waitForLaunches(t *testing.T, n *Node, launches int) {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for end := time.After(time.Minute); n.engine.ring.Stats().InFlight+len(n.engine.orders) < launches; {
		select {
		case <-look.C:
		case <-end:
			t.Errorf("%d launches are with the ring, %d wait for it", n.engine.ring.Stats().InFlight, len(n.engine.orders))
			return
		}
	}
}

func TestALossIsWhatTheErrorOrTheDriverSays(t *testing.T) {
	other := errors.New("GL_OUT_OF_MEMORY")
	for _, kind := range []faultgl.Kind{faultgl.Guilty, faultgl.Innocent, faultgl.Unknown} {
		device := newFaultyGPU(t)
		r := rebuilder{log: slog.New(slog.DiscardHandler), device: device}
		if r.lost(other) {
			t.Error("an error of a device that is well counts as a loss")
		}
		if !r.lost(fmt.Errorf("launch: %w", faultgl.Loss{Kind: kind})) {
			t.Errorf("%s: an error that says so is no loss", kind)
		}
		device.Fail(kind)
		if !r.lost(other) {
			t.Errorf("%s: not lost after an error that does not say so", kind)
		}
	}
}

func TestAnotherDeviceIsNoReplacement(t *testing.T) {
	was := newFaultyGPU(t, faultgl.Fault{Kind: faultgl.Unknown, Dispatch: 1})
	ring, err := megakernel.New(was, megakernel.DefaultConfig())
	must(t, err)
	closed := make(chan struct{})
	quit := make(chan struct{})
	close(quit) // one attempt will do
	r := rebuilder{log: slog.New(slog.DiscardHandler), device: was, quit: quit,
		reopen: func() (Device, error) { return renamed{newFaultyGPU(t), closed}, nil }}
	if err := r.rebuild(ring, faultgl.Loss{}); err == nil || !strings.Contains(err.Error(), "another GPU answers in the place of ") {
		t.Errorf("%v", err)
	}
	<-closed
	if r.device != Device(was) || r.epoch != 0 {
		t.Error("the ring moved there nevertheless")
	}
	was.Release()
	if err := ring.Close(); err != nil {
		t.Error(err)
	}
}

// renamed is a device that is not the one that was lost.
type renamed struct {
	faultyGPU
	closed chan struct{}
}

func (renamed) Info() glcompute.Info { return glcompute.Info{Renderer: "another GPU"} }
func (r renamed) Close() error       { close(r.closed); return r.faultyGPU.Close() }

func TestWaitingForALostDeviceEndsWithPatienceOrTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("no device")
		attempts := 0
		r := rebuilder{log: slog.New(slog.DiscardHandler), quit: make(chan struct{}), patience: lossPatience,
			reopen: func() (Device, error) { attempts++; return nil, gone }}
		begin := time.Now()
		if err := r.rebuild(nil, faultgl.Loss{}); !errors.Is(err, gone) {
			t.Error(err)
		}
		if waited := time.Since(begin); waited < lossPatience || waited > lossPatience+lastReopen || attempts < 10 || attempts > 20 {
			t.Errorf("%d attempts in %v", attempts, waited)
		}
		r.patience = 0
		time.AfterFunc(time.Hour, func() { close(r.quit) })
		begin = time.Now()
		if err := r.rebuild(nil, faultgl.Loss{}); !errors.Is(err, gone) || time.Since(begin) < time.Hour {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

func TestTransferThatHangsIsTimedThoughNothingIsLaunched(t *testing.T) {
	dev := newFaultyGPU(t)
	log := slog.New(slog.DiscardHandler)
	hung := make(chan string, 1)
	e, err := newEngine(dev, EngineConfig{HangAfter: 100 * time.Millisecond, Hung: func(why string) { hung <- why }}, log)
	must(t, err)
	port, words := heapPort{e}, []uint32{7}
	must(t, e.ring.Write("q", 0, words))
	dev.Fail(faultgl.Hang)
	read := make(chan error, 1)
	go func() {
		_, err := port.Read("q", 0, words)
		read <- err
	}()
	select {
	case why := <-hung:
		if !strings.Contains(why, "a download from queue q") {
			t.Errorf("hung: %s", why)
		}
	case err := <-read:
		t.Errorf("the read ended: %v", err)
	}
	dev.Release()
	if err := <-read; err == nil {
		t.Error("a read of a device that hung is good")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// hangingWorker is set in the environment of the process that hangs, to the
// address of its server.
const hangingWorker = "RINGMASTER_TEST_HANGING_WORKER"

// hangCode is the exit code of that process.
const hangCode = 75

func TestHangEndsTheProcessAndItsWorkIsDeliveredAgain(t *testing.T) {
	if url := os.Getenv(hangingWorker); url != "" {
		beTheHangingWorker(t, url)
		return
	}
	s := openDoneShop(t)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), hangingWorker+"="+s.url)
	out, err := child.CombinedOutput()
	if child.ProcessState == nil || child.ProcessState.ExitCode() != hangCode {
		t.Fatalf("the process ended with %v, want exit code %d: %s", err, hangCode, out)
	}
	if !strings.Contains(string(out), "the device hangs") || !strings.Contains(string(out), "launch ") {
		t.Errorf("the process did not say why: %s", out)
	}
	s.mu.Lock()
	first := len(s.done)
	s.mu.Unlock()
	n := s.serve(t, func(cfg *Config) { cfg.Device = newFaultyGPU(t) })
	s.wait(t)
	if got := counted(t, n); got > shopBatches*shopSlots || got%shopSlots != 0 {
		t.Errorf("%d adds counted of %d batches of %d", got, shopBatches, shopSlots)
	}
	s.close(t, n)
	if lost := s.check(t); lost != 0 {
		t.Errorf("%d batches lost", lost)
	}
	t.Logf("%d batches done before the hang, %d after it", first, len(s.done)-first)
	if first == len(s.done) {
		t.Error("nothing was left to deliver again")
	}
}

// beTheHangingWorker serves until the watchdog ends the process.
func beTheHangingWorker(t *testing.T, url string) {
	log := newLogger(os.Stderr)
	s := &doneShop{url: url, log: log}
	s.serve(t, func(cfg *Config) {
		cfg.Device = newFaultyGPU(t, faultgl.Fault{Kind: faultgl.Hang, Dispatch: 3})
		cfg.Engine.HangAfter, cfg.Engine.Hung = 500*time.Millisecond, func(why string) {
			log.Error("the device hangs", "reason", why)
			os.Exit(hangCode)
		}
	})
	<-t.Context().Done()
}
