package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

const (
	executor = "executor"
	// workQueues is how many queues have a batch under way at a time.
	workQueues = 8
	workPause  = 100 * time.Millisecond // between two batches of a queue
	// workPatience is how long a submitter tries to have a batch taken, and then waits for its done record.
	workPatience = 2 * time.Minute
)

// work is a worker with a device, which executes what the deciders decide, and submitters of batches. Each batch counts up a
// word of its own in its queue's window.
type work struct {
	conn   *natsio.Conn
	queues []*workQueue
	wait   sync.WaitGroup
	stop   chan struct{}
}

// workQueue is a queue and its submitter. All but the outcomes is guarded by mu while the submitter is at work.
type workQueue struct {
	name     string
	header   telemetry.Header
	outcomes *client.Outcomes

	mu      sync.Mutex
	batches []fate
	counted int       // of batches, by count
	since   time.Time // when the batch under way was submitted; zero: none is
	worst   time.Duration
}

// fate is what is known of a batch.
type fate struct{ acknowledged, done bool }

// startWork starts the worker and waits until it has run a batch of each queue.
func (f *fleet) startWork() (*work, error) {
	ringmaster, err := f.worker(f.dir)
	if err != nil {
		return nil, err
	}
	args := []string{"run", "--execute-only", "--share-device", "--nats", strings.Join(f.urls, ","), "--worker", executor}
	if err := f.add(&f.workers, executor, ringmaster, args); err != nil {
		return nil, err
	}
	w := &work{}
	if w.conn, err = f.connect(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), workPatience)
	defer cancel()
	for i := range workQueues {
		q := &workQueue{name: fmt.Sprint("q", i), header: telemetry.Header{Incarnation: telemetry.NewIncarnation()}}
		if q.outcomes, err = client.FollowOutcomes(ctx, w.conn, executor, q.name, func(string) bool { return true }); err != nil {
			return nil, err
		}
		w.queues = append(w.queues, q)
		for {
			q.submit(w.conn)
			if q.batches[len(q.batches)-1].done {
				break
			}
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("no batch of queue %s has run: %w", q.name, err)
			}
			time.Sleep(workPause) // there is no stream before the worker has begun
		}
	}
	return w, nil
}

// begin has the submitters work until end.
func (w *work) begin() {
	w.stop = make(chan struct{})
	for _, q := range w.queues {
		w.wait.Go(func() {
			for {
				select {
				case <-w.stop:
					return
				case <-time.After(workPause):
				}
				q.submit(w.conn)
			}
		})
	}
}

// end waits for the batches under way.
func (w *work) end() {
	close(w.stop)
	w.wait.Wait()
}

func (w *work) close() {
	for _, q := range w.queues {
		q.outcomes.Close()
	}
	w.conn.Close()
}

// submit submits a batch and waits for its done record.
func (q *workQueue) submit(conn *natsio.Conn) {
	q.mu.Lock()
	q.since = time.Now()
	n := len(q.batches)
	q.batches = append(q.batches, fate{})
	q.mu.Unlock()
	nop := telemetry.Run{Opcode: uint32(kernel.OpNop), Priority: ring.PriorityNormal, Count: 64}
	id := fmt.Sprint("b", n)
	batch := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasRuns, Batch: id, Runs: []telemetry.Run{nop, countUp(n)}}
	q.header.Seq++
	ctx, cancel := context.WithTimeout(context.Background(), workPatience)
	defer cancel()
	var now fate
	_, err := client.PublishWork(ctx, conn, executor, q.name, q.header, &batch)
	if now.acknowledged = err == nil; now.acknowledged {
		now.done = q.outcomes.Wait(ctx, []string{id}, func(*telemetry.Done) error { return nil }, func(*telemetry.Rejected) {}) == nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batches[n] = now
	q.worst = max(q.worst, time.Since(q.since))
	q.since = time.Time{}
}

// countUp counts up the word of a batch.
func countUp(batch int) telemetry.Run {
	add := telemetry.Run{Opcode: uint32(kernel.OpAdd), Priority: ring.PriorityNormal, Count: 1, NArgs: 2}
	add.Args[0].Value, add.Args[1].Value = 1, uint32(firstCounter+batch%counters)
	return add
}

// worst is the longest that a batch has taken since the last call, from its submission to its done record, those included
// that are under way.
func (w *work) worst() (worst time.Duration) {
	for _, q := range w.queues {
		q.mu.Lock()
		worst = max(worst, q.worst)
		if !q.since.IsZero() {
			worst = max(worst, time.Since(q.since))
		}
		q.worst = 0
		q.mu.Unlock()
	}
	return worst
}

// worked is what became of batches.
type worked struct{ acknowledged, lost, twice int }

// count says what became of the batches since the last call. The submitters rest.
func (w *work) count() (all worked, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), workPatience)
	defer cancel()
	for _, q := range w.queues {
		ran := make([]uint32, len(q.batches)-q.counted)
		if err := client.Download(ctx, w.conn, executor, q.name, uint32(firstCounter+q.counted), ran); err != nil {
			return all, err
		}
		all.add(q.batches[q.counted:], ran)
		q.counted = len(q.batches)
	}
	return all, nil
}

// add adds batches that ran so often. One that was not acknowledged may have been stored all the same.
func (all *worked) add(batches []fate, ran []uint32) {
	for i, b := range batches {
		if b.acknowledged {
			all.acknowledged++
		}
		if b.acknowledged && (ran[i] == 0 || !b.done) {
			all.lost++
		}
		if ran[i] > 1 {
			all.twice++
		}
	}
}

// spread is the least, the median and the most of durations.
func spread(waits []time.Duration) string {
	waits = slices.Sorted(slices.Values(waits))
	of := func(d time.Duration) string {
		if d < time.Second {
			return fmt.Sprintf("%.0f ms", ms(d))
		}
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return of(waits[0]) + " / " + of(waits[len(waits)/2]) + " / " + of(waits[len(waits)-1])
}
