package main

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchdogTellsOfAJobThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := make(chan string, 10)
		w := startWatchdog(10*time.Second, func(what string) { hung <- what })
		wait := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		wait(time.Hour) // nothing to do is no hang
		for range 5 {
			w.begin("a job in time")
			wait(8 * time.Second)
			w.end()
		}
		if len(hung) != 0 {
			t.Errorf("hung: %s", <-hung)
		}
		w.begin("launch 7")
		wait(8 * time.Second)
		if len(hung) != 0 {
			t.Errorf("before the limit: %s", <-hung)
		}
		wait(time.Hour)
		if n, what := len(hung), <-hung; n != 1 || what != "launch 7 has not ended after 10s" {
			t.Errorf("%d times: %q", n, what)
		}
		w.end()
		w.stop()
	})
	var none *watchdog // no limit
	none.begin("a job")
	none.end()
	none.stop()
}
