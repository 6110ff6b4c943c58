package worker

import (
	"testing"
	"testing/synctest"
	"time"
)

// watched is a watchdog with a limit of ten seconds, and what it tells.
func watched() (w *watchdog, hung chan string) {
	hung = make(chan string, 10)
	return startWatchdog(10*time.Second, func(what string) { hung <- what }), hung
}

// waitInBubble lets time pass on the clock of a synctest bubble.
func waitInBubble(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestWatchdogTellsOfAJobThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, hung := watched()
		waitInBubble(time.Hour) // nothing to do is no hang
		for range 5 {
			w.begin("a job in time")
			waitInBubble(8 * time.Second)
			w.end()
		}
		if len(hung) != 0 {
			t.Errorf("hung: %s", <-hung)
		}
		w.begin("launch 7")
		waitInBubble(8 * time.Second)
		if len(hung) != 0 {
			t.Errorf("before the limit: %s", <-hung)
		}
		waitInBubble(time.Hour)
		if n, what := len(hung), <-hung; n != 1 || what != "launch 7 has not ended after 10s" {
			t.Errorf("%d times: %q", n, what)
		}
		w.end()
		w.stop()
	})
	var none *watchdog // no limit
	none.begin("a job")
	none.end()
	none.use("a transfer")()
	none.stop()
}

// Whatever uses the device is in line for it, so what ends shows that the device is alive.
func TestWatchdogTellsOfATransferWithNoLaunchUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, hung := watched()
		upload := w.use("an upload")
		for range 5 { // it waits its turn
			end := w.use("a turn")
			waitInBubble(8 * time.Second)
			end()
		}
		for range 5 {
			w.begin("a launch")
			waitInBubble(8 * time.Second)
			w.end()
		}
		waitInBubble(8 * time.Second)
		upload()
		waitInBubble(time.Hour)
		if len(hung) != 0 {
			t.Errorf("hung: %s", <-hung)
		}
		download := w.use("a download")
		waitInBubble(8 * time.Second)
		if len(hung) != 0 {
			t.Errorf("before the limit: %s", <-hung)
		}
		waitInBubble(time.Hour)
		if n, what := len(hung), <-hung; n != 1 || what != "a download has not ended after 10s" {
			t.Errorf("%d times: %q", n, what)
		}
		w.stop()
		download() // of a watchdog that has stopped: nobody waits
	})
}
