package natsio

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
)

// Held batches count against the server's MaxPending. A queue that makes no progress,
// because it is over its quota or stopped, would fill all of that with waiting work, and
// nobody else's work would arrive. So no more than half of it may wait because of one
// queue.

// mostHeld is how many batches of one queue may wait because of their queue.
func (c *WorkConfig) mostHeld() int { return max(c.MaxPending/2, 1) }

// isCrowded reports whether one more batch of a queue would be too many. Those that were held
// before stay. Called with mu held.
func (w *WorkConsumer) isCrowded(b *batch) bool {
	if b.attempt > 0 || w.draining {
		return false
	}
	held := 0
	for _, other := range w.pending {
		if other.queue == b.queue && (other.held != nil || other.attempt > 0 && b.since.Sub(other.since) < handTime) {
			held++
		}
	}
	return held >= w.cfg.mostHeld()
}

// handTime is how long a held batch that was handed over again still counts as held: it
// mostly comes back at once.
const handTime = 50 * time.Millisecond

// turnAway refuses a batch of a crowded queue, after its done record is out.
func (w *WorkConsumer) turnAway(b *batch, attempt int, m jetstream.Msg, why error) {
	w.conn.complaints.Warn("work is refused, because as much of its queue waits as may without keeping others out",
		w.worker, b.queue, "waiting", w.cfg.mostHeld(), "reason", why)
	work, sentNs, err := w.decode(b, m) // the handler had the last one for its own
	if err != nil {
		w.settle(b, attempt, telemetry.OutcomeRefused, err)
		return
	}
	crowd := fmt.Errorf("%d batches of the queue wait already: %w", w.cfg.mostHeld(), why)
	w.drop(b, attempt, &w.crowded, ReasonCrowded,
		fmt.Errorf("batch %q: submit it again later, under another id: %w", work.Batch, crowd),
		&telemetry.Done{Batch: work.Batch, Dropped: uint32(len(work.Slots)), WorkSentNs: sentNs, Error: crowd.Error()})
}
