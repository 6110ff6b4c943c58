package natsio

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/fairqueue"
)

// ResponderStats counts the requests of one kind since it began.
type ResponderStats struct {
	Served  uint64 `json:"served"`  // carried out and answered
	Refused uint64 `json:"refused"` // answered with an error
	Dropped uint64 `json:"dropped"` // not answered because too many came at once; their senders time out
}

// waiting bounds the requests of one kind that wait at a worker. A queue has a quarter of what the
// others leave; above that its requests are answered with code 429.
var waiting = fairqueue.Bounds{Items: 1024, Bytes: 64 << 20}

// Bounds of what the client library keeps until handle has seen it, which takes less than a microsecond for what is
// turned away.
const (
	pendingRequests     = 1 << 17
	pendingRequestBytes = 64 << 20
)

// turnedAwayPerSecond bounds the answers to requests that are turned away as they come. Whoever floods a worker would
// otherwise have it answer instead of taking what others send.
const turnedAwayPerSecond = 500

// responder answers requests of one record on one class of a worker's subjects. What they
// ask for is carried out by one goroutine at a time, by turns of the queues.
type responder struct {
	conn   *Conn
	class  telemetry.SubjectClass
	limits telemetry.CheckLimits
	carry  func(worker, queue, reply string) // the request is in record
	pace   *rate.Limiter                     // of what is carried out; nil: none
	away   *rate.Limiter                     // of answers to what is turned away

	sub     *nats.Subscription
	waiting *fairqueue.Queue[request]
	serving sync.WaitGroup
	decoder telemetry.Decoder // as record and answer, of the goroutine that carries out
	record  telemetry.Record
	answer  []byte // reused by those who answer before carry returns

	served, refused, dropped atomic.Uint64
}

// request is a message and what its subject says.
type request struct {
	m             *nats.Msg
	worker, queue string
}

// serve begins to answer requests on a worker's subjects, of which subject is the pattern.
func (s *responder) serve(c *Conn, worker, subject string) error {
	if !telemetry.ValidTaker(worker) {
		return BadName("worker", worker)
	}
	s.conn, s.waiting, s.away = c, fairqueue.New[request](waiting), rate.NewLimiter(turnedAwayPerSecond, turnedAwayPerSecond)
	sub, err := c.nc.Subscribe(subject, s.handle)
	if err == nil {
		s.sub = sub
		err = sub.SetPendingLimits(pendingRequests, pendingRequestBytes)
	}
	if err != nil {
		return fmt.Errorf("subscribe %s: %w", subject, err)
	}
	c.settle()
	return nil
}

// Stats returns the counts so far.
func (s *responder) Stats() ResponderStats {
	stats := ResponderStats{Served: s.served.Load(), Refused: s.refused.Load(), Dropped: s.dropped.Load()}
	if n, err := s.sub.Dropped(); err == nil {
		stats.Dropped += uint64(n)
	}
	return stats
}

// Stop answers what has arrived and returns when nothing more will be carried out, or ctx ends.
func (s *responder) Stop(ctx context.Context) error {
	err := drain(ctx, s.conn.nc, s.sub)
	if err == nil {
		err = waitFor(ctx, &s.serving)
	}
	if err != nil {
		return fmt.Errorf("stop answering %v requests: %w", s.class, err)
	}
	return nil
}

