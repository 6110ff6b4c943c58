package natsio

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/telemetry"
)

// Whatever comes and goes: the bound holds but for one batch of each queue, what a queue has is
// no more than what it leaves, a queue without a batch gets in, and nothing is lost.
func TestRoomForAllQueues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 1000
		r := &room{limit: limit, of: make(map[string]int64)}
		has := make(map[string][]int64)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			queue := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "queue")
			if n := len(has[queue]); n > 0 && rapid.Bool().Draw(t, "leave") {
				i := rapid.IntRange(0, n-1).Draw(t, "which")
				r.leave(queue, has[queue][i])
				has[queue] = append(has[queue][:i], has[queue][i+1:]...)
				continue
			}
			bytes := rapid.Int64Range(1, 400).Draw(t, "bytes")
			own := r.of[queue]
			in := r.take(queue, bytes)
			switch {
			case in:
				has[queue] = append(has[queue], bytes)
			case own == 0:
				t.Fatalf("queue %s with nothing is kept out: %v have %d bytes", queue, r.of, r.used)
			}
			if in && own > 0 && r.of[queue] > limit-r.used+bytes {
				t.Fatalf("queue %s took %d bytes, so that it has %d and leaves %d", queue, bytes, r.of[queue], limit-r.used)
			}
		}
		used := int64(0)
		for queue, batches := range has {
			own := int64(0)
			for _, n := range batches {
				own += n
			}
			if used += own; own != r.of[queue] {
				t.Fatalf("queue %s has %d bytes, %d are in the books", queue, own, r.of[queue])
			}
		}
		if used != r.used {
			t.Fatalf("%d bytes are in use, %d are in the books", used, r.used)
		}
	})
}

// A queue that gets nothing done sends more than there is memory for. It gets its part, the
// others go on, and everything comes when it is done.
func TestAQueueOfLargeBatchesLeavesRoom(t *testing.T) {
	const size, sent, limit = 900 << 10, 24, 16 << 20
	s := openShop(t, newServer(t).URL(), func(c *WorkConfig) { c.MaxBytes = limit })
	words := telemetry.Arg{Words: bytes.Repeat([]byte{1}, size)}
	for i := range sent {
		w := &telemetry.Work{Has: telemetry.HasBatch | telemetry.HasRuns, Batch: fmt.Sprint("large", i)}
		for range 4 { // words of 57,600 slots in four arguments each
			w.Runs = append(w.Runs, telemetry.Run{Opcode: 1, Count: size / 4 / 16, NArgs: 4, Args: [telemetry.MaxSlotArgs]telemetry.Arg{
				{Words: words.Words[:size/16]}, {Words: words.Words[:size/16]}, {Words: words.Words[:size/16]}, {Words: words.Words[:size/16]},
			}})
		}
		if _, err := storeWork(t, s.client, "hog", w); err != nil {
			t.Fatal(err)
		}
	}
	var stuck []delivery
	for range limit / 2 / (size + 8*size/16 + 4<<10) {
		stuck = append(stuck, receive(t, s.batches)) // no outcome
	}
	for i := range 100 {
		if _, err := storeWork(t, s.client, "other", batchOf(fmt.Sprint("b", i), 1)); err != nil {
			t.Fatal(err)
		}
		d := receive(t, s.batches)
		if d.queue != "other" {
			t.Fatalf("batch %s of the hog comes, which has %d", d.work.Batch, len(stuck))
		}
		d.settled(telemetry.OutcomeDone, nil)
	}
	if got := s.consumer.Stats().Bytes; got > limit/2+size*3/2 {
		t.Errorf("%d bytes are in use, at most half of %d are the hog's", got, limit)
	}
	for n := 0; n < sent; n++ {
		if len(stuck) == 0 {
			stuck = append(stuck, receive(t, s.batches))
		}
		stuck[0].settled(telemetry.OutcomeDone, nil)
		stuck = stuck[1:]
	}
	s.wantStored(t, 0)
	if got := s.consumer.Stats(); got.Repeated != 0 || got.Done != sent+100 || got.Bytes != 0 {
		t.Errorf("stats %+v", got)
	}
}

// Whoever waits for room when the consumer drains is given back.
func TestDrainingDoesNotWaitForRoom(t *testing.T) {
	s := openShop(t, newServer(t).URL(), func(c *WorkConfig) { c.MaxBytes = 1 })
	for i := range 3 {
		s.submit(t, fmt.Sprint("b", i))
	}
	first := receive(t, s.batches)
	s.submit(t, "b3")
	s.consumer.releaseHeld()
	s.consumer.room.open()
	first.settled(telemetry.OutcomeDone, nil)
	go func() {
		for d := range s.batches {
			d.settled(telemetry.OutcomeRetry, nil)
		}
	}()
	s.drained(t)
	close(s.batches)
	s.wantStored(t, 3)
}
