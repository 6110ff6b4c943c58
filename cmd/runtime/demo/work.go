package demo

import (
	"context"
	"fmt"
	"time"

	"ringmaster/cmd/runtime/demo/trace"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
	"ringmaster/telemetry"
)

// windowWords is how much of a queue's heap window the trace's slots use. It
// is no more than the smallest window a worker gives a queue.
const windowWords = 16_384

// counterWord is where queue decode counts generated tokens: word 0 is left
// alone by everything else in that queue.
const counterWord = 0

// outsideWord lies beyond any window; a slot that names it faults.
const outsideWord = 1 << 30

// submitRequest submits an admitted request's prefill and decode work.
func (p *Player) submitRequest(ctx context.Context, r trace.Request) error {
	q := &p.queues[prefill]
	p.begin()
	for range r.PrefillSlots() {
		p.slot(kernel.OpStore, ring.PriorityHigh, r.Context, q.next())
	}
	if err := p.send(ctx, prefill); err != nil {
		return err
	}
	q = &p.queues[decode]
	p.begin()
	for range r.DecodeSlots() {
		address := uint32(counterWord)
		if p.Faults > 0 && (q.submitted.Load()+uint64(len(p.work.Slots))+1)%uint64(p.Faults) == 0 {
			address = outsideWord
			q.intendedBad++
		}
		p.slot(kernel.OpAdd, ring.PriorityCritical, 1, address)
	}
	return p.send(ctx, decode)
}

// submitFrontier submits one slot for every node of a frontier: it counts a
// visit in the node's word.
func (p *Player) submitFrontier(ctx context.Context, nodes []uint32) error {
	p.begin()
	for _, node := range nodes {
		p.slot(kernel.OpAdd, ring.PriorityNormal, 1, node)
	}
	return p.send(ctx, retrieve)
}

func (q *queueLoad) next() uint32 {
	q.window = (q.window + 1) % windowWords
	return q.window
}

func (p *Player) begin() { p.work.Slots = p.work.Slots[:0] }

func (p *Player) slot(opcode kernel.Opcode, priority, a0, a1 uint32) {
	p.work.Slots = append(p.work.Slots, telemetry.Slot{
		Opcode: uint32(opcode), Priority: priority, Args: [12]uint32{a0, a1},
	})
}

// send publishes the slots gathered since begin as batches of the queue.
func (p *Player) send(ctx context.Context, queue int) error {
	if !p.Submit {
		return nil
	}
	q := &p.queues[queue]
	all := p.work.Slots
	defer func() { p.work.Slots = all }()
	for rest := all; len(rest) > 0; {
		n := min(len(rest), telemetry.MaxListedSlots)
		p.work.Slots, rest = rest[:n], rest[n:]
		p.batches++
		p.work.Batch = fmt.Sprintf("%s%d", p.ids, p.batches)
		p.work.Has = telemetry.HasBatch | telemetry.HasSlots
		h := telemetry.Header{Incarnation: p.conn.Incarnation(), Seq: p.batches, SentNs: time.Now().UnixNano()}
		q.submitted.Add(uint64(n))
		q.outstanding.Add(int64(n))
		q.batches.Add(1)
		p.undone.Store(p.work.Batch, true)
		if err := p.stream.Publish(ctx, p.Worker, playerQueues[queue], h, &p.work, p.stored); err != nil {
			return fmt.Errorf("submit to %s: %w", playerQueues[queue], err)
		}
		if failed := p.unstored.Load(); failed != nil {
			return fmt.Errorf("submit to %s: %w", playerQueues[queue], *failed)
		}
	}
	return nil
}

// stored learns what the stream said of a batch.
func (p *Player) stored(_ bool, err error) {
	if err != nil {
		p.unstored.CompareAndSwap(nil, &err)
	}
}
