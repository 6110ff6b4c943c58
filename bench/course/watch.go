package course

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"ringmaster/telemetry"
)

// watch is what a submitter and a subscriber see: when batches are done, what was launched, what was decided.
type watch struct {
	rival rival // is told of launches; nil: nobody

	mu       sync.Mutex
	batches  []sent
	done     int
	finished chan struct{} // a token after a batch was done or something failed
	failed   error         // the first thing that went wrong

	from, until time.Time // in which launches count; zero: never
	launches    int
	changes     int                      // launches of a queue that differ from its previous launch in what is launched
	deviceTime  map[string]time.Duration // by queue
	last        map[string]launched      // by queue
	recommended int
	changed     int // recommendations that say so
}

// sent is a batch that was submitted, by its number.
type sent struct {
	load  *queueLoad // of its queue
	slots int
	at    time.Time // for which it was scheduled
	took  time.Duration
	ended bool
}

// launched is what makes two launches the same.
type launched struct {
	geometry telemetry.Geometry
	depth    uint32
	kernel   string
	mode     telemetry.LaunchMode
}

func newWatch(r rival) *watch {
	return &watch{rival: r, finished: make(chan struct{}, 1), deviceTime: make(map[string]time.Duration), last: make(map[string]launched)}
}

// batchName is the id of a batch on the wire.
func batchName(number int) string { return fmt.Sprintf("c-%d", number) }

// number gives numbers to n batches that will be submitted, and returns the first.
func (w *watch) number(n int) (first int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first = len(w.batches)
	w.batches = append(w.batches, make([]sent, n)...)
	return first
}

// expect notes a batch before it is submitted.
func (w *watch) expect(number int, load *queueLoad, slots int, at time.Time) {
	load.outstanding.Add(int64(slots))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches[number] = sent{load: load, slots: slots, at: at}
}

// count has launches and recommendations counted between two moments, and forgets those before.
func (w *watch) count(from, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.from, w.until = from, until
	w.launches, w.changes, w.recommended, w.changed = 0, 0, 0, 0
	clear(w.deviceTime)
}

func (w *watch) onDone(_, queue string, _ *telemetry.Header, d *telemetry.Done) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	number, err := strconv.Atoi(d.Batch[min(len("c-"), len(d.Batch)):])
	if err != nil || number < 0 || number >= len(w.batches) || w.batches[number].load == nil {
		w.fail(fmt.Errorf("batch %s of queue %s is done and was not submitted", d.Batch, queue))
		return
	}
	b := &w.batches[number]
	switch {
	case b.ended:
		return // its done record was sent twice, which the wire allows
	case int(d.Executed) != b.slots:
		w.fail(fmt.Errorf("batch %s of queue %s: %d of %d slots ran, %d faulted, %d dropped %s", d.Batch, queue, d.Executed, b.slots, d.Faulted, d.Dropped, d.Error))
	}
	b.ended, b.took = true, now.Sub(b.at)
	b.load.outstanding.Add(-int64(b.slots))
	b.load.executed.Add(uint64(b.slots))
	w.done++
	w.signal()
}

func (w *watch) onRejected(_, queue string, _ *telemetry.Header, r *telemetry.Rejected) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail(fmt.Errorf("queue %s: refused on %s: %s, %s", queue, r.Subject, r.Reason, r.Detail))
}

// stored learns what the stream said of a batch.
func (w *watch) stored(_ bool, err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail(err)
}

// fail keeps the first error. w.mu is held.
func (w *watch) fail(err error) {
	if w.failed == nil {
		w.failed = err
	}
	w.signal()
}

func (w *watch) signal() {
	select {
	case w.finished <- struct{}{}:
	default:
	}
}

// state is how many batches that have numbers were not done, and what went wrong.
func (w *watch) state() (left int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.batches) - w.done, w.failed
}

func (w *watch) onLaunch(_, queue string, _ *telemetry.Header, l *telemetry.Launch) {
	now := time.Now()
	if w.rival != nil {
		w.rival.observe(queue, l)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.Status != telemetry.LaunchOK {
		w.fail(fmt.Errorf("launch %d of queue %s failed: %s", l.Launch, queue, l.Error))
		return
	}
	is := launched{l.Applied, l.AppliedDepth, l.Kernel, l.Mode}
	if l.Kernel == "" || now.Before(w.from) || !now.Before(w.until) {
		return // nothing ran, or nobody counts
	}
	w.launches++
	if was, ran := w.last[queue]; ran && was != is {
		w.changes++
	}
	w.last[queue] = is
	w.deviceTime[queue] += time.Duration(l.ElapsedNs)
}

func (w *watch) onRecommendation(_, _ string, _ *telemetry.Header, r *telemetry.Recommendation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); r.Heartbeat || now.Before(w.from) || !now.Before(w.until) {
		return
	}
	w.recommended++
	if r.Changed {
		w.changed++
	}
}
