package client

import (
	"context"
	"errors"
	"testing"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

func plan(decision uint64) *telemetry.Recommendation {
	return &telemetry.Recommendation{Decision: decision, Topology: "dense_frontier", ValidForMs: 60_000,
		Reasons: []telemetry.Reason{{Rule: "tuned_geometry", Value: decision}}}
}

func subscribe(t testing.TB, c *natsio.Conn, queue string) *Subscriber {
	t.Helper()
	s, err := NewSubscriber(c, "gpu0", queue, SubscriberConfig{})
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

func nextUpdate(t testing.TB, s *Subscriber) Advice {
	t.Helper()
	u, err := s.Next(testContext(t))
	must(t, err)
	return u
}

func openOutlet(t testing.TB, c *natsio.Conn) *natsio.Outlet {
	t.Helper()
	o := c.NewOutlet(natsio.OutletConfig{})
	t.Cleanup(func() { o.Close(testContext(t)) })
	return o
}

func TestSubscriber(t *testing.T) {
	t.Run("gets the snapshot and then every change", func(t *testing.T) {
		url := newServer(t).URL()
		runtime := dial(t, url)
		sink := newSink()
		sink.latest = func(queue string) (telemetry.Recommendation, bool) { return *plan(41), queue == "a" }
		serve(t, runtime, sink)
		o, s := openOutlet(t, runtime), subscribe(t, dial(t, url), "a")
		if u := nextUpdate(t, s); u.Recommendation.Decision != 41 || !u.Usable() || len(u.Recommendation.Reasons) != 1 {
			t.Errorf("first update %+v, want the snapshot", u)
		}
		for i := range uint64(200) {
			o.Recommend("gpu0", "a", plan(42+i), nil)
			o.Recommend("gpu0", "b", plan(900), nil)
			if u := nextUpdate(t, s); !u.Valid || u.Recommendation.Decision != 42+i || u.Recommendation.Reasons[0].Value != 42+i {
				t.Fatalf("update %+v, want decision %d", u, 42+i)
			}
		}
		if a, ok := s.Latest("gpu0", "a"); !ok || a.Recommendation.Decision != 241 || a.Header.Incarnation != runtime.Incarnation() {
			t.Errorf("latest %+v", a)
		}
		if _, ok := s.Latest("gpu0", "b"); ok {
			t.Error("another queue is followed too")
		}
	})
	t.Run("follows all queues", func(t *testing.T) {
		url := newServer(t).URL()
		o, s := openOutlet(t, dial(t, url)), subscribe(t, dial(t, url), Any)
		o.Recommend("gpu0", "a", plan(1), nil)
		o.Recommend("gpu0", "b", plan(2), nil)
		for _, want := range []string{"a", "b"} {
			if u := nextUpdate(t, s); u.Queue != want {
				t.Errorf("update %+v, want queue %s", u, want)
			}
		}
		if n := len(s.All()); n != 2 {
			t.Errorf("%d queues", n)
		}
	})
	t.Run("says when advice expires, and when it is renewed", func(t *testing.T) {
		s := subscribe(t, dial(t, newServer(t).URL()), "a")
		brief := plan(3)
		brief.ValidForMs = 1
		s.take("gpu0", "a", &telemetry.Header{Incarnation: 2, SentNs: 140}, brief)
		for _, valid := range []bool{true, false} {
			if u := nextUpdate(t, s); u.Valid != valid || u.Recommendation.Decision != 3 {
				t.Errorf("decision %d, valid %v, want %v", u.Recommendation.Decision, u.Valid, valid)
			}
		}
		if a, _ := s.Latest("gpu0", "a"); a.Usable() {
			t.Error("expired advice is usable")
		}
		s.take("gpu0", "a", &telemetry.Header{Incarnation: 2, SentNs: 150}, plan(3))
		if u := nextUpdate(t, s); u.Recommendation.Decision != 3 || !u.Usable() {
			t.Errorf("update %+v, want the renewal", u)
		}
	})
	t.Run("ends", func(t *testing.T) {
		c := dial(t, newServer(t).URL())
		s := subscribe(t, c, "a")
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Next(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("an ended context: %v", err)
		}
		s.take("gpu0", "a", &telemetry.Header{Incarnation: 1}, plan(1))
		s.Close()
		nextUpdate(t, s) // what was there is still fetched
		if _, err := s.Next(testContext(t)); !errors.Is(err, natsio.ErrClosed) {
			t.Errorf("a closed subscriber: %v", err)
		}
		if _, err := NewSubscriber(c, "gpu0", "a.b", SubscriberConfig{}); !errors.Is(err, natsio.ErrBadName) {
			t.Errorf("a bad name: %v", err)
		}
	})
}

func TestSubscriberLearnsWhatItMissedWhileTheServerWasAway(t *testing.T) {
	server := newServer(t)
	runtime, client := dial(t, server.URL()), dial(t, server.URL())
	decision := make(chan uint64, 1)
	decision <- 5
	sink := newSink()
	sink.latest = func(string) (telemetry.Recommendation, bool) {
		d := <-decision
		decision <- d
		return *plan(d), true
	}
	serve(t, runtime, sink)
	s := subscribe(t, client, "a")
	if u := nextUpdate(t, s); u.Recommendation.Decision != 5 {
		t.Fatalf("first update %+v", u)
	}
	server.Shutdown()
	for _, c := range []*natsio.Conn{runtime, client} {
		must(t, c.WaitState(testContext(t), natsio.StateDisconnected))
	}
	<-decision
	decision <- 9
	server.start()
	must(t, runtime.WaitState(testContext(t), natsio.StateConnected))
	must(t, runtime.Flush(testContext(t)))
	must(t, client.WaitState(testContext(t), natsio.StateConnected))
	must(t, client.NATS().ForceReconnect()) // it may have asked before the runtime was back
	if u := nextUpdate(t, s); u.Recommendation.Decision != 9 {
		t.Errorf("update %+v, want decision 9", u)
	}
}

// BenchmarkRoundTrip is a report that is flushed, decided in place, and the update of a subscriber.
func BenchmarkRoundTrip(b *testing.B) {
	url := newServer(b).URL()
	runtime, client := dial(b, url), dial(b, url)
	d := &decider{sink: newSink(), o: openOutlet(b, runtime), r: *plan(0)}
	cfg := natsio.DefaultIngestConfig()
	cfg.Telemetry = natsio.RateLimit{PerSecond: 1e12, Burst: 1 << 40}
	_, err := runtime.Serve(d, cfg)
	must(b, err)
	p := openPublisher(b, client, PublisherConfig{})
	s := subscribe(b, client, "a")
	for n := uint32(0); b.Loop(); n++ {
		must(b, p.ReportQueue("gpu0", "a", length(n)))
		must(b, p.Flush(b.Context()))
		nextUpdate(b, s)
	}
}

// decider publishes a new decision for every record.
type decider struct {
	*sink
	o *natsio.Outlet
	r telemetry.Recommendation
}

func (d *decider) Ingest(worker, queue string, _ *telemetry.Record, _ time.Time, _ string) error {
	d.r.Decision++
	d.o.Recommend(worker, queue, &d.r, nil)
	return nil
}
