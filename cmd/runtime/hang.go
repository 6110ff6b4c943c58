package main

import (
	"fmt"
	"log/slog"
	"os"
	"time"
)

// exitHang is the exit code of a process whose device does not come back from a
// launch. A dispatch cannot be cancelled, so the process ends for its supervisor to
// start it again; its work was not acknowledged and is delivered to the next one.
// 75 is EX_TEMPFAIL: trying again is the right answer.
const exitHang = 75

// endOnHang ends the process without another word to the device.
func endOnHang(log *slog.Logger) func(why string) {
	return func(why string) {
		log.Error("the device hangs; the process ends, its work goes to the next one", "reason", why, "exit_code", exitHang)
		os.Exit(exitHang)
	}
}

// hangTicks is how often the watchdog looks before it calls a job hung. It counts
// looks, not time, because a process that was stopped, or a machine that slept, has
// not waited for its device meanwhile.
const hangTicks = 10

// watchdog tells when a job has been under way for too long. One goroutine calls
// begin and end.
type watchdog struct {
	limit time.Duration
	hung  func(what string)
	jobs  chan string // a job's name at its begin, "" at its end
	quit  chan struct{}
	done  chan struct{}
}

// startWatchdog calls hung, once, for a job that takes longer than the limit.
func startWatchdog(limit time.Duration, hung func(what string)) *watchdog {
	w := &watchdog{limit: limit, hung: hung, jobs: make(chan string), quit: make(chan struct{}), done: make(chan struct{})}
	go w.loop()
	return w
}

// begin and end bracket a job. They may be called on a nil watchdog.
func (w *watchdog) begin(what string) {
	if w != nil {
		w.jobs <- what
	}
}

func (w *watchdog) end() { w.begin("") }

// stop ends the watchdog.
func (w *watchdog) stop() {
	if w != nil {
		close(w.quit)
		<-w.done
	}
}

func (w *watchdog) loop() {
	defer close(w.done)
	ticker := time.NewTicker(max(w.limit/hangTicks, time.Millisecond))
	defer ticker.Stop()
	job, ticks := "", 0
	for {
		select {
		case job = <-w.jobs:
			ticks = 0
		case <-ticker.C:
			if job == "" {
				continue
			}
			if ticks++; ticks == hangTicks {
				w.hung(fmt.Sprintf("%s has not ended after %v", job, w.limit))
			}
		case <-w.quit:
			return
		}
	}
}
