package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/cmd/runtime/demo/trace"
	"ringmaster/megakernel/graph"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// The trace's queues, in the order of playerQueues.
const (
	prefill = iota
	decode
	retrieve
)

var playerQueues = [...]string{prefill: "prefill", decode: "decode", retrieve: "retrieve"}

// PlayerConfig says what a Player replays, and how.
type PlayerConfig struct {
	Worker string
	Speed  float64       // seconds of the trace per second, more than 0
	Submit bool          // submit the trace's work, not only telemetry
	From   time.Duration // trace time to begin at; what was admitted before is no part of the replay
	Limit  time.Duration // trace time to stop at; 0: the whole trace
	Faults int           // every so many-th slot of decode addresses outside its window; 0: none
	// TakeOver replaces a publisher that reported the queues until now; without it the worker refuses a second one.
	TakeOver bool
	// OnDone hears of every batch of the replay that is done, before Play returns; nil: nobody does.
	OnDone func(*telemetry.Done)
}

// Player replays the trace on one NATS connection: it submits work and
// publishes the telemetry that goes with it. Queue length counts what waits
// for admission and what was submitted and not yet reported done, so it needs
// the done records on the same connection.
type Player struct {
	PlayerConfig
	conn *natsio.Conn

	replay *trace.Replay
	graph  graph.Pair
	walk   *trace.Walk
	length time.Duration // trace time of the last arrival

	publisher *client.Publisher
	ids       string // what the ids of its batches begin with, and nobody else's do
	batches   uint64
	undone    sync.Map // batches by id that have no done record yet
	work      telemetry.Work
	stream    *client.WorkPublisher
	levels    [][]uint32 // frontiers of this step
	queues    [len(playerQueues)]queueLoad
	position  atomic.Int64          // trace time, nanoseconds
	unstored  atomic.Pointer[error] // the first batch that the stream refused
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

// NewPlayer prepares a replay on a connection, which stays the caller's.
func NewPlayer(conn *natsio.Conn, cfg PlayerConfig) (*Player, error) {
	requests, err := trace.Requests()
	if err != nil {
		return nil, err
	}
	social, err := trace.SocialGraph()
	if err != nil {
		return nil, err
	}
	publisher, err := client.NewPublisher(conn, client.PublisherConfig{TakeOver: cfg.TakeOver})
	if err != nil {
		return nil, err
	}
	return &Player{
		PlayerConfig: cfg, conn: conn,
		replay: trace.NewReplay(requests), graph: social, walk: trace.NewWalk(social.Out), length: requests[len(requests)-1].At,
		publisher: publisher, ids: fmt.Sprintf("%x-", conn.Incarnation()), stream: client.NewWorkPublisher(conn, batchesUnderWay),
	}, nil
}

// batchesUnderWay bounds the batches that the work stream has not confirmed.
const batchesUnderWay = 256

// tick is how often the player acts: short against a second, long against a
// round trip.
const tick = 10 * time.Millisecond

// closePatience bounds the wait for a server at the end of a replay.
const closePatience = 10 * time.Second

// Play runs until the trace ends, the limit is reached or ctx is done, and
// then, if work was submitted, until all of it is reported done. A player plays once.
func (p *Player) Play(ctx context.Context) (err error) {
	defer func() {
		ctx, cancel := context.WithTimeout(ctx, closePatience)
		defer cancel()
		if unsent := p.publisher.Close(ctx); err == nil {
			err = unsent
		}
	}()
	done, err := p.conn.SubscribeDone(p.Worker, "*", p.onDone)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(ctx, closePatience)
		defer cancel()
		_ = done.Stop(ctx) // of a connection that is gone nothing is left to stop
	}()
	if err := p.publishPriorities(); err != nil {
		return err
	}
	return p.replayed(ctx)
}

