package main

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchdogTellsOfAJobThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hung []string
		w := startWatchdog(10*time.Second, func(what string) { hung = append(hung, what) })
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
			t.Errorf("hung: %v", hung)
		}
		w.begin("launch 7")
		wait(8 * time.Second)
		if len(hung) != 0 {
			t.Errorf("before the limit: %v", hung)
		}
		wait(time.Hour)
		if len(hung) != 1 || hung[0] != "launch 7 has not ended after 10s" {
			t.Errorf("hung: %q", hung)
		}
		w.end()
		w.stop()
	})
	var none *watchdog // no limit
	none.begin("a job")
	none.end()
	none.stop()
}
