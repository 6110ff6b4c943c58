package poison

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/natstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var must = natstest.Must

func record(batch string) []byte {
	return telemetry.Append(nil, telemetry.EncodingArray, telemetry.Header{Incarnation: 7, Seq: 1}, &telemetry.Work{
		Has: telemetry.HasBatch | telemetry.HasSlots, Batch: batch, Slots: []telemetry.Slot{{Opcode: 1, Priority: 2}},
	})
}

// set sets a batch aside and waits for it.
func set(t testing.TB, k *Keeper, b *natsio.GivenUp) error {
	t.Helper()
	kept := make(chan error, 1)
	k.SetAside(b, func(err error) { kept <- err })
	return <-kept
}

func all(t testing.TB, c *natsio.Conn, worker, queue string) (list []*Batch) {
	t.Helper()
	must(t, List(bustest.Context(t), c, worker, queue, func(b *Batch) error {
		list = append(list, b)
		return nil
	}))
	return list
}

// A batch that ends in nothing each time is set aside, told to its submitter as given up, and is in
// the stream of batches no more. Run again, it comes once more.
func TestABatchThatNeverEndsIsSetAside(t *testing.T) {
	c := bustest.Dial(t, bustest.Server(t).URL())
	must(t, c.EnsureWorkStream(bustest.Context(t)))
	var told atomic.Pointer[telemetry.Done]
	cfg := natsio.DefaultWorkConfig()
	cfg.RetryMin, cfg.RetryMax, cfg.MaxDeliveries = time.Millisecond, time.Millisecond, 3
	cfg.SetAside = NewKeeper(c).SetAside
	cfg.GaveUp = func(_, _ string, d *telemetry.Done, sent func(error)) {
		told.Store(d)
		sent(nil)
	}
	var heals atomic.Bool
	came := make(chan string, 100)
	consumer, err := c.ConsumeWork(bustest.Context(t), "w", cfg, func(_, _ string, w *telemetry.Work, _ int64, settled func(telemetry.Outcome, error)) {
		came <- w.Batch
		if heals.Load() {
			settled(telemetry.OutcomeDone, nil)
		} else {
			settled(telemetry.OutcomeRetry, errors.New("it ends whatever runs it"))
		}
	})
	must(t, err)
	defer func() { must(t, consumer.Drain(bustest.Context(t))) }()
	_, err = c.JetStream().Publish(bustest.Context(t), c.Subjects().Work("w", "q"), record("b1"))
	must(t, err)
	for consumer.Stats().GivenUp == 0 {
		time.Sleep(time.Millisecond)
	}
	if n := len(came); n != 3 {
		t.Errorf("it came %d times", n)
	}
	list := all(t, c, "*", "*")
	if len(list) != 1 || list[0].Batch != "b1" || list[0].Worker != "w" || list[0].Queue != "q" || list[0].Deliveries != 3 || list[0].Slots != 1 || !list[0].Kept {
		t.Fatalf("set aside: %+v", list)
	}
	if d := told.Load(); d == nil || d.Batch != "b1" || d.Dropped != 1 || !strings.Contains(d.Error, "given up") {
		t.Errorf("told %+v", d)
	}
	heals.Store(true)
	b, err := Get(bustest.Context(t), c, list[0].Sequence)
	must(t, err)
	must(t, Again(bustest.Context(t), c, b))
	for consumer.Stats().Done == 0 {
		time.Sleep(time.Millisecond)
	}
	if left := all(t, c, "*", "*"); len(left) != 0 {
		t.Errorf("still set aside: %+v", left[0])
	}
	if err := Again(bustest.Context(t), c, b); !errors.Is(err, ErrNone) { // as a command would whose answer was lost
		t.Errorf("again: %v", err)
	}
	if n := consumer.Stats().Done; n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

func TestBatchesAreListedAndRemovedByQueue(t *testing.T) {
	c := bustest.Dial(t, bustest.Server(t).URL())
	if list := all(t, c, "*", "*"); len(list) != 0 {
		t.Errorf("%d without a stream", len(list))
	}
	must(t, Purge(bustest.Context(t), c, "*", "*"))
	if _, err := Get(bustest.Context(t), c, 1); !errors.Is(err, ErrNone) {
		t.Errorf("get: %v", err)
	}
	k := NewKeeper(c)
	for i := range 3 {
		for _, queue := range []string{"a", "b"} {
			must(t, set(t, k, &natsio.GivenUp{Worker: "w", Queue: queue, Batch: fmt.Sprint(queue, i), Sequence: uint64(i + 1), Data: record("x")}))
		}
	}
	must(t, set(t, k, &natsio.GivenUp{Worker: "w", Queue: "a", Batch: "a0", Sequence: 1, Data: record("x")})) // its process had ended before it said so
	list := all(t, c, "w", "a")
	if len(list) != 3 || list[0].Batch != "a0" || list[2].Batch != "a2" {
		t.Fatalf("%d of queue a", len(list))
	}
	must(t, Remove(bustest.Context(t), c, list[1].Sequence))
	if err := Remove(bustest.Context(t), c, list[1].Sequence); !errors.Is(err, ErrNone) {
		t.Errorf("removed twice: %v", err)
	}
	must(t, Purge(bustest.Context(t), c, "*", "b"))
	if left := all(t, c, "*", "*"); len(left) != 2 {
		t.Errorf("%d left", len(left))
	}
}

// A queue has room for so many; the oldest go first, and nobody else's.
func TestAQueueHasItsShare(t *testing.T) {
	c := bustest.Dial(t, bustest.Server(t).URL())
	k := NewKeeper(c)
	must(t, set(t, k, &natsio.GivenUp{Worker: "w", Queue: "victim", Batch: "v", Sequence: 1, Data: record("x")}))
	for i := range 3 * perQueue {
		must(t, set(t, k, &natsio.GivenUp{Worker: "w", Queue: "flood", Batch: fmt.Sprint(i), Sequence: uint64(i + 2), Data: record("x")}))
	}
	if list := all(t, c, "w", "flood"); len(list) != perQueue || list[0].Batch != fmt.Sprint(2*perQueue) {
		t.Errorf("%d, the first %s", len(list), list[0].Batch)
	}
	if list := all(t, c, "w", "victim"); len(list) != 1 {
		t.Errorf("%d of the victim", len(list))
	}
}

func TestWhatDoesNotFitIsSaid(t *testing.T) {
	c := bustest.Dial(t, bustest.Server(t).URL())
	must(t, set(t, NewKeeper(c), &natsio.GivenUp{Worker: "w", Queue: "q", Batch: "large", Sequence: 1, Data: make([]byte, c.NATS().MaxPayload())}))
	list := all(t, c, "*", "*")
	if len(list) != 1 || list[0].Kept || list[0].Bytes != int(c.NATS().MaxPayload()) {
		t.Fatalf("%+v", list)
	}
	if err := Again(bustest.Context(t), c, list[0]); !errors.Is(err, ErrNotKept) {
		t.Errorf("again: %v", err)
	}
}

func TestAStreamOfAnotherPurposeIsNamed(t *testing.T) {
	c := bustest.Dial(t, bustest.Server(t).URL())
	_, err := c.JetStream().CreateStream(bustest.Context(t), jetstream.StreamConfig{Name: StreamName(c.Subjects()), Subjects: []string{"else.>"}})
	must(t, err)
	if err := set(t, NewKeeper(c), &natsio.GivenUp{Worker: "w", Queue: "q", Batch: "b", Sequence: 1, Data: record("b")}); !errors.Is(err, natsio.ErrStreamConflict) {
		t.Errorf("error %v", err)
	}
}
