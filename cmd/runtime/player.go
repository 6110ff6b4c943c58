package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"ringmaster/cmd/runtime/trace"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// The trace's queues, in the order of playerQueues.
const (
	prefill = iota
	decode
	retrieve
)

var playerQueues = [...]string{prefill: "prefill", decode: "decode", retrieve: "retrieve"}

// occupancySlots is the size the queues prefill and decode report as their
// ring, so that their density is queue length over ring size.
const occupancySlots = 16_384

// player replays the trace on one NATS connection: it submits work and
// publishes the telemetry that goes with it. Queue length counts what waits
// for admission and what was submitted and not yet reported done, so it needs
// the done records on the same connection.
type player struct {
	conn   *natsio.Conn
	worker string
	speed  float64
	form   telemetry.Form
	submit bool          // submit work, not only telemetry
	limit  time.Duration // trace time to stop at; 0: the whole trace
	faults int           // every n-th slot of decode addresses outside its window; 0: none

	replay      *trace.Replay
	graph       *trace.Graph
	walk        *trace.Walk
	incarnation uint64
	length      time.Duration // trace time of the last arrival

	seq      map[string]uint64
	batches  uint64
	buf      []byte
	work     telemetry.Work
	stream   *natsio.WorkPublisher
	levels   [][]uint32 // frontiers of this step
	queues   [len(playerQueues)]queueLoad
	records  atomic.Uint64         // published
	unsent   atomic.Uint64         // not published, because NATS was away
	position atomic.Int64          // trace time, nanoseconds
	unstored atomic.Pointer[error] // the first batch that the stream refused
}

// queueLoad is what the player knows of one queue's work.
type queueLoad struct {
	waiting     int // slots not submitted when the load was reported
	outstanding atomic.Int64
	submitted   atomic.Uint64
	executed    atomic.Uint64
	faulted     atomic.Uint64
	batches     atomic.Int64 // submitted and not done
	intendedBad uint64
	frontier    trace.Frontier
	window      uint32 // rotates through the queue's heap words
}

func newPlayer(conn *natsio.Conn, worker string, speed float64) (*player, error) {
	requests, err := trace.Requests()
	if err != nil {
		return nil, err
	}
	graph, err := trace.SocialGraph()
	if err != nil {
		return nil, err
	}
	return &player{
		conn: conn, worker: worker, speed: speed, submit: true,
		replay: trace.NewReplay(requests), graph: graph, walk: trace.NewWalk(graph),
		incarnation: telemetry.NewIncarnation(), length: requests[len(requests)-1].At,
		seq: make(map[string]uint64), stream: conn.NewWorkPublisher(batchesUnderWay),
	}, nil
}

// batchesUnderWay bounds the batches that the work stream has not confirmed.
const batchesUnderWay = 256

// tick is how often the player acts: short against a second, long against a
// round trip.
const tick = 10 * time.Millisecond

