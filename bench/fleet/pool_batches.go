package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ringmaster/ring"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

const (
	batchSlots = 16384 // with their four chains of multiplications they fill an H100
	mostTurns  = 8192
	// Each batch counts up a word of the window of the worker that runs it.
	firstCounter, counters = 1024, 64512
	// patience is how long a batch is waited for. One that a worker has lost comes again within 12 s.
	patience = time.Minute
)

// spin computes for as many turns as its operand says.
const (
	spinID   = 16
	spinHead = `//! id: 16
//! name: spin
//! operands: turns
//! side-effects: yes
//! idempotent: yes
//! max-steps: 8192
//! steps: turns

uvec4 x = uvec4(0u, 1u, 2u, 3u);
FOR(i, turns) {
`
	spinLine = "    x = x * 1664525u + uvec4(1013904223u); x = x ^ (x >> uvec4(13u));\n"
	spinTail = "}\nstore(0u, x.x ^ x.y ^ x.z ^ x.w);\n"
)

// writeOpcodes makes a directory with spin.
func writeOpcodes(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "spin.glsl"), []byte(spinHead+strings.Repeat(spinLine, 32)+spinTail), 0o644)
}

// batches submits batches and counts what becomes of each.
type batches struct {
	conn        *natsio.Conn
	turns       uint32 // of every slot
	incarnation uint64

	mu     sync.Mutex
	number int                // of the last batch
	open   map[string]*inPool // those of this turn, by id
	wanted [counters]int      // how often they count up each word
	ended  int                // of them
	twice  int                // done records of batches that had one
	waits  []time.Duration    // of those that have ended since the last call of take
	broken error              // a batch that was refused, or did not run to its end
}

// inPool is a batch that was submitted.
type inPool struct {
	sent time.Time
	done chan struct{} // closed at its first done record
}

// newBatches follows what becomes of batches of pools.
func newBatches(conn *natsio.Conn, pools []string) (*batches, error) {
	b := &batches{conn: conn, incarnation: telemetry.NewIncarnation()}
	for _, pool := range pools {
		if _, err := conn.SubscribeDone(telemetry.Pool(pool), poolQueue, func(_, _ string, _ *telemetry.Header, d *telemetry.Done) { b.hear(d) }); err != nil {
			return nil, err
		}
		if _, err := conn.SubscribeRejected(telemetry.Pool(pool), poolQueue, func(_, _ string, _ *telemetry.Header, r *telemetry.Rejected) {
			b.fail(fmt.Errorf("a batch was refused (%s): %s", r.Reason, r.Detail))
		}); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return b, conn.Flush(ctx)
}

// begin begins a turn: what was submitted before is forgotten.
func (b *batches) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open, b.wanted, b.ended, b.twice, b.waits = make(map[string]*inPool), [counters]int{}, 0, 0, nil
}

func (b *batches) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = errors.Join(b.broken, err)
}

func (b *batches) hear(d *telemetry.Done) {
	if d.Executed != batchSlots {
		b.fail(fmt.Errorf("batch %s: %d of %d slots executed: %s", d.Batch, d.Executed, batchSlots, d.Error))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	batch := b.open[d.Batch]
	if batch == nil {
		b.twice++ // nobody else is here: it is of a turn that has ended
		return
	}
	select {
	case <-batch.done:
		b.twice++
	default:
		close(batch.done)
		b.ended++
		b.waits = append(b.waits, time.Since(batch.sent))
	}
}

// run submits a batch and waits for its done record. One that does not come is counted, and no error.
func (b *batches) run(pool string) error {
	b.mu.Lock()
	b.number++
	number, id, batch := b.number, fmt.Sprint("b", b.number), &inPool{time.Now(), make(chan struct{})}
	b.open[id] = batch
	b.wanted[number%counters]++
	broken := b.broken
	b.mu.Unlock()
	if broken != nil {
		return broken
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	spin := telemetry.Run{Opcode: spinID, Priority: ring.PriorityNormal, Count: batchSlots - 1, NArgs: 1}
	spin.Args[0].Value = b.turns
	w := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasRuns, Batch: id, Runs: []telemetry.Run{spin, countUp(number)}}
	if _, err := client.PublishWork(ctx, b.conn, telemetry.Pool(pool), poolQueue, telemetry.Header{Incarnation: b.incarnation, Seq: uint64(number)}, &w); err != nil {
		return err
	}
	select {
	case <-batch.done:
	case <-ctx.Done():
	}
	return nil
}

// backlog keeps so many batches without an outcome, until it is told to stop.
func (b *batches) backlog(pool string, n int, stop <-chan struct{}) error {
	return b.several(n, func() error {
		for {
			select {
			case <-stop:
				return nil
			default:
			}
			if err := b.run(pool); err != nil {
				return err
			}
		}
	})
}

// paced submits a batch every so often, whatever becomes of the last one, until it is told to stop.
func (b *batches) paced(pool string, every time.Duration, stop <-chan struct{}) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	return b.several(poolBacklog, func() error { // many more than are ever under way
		for {
			select {
			case <-stop:
				return nil
			case <-ticker.C:
			}
			if err := b.run(pool); err != nil {
				return err
			}
		}
	})
}

// several runs fn so many times at once, and returns an error of one of them when all have ended.
func (b *batches) several(n int, fn func() error) (err error) {
	errs := make(chan error, n)
	for range n {
		go func() { errs <- fn() }()
	}
	for range n {
		err = errors.Join(err, <-errs)
	}
	return err
}

// take returns how long batches have waited that have ended since the last call.
func (b *batches) take() []time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	waits := b.waits
	b.waits = nil
	return waits
}