// waitFor waits until a group has ended what it does, or ctx ends.
func waitFor(ctx context.Context, group *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// handle puts a request where it waits for its turn.
func (s *responder) handle(m *nats.Msg) {
	if !s.conn.MayAnswer(m) {
		return
	}
	_, worker, queue, err := s.conn.cfg.Subjects.Parse(m.Subject)
	if err != nil {
		s.turnAway(m, ErrRequest, err.Error())
		return
	}
	if len(m.Data) > s.limits.MaxBytes {
		s.turnAway(m, ErrTooLarge, fmt.Sprintf("request of %d bytes, at most %d", len(m.Data), s.limits.MaxBytes))
		return
	}
	wake, ok := s.waiting.Put(queue, request{m, worker, queue}, len(m.Data)+requestBytes)
	switch {
	case !ok:
		s.turnAway(m, ErrTooMany, "those of the queue that wait are all that it may have; ask again later")
	case wake:
		s.serving.Go(s.carryOutAll)
	}
}

// turnAway refuses a request as it comes, and tells its sender why unless there are very many of them.
func (s *responder) turnAway(m *nats.Msg, reason error, why string) {
	if !s.away.Allow() {
		s.dropped.Add(1)
		return
	}
	s.refuse(m.Reply, fmt.Errorf("%w: %s", reason, why))
}

// requestBytes is what a request takes beside its payload, about.
const requestBytes = 512

// carryOutAll carries requests out until none waits.
func (s *responder) carryOutAll() {
	for r, ok := s.waiting.Next(); ok; r, ok = s.waiting.Next() {
		if s.pace != nil {
			time.Sleep(s.pace.Reserve().Delay())
		}
		if err := decodeOne(&s.decoder, &s.record, r.m.Data, s.limits, s.class); err != nil {
			s.refuse(r.m.Reply, fmt.Errorf("%w: %w", ErrRequest, err))
			continue
		}
		s.carry(r.worker, r.queue, r.m.Reply)
	}
}

// header is that of an answer: a reply subject carries one record, the first of its own sequence.
func (s *responder) header() telemetry.Header { return s.conn.newHeader(1) }

// respond sends an answer. If it is lost the requester times out and may ask again.
func (s *responder) respond(to string, answer []byte) {
	s.served.Add(1)
	_ = s.conn.publish(to, answer)
}

func (s *responder) refuse(reply string, err error) {
	s.refused.Add(1)
	s.conn.refuse(reply, s.class, err)
}

// Heap is the memory of a worker's queues. Each queue has a window of its own,
// and the queue's name, which the server's permissions guard, is the only way
// into it. The methods may block; they are called from one goroutine.
type Heap interface {
	// Read fetches words of a queue's window from a word offset on. The epoch
	// names what the window held; it is another, greater one after that was lost.
	// Not 0. The error wraps ErrNoWindow or ErrOutsideWindow where one of these
	// is why.
	Read(queue string, offset uint32, words []uint32) (epoch uint64, err error)
	// Write stores words. A queue's first write may create its window.
	Write(queue string, offset uint32, words []uint32) (epoch uint64, err error)
}

// HeapService answers transfer requests for the queues of one worker.
type HeapService struct {
	responder
	heap  Heap
	words []uint32
}

// ServeHeap answers requests on the worker's heap subjects until Stop. A
// request without an inbox to answer to is not carried out.
func (c *Conn) ServeHeap(worker string, heap Heap) (*HeapService, error) {
	s := &HeapService{heap: heap}
	s.class, s.limits, s.carry = telemetry.SubjectHeap, telemetry.DefaultHeapLimits, s.carryOut
	if err := s.serve(c, worker, c.cfg.Subjects.Heap(worker, "*")); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *HeapService) carryOut(_, queue, reply string) {
	if err := s.transfer(queue, &s.record.Heap); err != nil {
		s.refuse(reply, err)
		return
	}
	h := s.header()
	s.answer = telemetry.Append(s.answer[:0], s.conn.cfg.Encoding, h, &s.record.Heap)
	s.respond(reply, s.answer)
}

// transfer carries out a request and turns it into the answer.
func (s *HeapService) transfer(queue string, b *telemetry.Heap) (err error) {
	if b.Op == telemetry.HeapWrite {
		if len(b.Data) == 0 || b.Count != 0 && int(b.Count) != len(b.Data)/4 {
			return fmt.Errorf("%w: a write has data, and a count of its words or none; got %d bytes and count %d", ErrRequest, len(b.Data), b.Count)
		}
		s.words = telemetry.AppendWords(s.words[:0], b.Data)
		b.Epoch, err = s.heap.Write(queue, b.Offset, s.words)
		b.Data, b.Count = b.Data[:0], uint32(len(s.words))
		return err
	}
	if b.Count == 0 || len(b.Data) != 0 {
		return fmt.Errorf("%w: a read has a count of 1 to %d and no data", ErrRequest, telemetry.MaxHeapWords)
	}
	s.words = append(s.words[:0], make([]uint32, b.Count)...)
	if b.Epoch, err = s.heap.Read(queue, b.Offset, s.words); err != nil {
		return err
	}
	b.Data = telemetry.AppendBytes(b.Data[:0], s.words)
	return nil
}

// CancelHandler withdraws a batch. It must not block. It calls answer exactly once,
// from any goroutine, with what was found and how many slots are dropped so far; err
// says why nothing was done or remembered.
type CancelHandler func(worker, queue, batch string, answer func(found telemetry.CancelFound, slots int, err error))

// Cancellations are carried out at this rate, with a burst after a pause. Those beyond wait.
const (
	cancelsPerSecond = 2000
	cancelsAtOnce    = 4000
)

// CancelLimits fit one cancel record.
var CancelLimits = telemetry.CheckLimits{MaxBytes: 1024, MaxRecords: 1, MaxItems: 64, MaxString: 256, MaxDepth: 8}

// CancelService answers requests to withdraw batches of one worker.
type CancelService struct {
	responder
	handler CancelHandler
}

// ServeCancel answers requests on the worker's cancel subjects until Stop. A
// request without an inbox to answer to is not carried out.
func (c *Conn) ServeCancel(worker string, handler CancelHandler) (*CancelService, error) {
	s := &CancelService{handler: handler}
	s.pace = rate.NewLimiter(cancelsPerSecond, cancelsAtOnce)
	s.class, s.limits, s.carry = telemetry.SubjectCancel, CancelLimits, s.carryOut
	if err := s.serve(c, worker, c.cfg.Subjects.Cancel(worker, "*")); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *CancelService) carryOut(worker, queue, reply string) {
	batch := s.record.Cancel.Batch
	s.handler(worker, queue, batch, func(found telemetry.CancelFound, slots int, err error) {
		if err != nil {
			s.refuse(reply, err)
			return
		}
		h := s.header()
		answer := telemetry.Cancel{Batch: batch, Found: found, Slots: uint32(slots)}
		s.respond(reply, telemetry.Append(nil, s.conn.cfg.Encoding, h, &answer))
	})
}