// play runs until the trace ends, the limit is reached or ctx is done, and
// then, if work was submitted, until all of it is reported done.
func (p *player) play(ctx context.Context) error {
	if _, err := p.conn.SubscribeDone(p.worker, "*", p.onDone); err != nil {
		return err
	}
	if err := p.publishPriorities(); err != nil {
		return err
	}
	start := time.Now()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		at := time.Duration(float64(time.Since(start)) * p.speed)
		p.position.Store(int64(at))
		step := p.replay.Advance(at)
		if err := p.step(ctx, step); err != nil {
			return err
		}
		if step.Ended || p.limit > 0 && at >= p.limit {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return p.settle(ctx, ticker.C)
}

// settle goes on reporting until every submitted batch is done.
func (p *player) settle(ctx context.Context, ticks <-chan time.Time) error {
	const patience = 30 * time.Second
	deadline := time.Now().Add(patience)
	for p.pendingBatches() > 0 {
		if time.Now().After(deadline) {
			return fmt.Errorf("%d batches were not reported done within %v after the last one was submitted "+
				"(done records are not stored: one that was sent while this process had no connection is lost to it)", p.pendingBatches(), patience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks:
			p.nothingWaits()
			if err := p.report(0); err != nil {
				return err
			}
		}
	}
	p.nothingWaits()
	return p.report(0)
}

func (p *player) nothingWaits() {
	for i := range p.queues {
		p.queues[i].waiting = 0
	}
}

func (p *player) pendingBatches() (n int64) {
	for i := range p.queues {
		n += p.queues[i].batches.Load()
	}
	return n
}

// step reports the load, this step's work included, and then submits the work:
// a recommendation for it is under way before the work is.
func (p *player) step(ctx context.Context, step *trace.Step) error {
	p.queues[prefill].waiting = step.WaitingPrefill
	p.queues[decode].waiting = step.WaitingDecode
	p.queues[retrieve].waiting = 0
	for _, r := range step.Admitted {
		p.queues[prefill].waiting += r.PrefillSlots()
		p.queues[decode].waiting += r.DecodeSlots()
	}
	p.levels = p.levels[:0]
	for range step.Levels {
		f := p.walk.Next()
		p.queues[retrieve].frontier = f
		p.queues[retrieve].waiting += len(f.Nodes)
		p.levels = append(p.levels, slices.Clone(f.Nodes))
	}
	if err := p.report(step.ResidentBytes); err != nil {
		return err
	}
	// Work is large: what is written behind it on the connection waits for it.
	// If NATS is away there is nothing to keep in order, so an error is none.
	_ = p.conn.Flush(ctx)
	for _, nodes := range p.levels {
		if err := p.submitFrontier(ctx, nodes); err != nil {
			return err
		}
	}
	for _, r := range step.Admitted {
		if err := p.submitRequest(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// report publishes a queue record and a graph record for every queue.
func (p *player) report(resident uint64) error {
	for i := range p.queues {
		q := &p.queues[i]
		length := uint32(max(q.outstanding.Load(), 0)) + uint32(q.waiting)
		graph := telemetry.Graph{
			Has:                 telemetry.HasNodeCount | telemetry.HasResidentDeviceBytes | telemetry.HasDeviceMemoryBudgetBytes,
			NodeCount:           occupancySlots,
			ResidentDeviceBytes: resident, DeviceMemoryBudgetBytes: trace.MemoryBudgetBytes,
		}
		if i == retrieve {
			graph = p.frontierRecord(q)
		}
		if err := p.publish(playerQueues[i], func(b []byte, h *telemetry.Header) []byte {
			return telemetry.AppendGraph(b, p.form, h, &graph)
		}); err != nil {
			return err
		}
		queue := telemetry.Queue{
			Has:      telemetry.HasQueueLen | telemetry.HasExpectedHitsPerItem | telemetry.HasExecutedCount,
			QueueLen: length, ExpectedHitsPerItem: 1, ExecutedCount: q.executed.Load(),
		}
		if err := p.publish(playerQueues[i], func(b []byte, h *telemetry.Header) []byte {
			return telemetry.AppendQueue(b, p.form, h, &queue)
		}); err != nil {
			return err
		}
	}
	return nil
}

// publishPriorities says once how the worker should choose between the queues:
// answers under way first, then prompts, then retrieval.
func (p *player) publishPriorities() error {
	for i, priority := range [...]float64{prefill: 2, decode: 3, retrieve: 1} {
		record := telemetry.Priority{Has: telemetry.HasPriority | telemetry.HasCoefficient, Priority: priority, Coefficient: 0.5}
		if err := p.publish(playerQueues[i], func(b []byte, h *telemetry.Header) []byte {
			return telemetry.AppendPriority(b, p.form, h, &record)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) frontierRecord(q *queueLoad) telemetry.Graph {
	nodes := p.graph.Nodes()
	return telemetry.Graph{
		Has: telemetry.HasNodeCount | telemetry.HasEdgeCount | telemetry.HasFrontierDensityBps | telemetry.HasFrontierOutDegreeSum |
			telemetry.HasFrontierNodes | telemetry.HasUnexploredEdges | telemetry.HasResidentDeviceBytes,
		NodeCount: nodes, EdgeCount: p.graph.Edges(),
		FrontierDensityBps:   uint16(len(q.frontier.Nodes) * 10_000 / int(nodes)),
		FrontierOutDegreeSum: q.frontier.OutDegreeSum, FrontierNodes: uint32(len(q.frontier.Nodes)),
		UnexploredEdges: q.frontier.Unexplored, ResidentDeviceBytes: p.graph.Bytes(),
	}
}

func (p *player) publish(queue string, encode func([]byte, *telemetry.Header) []byte) error {
	p.seq[queue]++
	h := telemetry.Header{Incarnation: p.incarnation, Seq: p.seq[queue], SentNs: time.Now().UnixNano()}
	p.buf = encode(p.buf[:0], &h)
	err := p.conn.PublishTelemetry(p.worker, queue, p.buf)
	if errors.Is(err, natsio.ErrDisconnected) {
		p.unsent.Add(1) // telemetry is news: the next record replaces this one
		return nil
	}
	p.records.Add(1)
	return err
}

// onDone runs on the subscription's goroutine.
func (p *player) onDone(_, queue string, _ *telemetry.Header, d *telemetry.Done) {
	for i, name := range playerQueues {
		if name != queue {
			continue
		}
		q := &p.queues[i]
		q.executed.Add(uint64(d.Executed))
		q.faulted.Add(uint64(d.Faulted))
		q.outstanding.Add(-int64(d.Executed) - int64(d.Faulted) - int64(d.Dropped))
		q.batches.Add(-1)
	}
}
