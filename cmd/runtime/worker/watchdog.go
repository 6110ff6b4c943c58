package worker

import (
	"fmt"
	"slices"
	"time"
)

// hangTicks is how many times the watchdog looks before it calls a job hung. It counts
// looks instead of time, because a process that was stopped, or whose machine slept,
// has not been waiting for its device.
const hangTicks = 10

// watchdog reports a device that has been busy with one thing for too long: a launch or a
// repair, which one goroutine brackets with begin and end, or whatever others use the
// device for meanwhile, see use.
//
// A launch has the limit for itself. Other users take turns on the device, with each other
// and with launches, so the end of any turn or launch restarts their time. Their time
// stands still while a launch is timed, because the launch waits for whatever hangs
// before it.
type watchdog struct {
	limit  time.Duration
	hung   func(what string)
	events chan deviceEvent
	quit   chan struct{}
	done   chan struct{}
}

// deviceEvent says that something begins to use the device or has ended.
type deviceEvent struct {
	what   string
	beside bool // not a launch or a repair
	ended  bool
}

// startWatchdog calls hung, once, for what takes longer than the limit.
func startWatchdog(limit time.Duration, hung func(what string)) *watchdog {
	w := &watchdog{limit: limit, hung: hung, events: make(chan deviceEvent), quit: make(chan struct{}), done: make(chan struct{})}
	go w.loop()
	return w
}

// begin and end bracket a launch or a repair. All methods may be called on a nil watchdog.
func (w *watchdog) begin(what string) { w.tell(deviceEvent{what: what}) }

func (w *watchdog) end() { w.tell(deviceEvent{ended: true}) }

// use times anything else that waits for the device until the returned function is called. It may be
// called from any goroutine.
func (w *watchdog) use(what string) (done func()) {
	w.tell(deviceEvent{what: what, beside: true})
	return func() { w.tell(deviceEvent{what: what, beside: true, ended: true}) }
}

func (w *watchdog) tell(e deviceEvent) {
	if w == nil {
		return
	}
	select {
	case w.events <- e:
	case <-w.done: // stopped
	}
}

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
	var launch string   // "": none
	var beside []string // in the order of their begins
	ticks := 0
	for {
		select {
		case e := <-w.events:
			switch {
			case !e.beside:
				launch, ticks = e.what, 0
			case e.ended:
				i := slices.Index(beside, e.what)
				beside = slices.Delete(beside, i, i+1)
			default:
				beside = append(beside, e.what)
			}
			if e.beside && launch == "" && (e.ended || len(beside) == 1) {
				ticks = 0
			}
		case <-ticker.C:
			what := launch
			if launch == "" && len(beside) > 0 {
				what = beside[0]
			}
			if what == "" {
				continue
			}
			if ticks++; ticks == hangTicks {
				w.hung(fmt.Sprintf("%s has not ended after %v", what, w.limit))
			}
		case <-w.quit:
			return
		}
	}
}
