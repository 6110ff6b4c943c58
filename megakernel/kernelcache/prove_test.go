package kernelcache

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// translator is a driver that translates for each context and passes translations
// on through a cache.
func translator(cacheAfter time.Duration, binaries bool) *fakeDevice {
	dev := newFake()
	dev.binaries = binaries
	dev.translating, dev.cacheAfter = 200*time.Millisecond, cacheAfter
	return dev
}

func TestProgramIsReadyWhenTheDriversCacheHasIt(t *testing.T) {
	for name, binaries := range map[string]bool{"twins from the binary": true, "twins from source": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dev := translator(500*time.Millisecond, binaries)
				w := openWorld(t, dev, true)
				defer w.close(t)
				begin := time.Now()
				for !w.Ready("a") {
					w.Get("a")
					time.Sleep(time.Millisecond)
					if w.Ready("a") && !dev.has("a") {
						t.Error("ready, and the next context would translate it again")
					}
				}
				if took := time.Since(begin); took > 2*time.Second {
					t.Errorf("took %v", took)
				}
				if len(dev.deleted) == 0 || dev.programs() != 1 {
					t.Errorf("%d programs, twins %v deleted", dev.programs(), dev.deleted)
				}
				if st := w.Stats(); st.Built != 1 {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

func TestDriverWithoutACacheIsNotedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dev := translator(0, true)
		w := openWorld(t, dev, true)
		defer w.close(t)
		w.Prefetch("a", "b", "c")
		time.Sleep(time.Minute)
		if !w.ready("a", "b", "c") {
			t.Error("not ready after a minute")
		}
		if n := len(dev.deleted); n != proofPauses {
			t.Errorf("%d twins, want %d for the first program and none for the others", n, proofPauses)
		}
		if log := w.log.take(); len(log) != 1 || !strings.Contains(log[0], "keeps no translated kernels") {
			t.Errorf("log %q", log)
		}
	})
}

func TestQuickDriverIsAskedForNoTwin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dev := translator(time.Second, true)
		dev.translating = 4 * time.Millisecond
		w := openWorld(t, dev, true)
		defer w.close(t)
		w.Get("a")
		time.Sleep(time.Second)
		if !w.Ready("a") || len(dev.deleted) != 0 {
			t.Errorf("ready %v, deleted %v", w.Ready("a"), dev.deleted)
		}
	})
}

// TestWhoWaitsGetsTheProgramUnproven, also when the wait begins during the proof.
func TestWhoWaitsGetsTheProgramUnproven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dev := translator(time.Hour, true)
		w := openWorld(t, dev, true)
		defer w.close(t)
		begin := time.Now()
		w.wait(t, "a")
		if took := time.Since(begin); took != dev.translating {
			t.Errorf("took %v, the translation alone %v", took, dev.translating)
		}
		w.Get("b")
		time.Sleep(dev.translating + firstPause/2)
		if w.Ready("b") {
			t.Error("b is ready before it was proven: what was left of the first wait ended its proof")
		}
		begin = time.Now()
		w.wait(t, "b")
		if took := time.Since(begin); took > dev.translating {
			t.Errorf("took %v in its proof", took)
		}
	})
}

func TestCloseEndsAProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dev := translator(time.Hour, true)
		w := openWorld(t, dev, true)
		w.Get("a")
		time.Sleep(dev.translating + firstPause/2)
		begin := time.Now()
		w.close(t)
		if took := time.Since(begin); took > 0 {
			t.Errorf("took %v", took)
		}
	})
}
