package natsio

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
)

// Of each queue the server hands out what one consumer may have. What runs of another queue
// does not depend on it.
func TestAQueueThatCannotRunIsNotInFrontOfAnother(t *testing.T) {
	const most = 4
	s := openShop(t, newServer(t).URL(), func(c *WorkConfig) { c.MaxPending = most })
	var stuck []delivery
	for i := range 10 * most {
		s.submit(t, fmt.Sprint("stuck", i))
	}
	for range most {
		stuck = append(stuck, receive(t, s.batches)) // no outcome
	}
	for i := range 20 {
		queue := fmt.Sprint("q", i%3)
		if _, err := storeWork(t, s.client, queue, batchOf(fmt.Sprint("b", i), 1)); err != nil {
			t.Fatal(err)
		}
		d := receive(t, s.batches)
		if d.queue != queue {
			t.Fatalf("queue %s comes, want %s", d.queue, queue)
		}
		d.settled(telemetry.OutcomeDone, nil)
	}
	for _, d := range stuck {
		d.settled(telemetry.OutcomeDone, nil)
	}
	for range 9 * most {
		d := receive(t, s.batches)
		d.settled(telemetry.OutcomeDone, nil)
	}
	s.wantStored(t, 0)
}

// What a crashed process had comes again after the server's wait for a sign of life and, if the
// server was asked for nothing at that moment, the next request. Both together are within 12 s, also of
// a consumer that an earlier version has left; and two signs of life may be lost.
func TestWorkOfACrashedProcessComesAgainWithin12Seconds(t *testing.T) {
	url := newServer(t).URL()
	c := dial(t, fastConfig(url))
	must(t, c.EnsureWorkStream(testContext(t)))
	if _, err := c.js.CreateConsumer(testContext(t), c.WorkStream(), jetstream.ConsumerConfig{
		Durable: "gpu0=a", FilterSubject: "ringmaster.v1.work.gpu0.a", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 30 * time.Second,
	}); err != nil {
		t.Fatal(err)
	}
	s := openShop(t, url, nil)
	s.submit(t, "b1")
	receive(t, s.batches).settled(telemetry.OutcomeDone, nil)
	consumer, err := c.js.Consumer(testContext(t), c.WorkStream(), "gpu0=a")
	must(t, err)
	const asked = time.Second // heartbeats of a request: a second without one, and it is made again
	if wait := consumer.CachedInfo().Config.AckWait; wait+asked > 12*time.Second || wait < 3*pingInterval {
		t.Errorf("the server waits %v for a sign of life", wait)
	}
}

// Whoever can publish may say that there are batches. The worker asks the stream, and not more
// often than every lookPause.
func TestQueuesThatAreOnlySaidToHaveBatchesGetNoConsumer(t *testing.T) {
	s := openShop(t, newServer(t).URL(), nil)
	var asked atomic.Int64
	if _, err := s.client.nc.Subscribe("$JS.API.STREAM.INFO.RINGMASTER_WORK", func(*nats.Msg) { asked.Add(1) }); err != nil {
		t.Fatal(err)
	}
	flush(t, s.client)
	begin := time.Now()
	for i := range 20_000 {
		must(t, s.client.nc.Publish(s.client.cfg.Subjects.Queued("gpu0", fmt.Sprint("none", i)), []byte("x")))
	}
	s.submit(t, "b1")
	receive(t, s.batches).settled(telemetry.OutcomeDone, nil)
	if n, most := asked.Load(), int64(time.Since(begin)/lookPause)+2; n < 1 || n > most {
		t.Errorf("the stream was asked %d times, want 1 to %d", n, most)
	}
	s.consumer.mu.Lock()
	flows := len(s.consumer.flows)
	s.consumer.mu.Unlock()
	if flows != 1 {
		t.Errorf("%d queues are consumed, 1 has a batch", flows)
	}
}

func TestAnIdleQueueGivesItsConsumerBack(t *testing.T) {
	w := WorkConsumer{cfg: DefaultWorkConfig(), pending: make(map[uint64]*batch), flows: make(map[string]*queueFlow)}
	f := &queueFlow{queue: "a"}
	w.flows["a"] = f
	begin := time.Unix(1000, 0)
	f.used.Store(begin.UnixNano())
	if w.flowIdle(f, begin.Add(quietIdle-1)) || !w.flowIdle(f, begin.Add(quietIdle)) {
		t.Error("it is not idle after a minute")
	}
	w.pending[1] = &batch{queue: "a"}
	if w.flowIdle(f, begin.Add(time.Hour)) {
		t.Error("it is idle with a batch at work")
	}
	delete(w.pending, 1)
	if !w.flowIdle(f, begin.Add(time.Hour)) {
		t.Error("it is never idle again")
	}
	w.flow(testContext(t), "a") // heard of before it has ended
	if w.forget(f) {
		t.Error("a batch that was heard of is forgotten")
	}
	w.flowIdle(f, begin.Add(time.Hour))
	if !w.forget(f) || len(w.flows) != 0 {
		t.Error("the flow stays")
	}
	for i := range maxFlows/2 + 1 {
		w.flows[fmt.Sprint(i)] = &queueFlow{}
	}
	if !w.flowIdle(f, begin.Add(crowdedIdle)) {
		t.Error("it is not idle among many")
	}
}

func TestBatchesOfQueuesThatCannotBeAreRefused(t *testing.T) {
	s := openShop(t, newServer(t).URL(), nil)
	rejected := make(chan string, 10)
	if _, err := s.client.SubscribeRejectedInvalid(func(_ *telemetry.Header, r *telemetry.Rejected) { rejected <- r.Subject }); err != nil {
		t.Fatal(err)
	}
	flush(t, s.client)
	for _, subject := range []string{"a.b", "_batch", "a$b", "a.b.c"} {
		if _, err := s.client.js.Publish(testContext(t), "ringmaster.v1.work.gpu0."+subject, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		receive(t, rejected)
	}
	s.wantStored(t, 0)
	if got := s.consumer.Stats(); got.Refused != 4 {
		t.Errorf("stats %+v", got)
	}
}
