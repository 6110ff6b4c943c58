package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

func openPublisher(t testing.TB, c *natsio.Conn, cfg PublisherConfig) *Publisher {
	t.Helper()
	p, err := NewPublisher(c, cfg)
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // what has not been sent by now is not part of the test
		p.Close(ctx)
	})
	return p
}

func length(n uint32) *telemetry.Queue {
	return &telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: n}
}

func launchReport(n uint64) *telemetry.Launch {
	return &telemetry.Launch{Has: telemetry.HasAllLaunch &^ telemetry.HasError, Launch: n,
		OpcodeCounts: []uint32{1, uint32(n)}, Fingerprint: make([]byte, telemetry.FingerprintSize)}
}

func limits(width uint32) *telemetry.Worker {
	return &telemetry.Worker{Has: telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension |
		telemetry.HasWorkerMaxInvocationsPerWorkgroup | telemetry.HasCapabilities,
		MaxWorkgroupSizeX: width, MaxWorkgroupsPerDimension: 1024, MaxInvocationsPerWorkgroup: 256, Capabilities: []string{"x"}}
}

func TestPublisher(t *testing.T) {
	t.Run("many queues share few payloads, and a queue record comes last", func(t *testing.T) {
		url := newServer(t).URL()
		s := newSink()
		in := serve(t, dial(t, url), s)
		p := openPublisher(t, dial(t, url), PublisherConfig{})
		p.writing.Lock() // all of it is due before anything is written
		for i := range 64 {
			must(t, p.ReportQueue("gpu0", fmt.Sprintf("q%02d", i), length(uint32(i))))
			must(t, p.ReportGraph("gpu0", fmt.Sprintf("q%02d", i), &telemetry.Graph{Has: telemetry.HasNodeCount, NodeCount: 9}))
		}
		p.writing.Unlock()
		must(t, p.Flush(testContext(t)))
		for _, kind := range []telemetry.Kind{telemetry.KindGraph, telemetry.KindQueue} {
			for i := range 64 {
				if got := receive(t, s.calls); got.queue != fmt.Sprintf("q%02d", i) || got.kind != kind {
					t.Fatalf("got %+v, want the %v record of queue q%02d", got, kind, i)
				}
			}
		}
		if n := p.Stats(); n.Sent != 128 || n.Waiting != 0 {
			t.Errorf("stats %+v, want 128 records", n)
		}
		if n := in.Stats(); n.Messages > 2 || n.Refused != 0 {
			t.Errorf("ingest %+v, want two payloads at most", n)
		}
	})
	t.Run("reports are sent after the linger without a flush", func(t *testing.T) {
		url := newServer(t).URL()
		s := newSink()
		serve(t, dial(t, url), s)
		p := openPublisher(t, dial(t, url), PublisherConfig{})
		must(t, p.ReportQueue("gpu0", "a", length(7)))
		if got := receive(t, s.calls); got.length != 7 || got.queue != "a" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("steady reports do not put off what is due", func(t *testing.T) {
		url := newServer(t).URL()
		s := newSink()
		serve(t, dial(t, url), s)
		p := openPublisher(t, dial(t, url), PublisherConfig{})
		for ctx, n := testContext(t), uint32(0); len(s.calls) < 3; n++ {
			if ctx.Err() != nil {
				t.Fatal("nothing is sent while reports come in")
			}
			must(t, p.ReportQueue("gpu0", "a", length(n)))
		}
	})
	t.Run("fields left out keep what was reported before", func(t *testing.T) {
		url := newServer(t).URL()
		s := newSink()
		serve(t, dial(t, url), s)
		p := openPublisher(t, dial(t, url), PublisherConfig{})
		must(t, p.ReportQueue("gpu0", "a", length(7)))
		must(t, p.ReportQueue("gpu0", "a", &telemetry.Queue{Has: telemetry.HasExecutedCount, ExecutedCount: 5}))
		must(t, p.Flush(testContext(t)))
		for len(s.calls) > 0 {
			if got := <-s.calls; got.length != 7 {
				t.Errorf("got %+v", got)
			}
		}
		err := p.ReportQueue("gpu0", "a", &telemetry.Queue{Has: telemetry.HasExecutedCount, ExecutedCount: 4})
		if telemetry.ReasonOf(err) != telemetry.ReasonInconsistent {
			t.Errorf("a counter that fell: %v", err)
		}
	})
	t.Run("per queue it uses the queue's own subject, with numbers of its own", func(t *testing.T) {
		url := newServer(t).URL()
		c := dial(t, url)
		serve(t, dial(t, url), newSink())
		seen := make(chan string, 10)
		_, err := c.SubscribeLaunches("gpu0", "b", func(_, queue string, h *telemetry.Header, l *telemetry.Launch) {
			seen <- fmt.Sprint(queue, l.Launch, "#", h.Seq)
		})
		must(t, err)
		p := openPublisher(t, c, PublisherConfig{PerQueue: true})
		for i := range uint64(3) {
			must(t, p.ReportLaunch("gpu0", "a", launchReport(i+1)))
			must(t, p.ReportLaunch("gpu0", "b", launchReport(i+1)))
		}
		for _, want := range []string{"b1#1", "b2#2", "b3#3"} {
			if got := receive(t, seen); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
	t.Run("launch reports come in order, the oldest go above the bound", func(t *testing.T) {
		server := newServer(t)
		s := newSink()
		runtime, client := dial(t, server.URL()), dial(t, server.URL())
		serve(t, runtime, s)
		p := openPublisher(t, client, PublisherConfig{})
		server.Shutdown()
		must(t, client.WaitState(testContext(t), natsio.StateDisconnected))
		for i := range uint64(maxLaunches + 200) {
			must(t, p.ReportLaunch("gpu0", "a", launchReport(i+1)))
		}
		if n := p.Stats(); n.Dropped != 200 || n.Waiting != maxLaunches {
			t.Errorf("stats %+v", n)
		}
		server.start()
		must(t, runtime.WaitState(testContext(t), natsio.StateConnected))
		must(t, runtime.Flush(testContext(t)))
		must(t, p.Flush(testContext(t)))
		must(t, p.ReportLaunch("gpu0", "a", launchReport(2*maxLaunches)))
		last := uint64(200)
		for last != 2*maxLaunches {
			got := receive(t, s.calls)
			if got.launch <= last {
				t.Fatalf("report %d after %d", got.launch, last)
			}
			last = got.launch
		}
	})
	t.Run("refuses what the runtime would refuse", func(t *testing.T) {
		p := openPublisher(t, dial(t, newServer(t).URL()), PublisherConfig{})
		if err := p.ReportGraph("gpu0", "a", &telemetry.Graph{Has: telemetry.HasFrontierDensityBps, FrontierDensityBps: 10001}); telemetry.ReasonOf(err) == "" {
			t.Errorf("a density above 100 %%: %v", err)
		}
		for _, name := range [][2]string{{"", "a"}, {"gpu0", "a.b"}, {"gpu0", telemetry.BatchQueue}} {
			if err := p.ReportQueue(name[0], name[1], length(1)); !errors.Is(err, natsio.ErrBadName) {
				t.Errorf("%v: %v, want ErrBadName", name, err)
			}
		}
	})
	t.Run("hears why a runtime refused", func(t *testing.T) {
		url := newServer(t).URL()
		serve(t, dial(t, url), newSink())
		told := make(chan error, 10)
		p := openPublisher(t, dial(t, url), PublisherConfig{OnAnswer: func(err error) { told <- err }})
		must(t, p.ReportQueue("gpu0", "refused", length(1)))
		if err := receive(t, told); !errors.Is(err, natsio.ErrRefused) || !strings.Contains(err.Error(), "inconsistent") {
			t.Errorf("told %v", err)
		}
	})
	t.Run("has sent everything when it is closed, and takes nothing more", func(t *testing.T) {
		url := newServer(t).URL()
		s := newSink()
		serve(t, dial(t, url), s)
		client := dial(t, url)
		p := openPublisher(t, client, PublisherConfig{})
		must(t, p.ReportQueue("gpu0", "a", length(4)))
		must(t, p.Close(testContext(t)))
		if got := receive(t, s.calls); got.length != 4 {
			t.Errorf("got %+v", got)
		}
		if err := p.ReportQueue("gpu0", "a", length(5)); !errors.Is(err, natsio.ErrClosed) {
			t.Errorf("report after close: %v", err)
		}
		must(t, p.Close(testContext(t)))
		late := openPublisher(t, client, PublisherConfig{})
		client.Close()
		<-late.ended
		if err := late.Close(testContext(t)); !errors.Is(err, natsio.ErrClosed) {
			t.Errorf("close after the connection: %v", err)
		}
	})
}

// What was reported while the server was away, and what had been written to it just
// before, arrives as one newest record of each queue.
func TestNewestRecordSurvivesALostServer(t *testing.T) {
	server := newServer(t)
	runtime, client := dial(t, server.URL()), dial(t, server.URL())
	s := newSink()
	serve(t, runtime, s)
	p := openPublisher(t, client, PublisherConfig{})
	must(t, p.Announce("gpu0", limits(256)))
	must(t, p.ReportQueue("gpu0", "quiet", length(5)))
	must(t, p.ReportQueue("gpu0", "busy", length(0)))
	must(t, p.Flush(testContext(t)))
	for range 3 {
		receive(t, s.calls)
	}
	server.Shutdown()
	for _, c := range []*natsio.Conn{runtime, client} {
		must(t, c.WaitState(testContext(t), natsio.StateDisconnected))
	}
	for i := range uint32(1000) {
		must(t, p.ReportQueue("gpu0", "busy", length(i+1)))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Flush(ended); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 records wait") {
		t.Errorf("flush without a server: %v, want canceled and the records that wait", err)
	}
	server.start()
	must(t, runtime.WaitState(testContext(t), natsio.StateConnected))
	must(t, runtime.Flush(testContext(t)))
	must(t, client.NATS().ForceReconnect()) // the runtime may have subscribed too late for the first time
	newest, announced := map[string]uint32{}, false
	for newest["quiet"] != 5 || newest["busy"] != 1000 || !announced {
		switch got := receive(t, s.calls); got.kind {
		case telemetry.KindQueue:
			if newest[got.queue] = got.length; got.queue == "busy" && got.length != 1000 {
				t.Errorf("length %d of the time without a server was sent", got.length)
			}
		case telemetry.KindWorker:
			announced = true
		}
	}
}

func TestPublisherAndSubscriberAreToldWhatTheServerDoesNotPermit(t *testing.T) {
	c := dial(t, permitting(t, "ringmaster.v1.telemetry.gpu0.>"))
	allowed, denied := openPublisher(t, c, PublisherConfig{}), openPublisher(t, c, PublisherConfig{})
	must(t, allowed.ReportQueue("gpu0", "a", length(1)))
	must(t, allowed.Flush(testContext(t)))
	for range 3 { // each refusal is told anew
		must(t, denied.ReportQueue("gpu1", "a", length(1)))
		if err := denied.Flush(testContext(t)); !errors.Is(err, natsio.ErrNotPermitted) || !strings.Contains(err.Error(), "telemetry.gpu1._batch") {
			t.Errorf("flush: %v, want ErrNotPermitted and the subject", err)
		}
	}
	if err := allowed.Flush(testContext(t)); err != nil {
		t.Errorf("a publisher of another subject has the error %v", err)
	}
	s, err := NewSubscriber(c, "gpu0", "a", SubscriberConfig{})
	must(t, err)
	defer s.Close()
	must(t, c.Flush(testContext(t)))
	if err := s.Err(); !errors.Is(err, natsio.ErrNotPermitted) || !strings.Contains(err.Error(), "recommend.gpu0.a") {
		t.Errorf("Err of the subscriber is %v", err)
	}
}

// A runtime that connects again later than the publisher did, and missed what was sent again then.
func TestPublisherSendsAgainForThoseWhoWereAwayForLonger(t *testing.T) {
	t.Parallel() // it waits most of its time
	conn := dial(t, newServer(t).URL())
	p, err := NewPublisher(conn, PublisherConfig{})
	must(t, err)
	defer p.Close(testContext(t))
	must(t, p.ReportQueue("gpu0", "a", &telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: 7}))
	must(t, p.Flush(testContext(t)))
	before := conn.Session()
	must(t, conn.NATS().ForceReconnect())
	for conn.Session() == before || p.Stats().Sent < 2 {
		time.Sleep(time.Millisecond)
	}
	got := make(chan struct{}, 1)
	sub, err := conn.NATS().Subscribe(conn.Subjects().Telemetry("gpu0", telemetry.BatchQueue), func(*nats.Msg) {
		select {
		case got <- struct{}{}:
		default:
		}
	})
	must(t, err)
	defer sub.Unsubscribe()
	select {
	case <-got:
	case <-time.After(patience):
		t.Error("what was kept is not sent again")
	}
}

// Queues that share no payload have nothing to wait for, and the others wait once for all that is reported meanwhile.
func TestOnlyQueuesThatShareAPayloadAreWaitedFor(t *testing.T) {
	for perQueue, want := range map[bool]time.Duration{true: 0, false: linger} {
		synctest.Test(t, func(t *testing.T) {
			p := &Publisher{cfg: PublisherConfig{PerQueue: perQueue}}
			began := time.Now()
			p.gather()
			if waited := time.Since(began); waited != want {
				t.Errorf("per queue %v: waited %v, want %v", perQueue, waited, want)
			}
		})
	}
}