// replayed plays the trace, and waits for what was submitted.
func (p *Player) replayed(ctx context.Context) error {
	if p.From > 0 {
		for range p.replay.Advance(p.From).Levels {
			p.walk.Next()
		}
	}
	start := time.Now()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		at := p.From + time.Duration(min(float64(time.Since(start))*p.Speed, 1<<62)) // no speed ends in the past
		if p.Limit > 0 {
			at = min(at, p.Limit)
		}
		p.position.Store(int64(at))
		step := p.replay.Advance(at)
		if err := p.step(ctx, step); err != nil {
			return err
		}
		if step.Ended || at == p.Limit {
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
func (p *Player) settle(ctx context.Context, ticks <-chan time.Time) error {
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

func (p *Player) nothingWaits() {
	for i := range p.queues {
		p.queues[i].waiting = 0
	}
}

func (p *Player) pendingBatches() (n int64) {
	for i := range p.queues {
		n += p.queues[i].batches.Load()
	}
	return n
}

// step reports the load, this step's work included, and then submits the work:
// a recommendation for it is under way before the work is.
func (p *Player) step(ctx context.Context, step *trace.Step) error {
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
	if err := p.flush(ctx); err != nil {
		return err
	}
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

// flush has the server take the load before the work, which is large: what is written
// behind it on the connection waits for it. If NATS is away there is nothing to keep in order.
func (p *Player) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushPatience)
	defer cancel()
	if err := p.publisher.Flush(ctx); errors.Is(err, natsio.ErrNotPermitted) {
		return err
	}
	return nil
}

// flushPatience is short, because a replay without NATS goes on.
const flushPatience = 100 * time.Millisecond

// report publishes a queue record and a graph record for every queue. The graph records of
// prefill and decode say how much memory is resident and nothing of a graph: those queues
// have none, nor hits.
func (p *Player) report(resident uint64) error {
	for i := range p.queues {
		q := &p.queues[i]
		length := uint32(max(q.outstanding.Load(), 0)) + uint32(q.waiting)
		graph := telemetry.Graph{
			Has:                 telemetry.HasResidentDeviceBytes | telemetry.HasDeviceMemoryBudgetBytes,
			ResidentDeviceBytes: resident, DeviceMemoryBudgetBytes: trace.MemoryBudgetBytes,
		}
		queue := telemetry.Queue{
			Has:      telemetry.HasQueueLen | telemetry.HasExecutedCount,
			QueueLen: length, ExecutedCount: q.executed.Load(),
		}
		if i == retrieve {
			graph = p.frontierRecord(q)
			queue.Has |= telemetry.HasExpectedHitsPerItem
			queue.ExpectedHitsPerItem = 1
		}
		if err := p.publisher.ReportGraph(p.Worker, playerQueues[i], &graph); err != nil {
			return err
		}
		if err := p.publisher.ReportQueue(p.Worker, playerQueues[i], &queue); err != nil {
			return err
		}
	}
	return nil
}

// publishPriorities says once how the worker should choose between the queues:
// answers under way first, then prompts, then retrieval.
func (p *Player) publishPriorities() error {
	for i, priority := range [...]float64{prefill: 2, decode: 3, retrieve: 1} {
		record := telemetry.Priority{Has: telemetry.HasPriority, Priority: priority}
		if err := p.publisher.ReportPriority(p.Worker, playerQueues[i], &record); err != nil {
			return err
		}
	}
	return nil
}

func (p *Player) frontierRecord(q *queueLoad) telemetry.Graph {
	nodes := uint32(p.graph.Out.Nodes())
	return telemetry.Graph{
		Has: telemetry.HasNodeCount | telemetry.HasEdgeCount | telemetry.HasFrontierDensityBps | telemetry.HasFrontierOutDegreeSum |
			telemetry.HasFrontierNodes | telemetry.HasUnexploredEdges | telemetry.HasResidentDeviceBytes,
		NodeCount: nodes, EdgeCount: uint32(p.graph.Edges()),
		FrontierDensityBps:   uint16(len(q.frontier.Nodes) * 10_000 / int(nodes)),
		FrontierOutDegreeSum: q.frontier.OutDegreeSum, FrontierNodes: uint32(len(q.frontier.Nodes)),
		UnexploredEdges: q.frontier.Unexplored, ResidentDeviceBytes: p.graph.Bytes(),
	}
}

// onDone runs on the subscription's goroutine. Others may submit to the same queues, and their batches are no part of the
// replay; a done record may come twice, where the server was late to say that it has it.
func (p *Player) onDone(_, queue string, _ *telemetry.Header, d *telemetry.Done) {
	if _, waits := p.undone.LoadAndDelete(d.Batch); !waits {
		return
	}
	for i, name := range playerQueues {
		if name != queue {
			continue
		}
		q := &p.queues[i]
		q.executed.Add(uint64(d.Executed))
		q.faulted.Add(uint64(d.Faulted))
		q.outstanding.Add(-int64(d.Executed) - int64(d.Faulted) - int64(d.Dropped))
		if p.OnDone != nil {
			p.OnDone(d)
		}
		q.batches.Add(-1)
	}
}

// Sent counts the records that were published and the batches that were submitted.
func (p *Player) Sent() (records, batches uint64) { return p.publisher.Stats().Sent, p.batches }

// Progress is how far the replay is and where it ends, in trace time, and the slots that were reported done. Any
// goroutine may ask.
func (p *Player) Progress() (position, end time.Duration, done uint64) {
	for i := range p.queues {
		done += p.queues[i].executed.Load()
	}
	return time.Duration(p.position.Load()), p.end(), done
}

// end is the moment of the trace at which the replay ends.
func (p *Player) end() time.Duration {
	if p.Limit > 0 {
		return min(p.length, p.Limit)
	}
	return p.length
}
