package natsio

import (
	"fmt"

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
	s.answer = telemetry.AppendHeap(s.answer[:0], s.conn.cfg.Form, &h, &s.record.Heap)
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
