package actors

import (
	"errors"
	"reflect"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"ringmaster/telemetry"
)

// flatOf is the record as the decoder of whole payloads leaves it.
func flatOf(tb fataler, queue string, r *telemetry.Record) telemetry.Flat {
	return flatAfter(tb, new(telemetry.Decoder), queue, r)
}

type fataler interface {
	Helper()
	Fatal(...any)
}

// flatAfter is flatOf by a decoder that may have seen records like it before.
func flatAfter(tb fataler, d *telemetry.Decoder, queue string, r *telemetry.Record) telemetry.Flat {
	tb.Helper()
	h := r.Header
	h.Queue = queue
	var payload []byte
	if r.Kind == telemetry.KindQueue {
		payload = telemetry.AppendQueue(nil, telemetry.FormArray, &h, &r.Queue)
	} else {
		payload = telemetry.AppendGraph(nil, telemetry.FormArray, &h, &r.Graph)
	}
	var into telemetry.Flats
	if !d.Flat(&into, payload, telemetry.DefaultTelemetryLimits) {
		tb.Fatal("not for the hot path: ", r)
	}
	return into.Records[0]
}

// TestFlatRecordsAreFoldedLikeOthers folds the same records both ways, with
// stale numbers, rewound counters and publishers that come and go.
func TestFlatRecordsAreFoldedLikeOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, other := newCell(), newCell()
		var warm telemetry.Decoder
		for tick := range rapid.IntRange(1, 40).Draw(t, "records") {
			incarnation, seq := rapid.Uint64Range(1, 3).Draw(t, "incarnation"), rapid.Uint64Range(1, 20).Draw(t, "seq")
			value := rapid.Uint32Range(0, 5).Draw(t, "value")
			r := queueRecord(incarnation, seq, value)
			r.Queue.RequeueCount = uint64(value)
			if rapid.Bool().Draw(t, "all") {
				r.Queue.Has = telemetry.HasAllQueue
				r.Queue.MaxWorkgroupSizeX, r.Queue.MaxWorkgroupsPerDimension, r.Queue.MaxInvocationsPerWorkgroup = 64, 1+value, 64
			}
			if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
				r = graphRecord(incarnation, seq, value)
			}
			f := flatAfter(t, &warm, "q", r)
			w1, err1 := one.fold(r, "", uint64(tick))
			w2, err2 := other.foldFlat(&f, uint64(tick))
			settled, part := *other, *other.hot
			settled.hot, part.cold = &part, &settled
			settled.gauges() // of a copy: other goes on with what it has not read
			settled.late = telemetry.LateQueue{}
			if w1 != w2 || !errors.Is(err1, err2) || !reflect.DeepEqual(one, &settled) {
				t.Fatalf("%+v: wakes %b and %b, errors %v and %v\n%+v\n%+v", r.Header, w1, w2, err1, err2, one, &settled)
			}
			if rapid.IntRange(0, 4).Draw(t, "decide") == 0 && w1&wakeDecision != 0 {
				one.take()
				other.take()
				one.decided(&view{})
				other.decided(&view{})
			}
		}
	})
}

func TestFlatRecordsThatAreRefusedDoNotHoldUpTheOthers(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Incarnation, cfg.MaxQueues = 99, 2
	s, err := New(cfg, newCountingPublisher())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	refused := make(map[int]error)
	note := func(place int, why error) { refused[place] = why }
	records := []telemetry.Flat{
		flatOf(t, "a", queueRecord(7, 1, 1)), flatOf(t, "b", queueRecord(7, 1, 2)),
		flatOf(t, "a", queueRecord(7, 1, 3)), // again
		flatOf(t, "b", queueRecord(7, 2, 4)),
		flatOf(t, "c", queueRecord(7, 1, 5)), // one queue too many
		flatOf(t, "a", queueRecord(7, 2, 6)),
	}
	if n := s.IngestFlat("gpu0", records, note); n != 4 {
		t.Errorf("%d taken, want 4", n)
	}
	if len(refused) != 2 || !errors.Is(refused[2], ErrStale) || !errors.Is(refused[4], ErrQueueLimit) {
		t.Errorf("refused: %v", refused)
	}
	if got := s.Stats(); got.Records != 4 || got.RecordsRefused != 2 || got.Queues != 2 {
		t.Errorf("stats: %+v", got)
	}
	for queue, length := range map[string]uint32{"a": 6, "b": 4} {
		s.mu.RLock()
		f := s.family("gpu0", queue)
		s.mu.RUnlock()
		if v := f.cell.take(); v.queue.QueueLen != length {
			t.Errorf("queue %s has length %d, want the newest, %d", queue, v.queue.QueueLen, length)
		}
	}
	s.Close()
	clear(refused)
	if n := s.IngestFlat("gpu0", records[:2], note); n != 0 || !errors.Is(refused[0], ErrClosed) || !errors.Is(refused[1], ErrClosed) {
		t.Errorf("after the end %d taken, refused %v", n, refused)
	}
}

// A queue that was forgotten may be remembered at either of two places.
func TestForgottenQueueTakesNoFlatRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t, newCountingPublisher())
		defer s.Close()
		for seq := range uint64(4) {
			r := flatOf(t, "q", queueRecord(7, 1+seq, 1))
			r.Place ^= uint16(seq / 2)
			if n := s.IngestFlat("gpu0", []telemetry.Flat{r}, func(_ int, why error) { t.Error(why) }); n != 1 {
				t.Fatal("not taken")
			}
			synctest.Wait() // until it has decided
			s.mu.Lock()
			f := s.family("gpu0", "q")
			if f == nil || f.counts().Records != 1 {
				t.Fatal("the record went to a queue that is forgotten")
			}
			if !f.leave() {
				t.Fatal("the queue is at work")
			}
			s.remove(f)
			s.mu.Unlock()
		}
	})
}
