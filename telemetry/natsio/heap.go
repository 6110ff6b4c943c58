package natsio

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

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

// What waits for the heap is bounded. Above it the newest requests are
// dropped, and their senders time out.
const (
	heapPendingMessages = 256
	heapPendingBytes    = 32 << 20
)

// HeapStats counts requests since ServeHeap.
type HeapStats struct {
	Served  uint64 // transfers that were made
	Refused uint64 // requests answered with an error
	Dropped uint64 // requests lost because the heap was too slow
}

// HeapService answers transfer requests for the queues of one worker.
type HeapService struct {
	conn    *Conn
	heap    Heap
	sub     *nats.Subscription
	decoder telemetry.Decoder
	record  telemetry.Record
	words   []uint32
	answer  []byte

	served, refused atomic.Uint64
}

// ServeHeap answers requests on the worker's heap subjects until Stop. A
// request without an inbox to answer to is not carried out.
func (c *Conn) ServeHeap(worker string, heap Heap) (*HeapService, error) {
	if !telemetry.ValidToken(worker) {
		return nil, fmt.Errorf("%w: worker %q", ErrBadName, worker)
	}
	s := &HeapService{conn: c, heap: heap}
	subject := c.cfg.Subjects.Heap(worker, "*")
	sub, err := c.nc.Subscribe(subject, s.handle)
	if err == nil {
		s.sub = sub
		err = sub.SetPendingLimits(heapPendingMessages, heapPendingBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("natsio: subscribe %s: %w", subject, err)
	}
	return s, nil
}

// Stats returns the counts so far.
func (s *HeapService) Stats() HeapStats {
	stats := HeapStats{Served: s.served.Load(), Refused: s.refused.Load()}
	if n, err := s.sub.Dropped(); err == nil {
		stats.Dropped = uint64(n)
	}
	return stats
}

// Stop answers what has arrived and returns when the heap will not be called again.
func (s *HeapService) Stop(ctx context.Context) error {
	if err := drain(ctx, s.conn.nc, s.sub); err != nil {
		_ = s.sub.Unsubscribe() // ctx's error says more
		return fmt.Errorf("natsio: stop heap: %w", err)
	}
	return nil
}

// handle answers one request.
func (s *HeapService) handle(m *nats.Msg) {
	if !s.conn.answerable(m.Reply) {
		return // nobody waits, or nobody who may be answered
	}
	_, _, queue, err := s.conn.cfg.Subjects.Parse(m.Subject)
	if err != nil {
		s.refuse(m.Reply, codeBadSubject, err)
		return
	}
	if len(m.Data) > telemetry.DefaultHeapLimits.MaxBytes {
		s.refuse(m.Reply, codeTooLarge, fmt.Errorf("request of %d bytes, at most %d words a transfer", len(m.Data), telemetry.MaxHeapWords))
		return
	}
	if err := decodeOne(&s.decoder, &s.record, m.Data, telemetry.DefaultHeapLimits, telemetry.SubjectHeap); err != nil {
		s.refuse(m.Reply, codeBadRequest, err)
		return
	}
	if code, err := s.transfer(queue, &s.record.Heap); err != nil {
		s.refuse(m.Reply, code, err)
		return
	}
	s.served.Add(1)
	// A reply subject carries one record, the first of its own sequence.
	h := s.conn.newHeader(1)
	s.answer = telemetry.AppendHeap(s.answer[:0], s.conn.cfg.Form, &h, &s.record.Heap)
	_ = s.conn.publish(m.Reply, s.answer) // else the requester times out and may ask again
}

// transfer carries a request out and makes the answer of it.
func (s *HeapService) transfer(queue string, b *telemetry.Heap) (code string, err error) {
	if b.Op == telemetry.HeapWrite {
		if len(b.Data) == 0 || b.Count != 0 && int(b.Count) != len(b.Data)/wordBytes {
			return codeBadRequest, fmt.Errorf("a write has data, and a count of its words or none; got %d bytes and count %d", len(b.Data), b.Count)
		}
		s.words = telemetry.AppendWords(s.words[:0], b.Data)
		b.Epoch, err = s.heap.Write(queue, b.Offset, s.words)
		b.Data, b.Count = b.Data[:0], uint32(len(s.words))
		return heapCode(err), err
	}
	if b.Count == 0 || len(b.Data) != 0 {
		return codeBadRequest, fmt.Errorf("a read has a count of 1 to %d and no data", telemetry.MaxHeapWords)
	}
	s.words = append(s.words[:0], make([]uint32, b.Count)...)
	if b.Epoch, err = s.heap.Read(queue, b.Offset, s.words); err != nil {
		return heapCode(err), err
	}
	b.Data = telemetry.AppendBytes(b.Data[:0], s.words)
	return "", nil
}

// heapCode is the code of an answer that refuses a transfer.
func heapCode(err error) string {
	switch {
	case errors.Is(err, ErrNoWindow):
		return codeNotFound
	case errors.Is(err, ErrOutsideWindow):
		return codeOutside
	}
	return codeUnavailable
}

func (s *HeapService) refuse(reply, code string, err error) {
	s.refused.Add(1)
	s.conn.answerError(reply, code, err.Error())
}
