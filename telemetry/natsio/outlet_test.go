package natsio

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/natstest"
)

func openOutlet(t *testing.T, c *Conn, cfg OutletConfig) *Outlet {
	t.Helper()
	p := c.NewOutlet(cfg)
	t.Cleanup(func() {
		p.Close(testContext(t)) // fails where a test took the server away
	})
	return p
}

func TestRecommendationsCarryIncarnationAndSequenceOfTheirSubject(t *testing.T) {
	url := newServer(t).URL()
	runtime, client := dial(t, fastConfig(url)), dial(t, fastConfig(url))
	p := openOutlet(t, runtime, OutletConfig{})
	type got struct {
		queue string
		h     telemetry.Header
		r     uint64
	}
	seen := make(chan got, 10)
	_, err := client.SubscribeRecommendations("gpu0", "*", func(_, queue string, h *telemetry.Header, r *telemetry.Recommendation) {
		seen <- got{queue, *h, r.Decision}
	})
	must(t, err)
	flush(t, client)
	r := telemetry.Recommendation{Decision: 1}
	p.Recommend("gpu0", "a", &r, nil)
	r.Decision = 2 // the record may be used again at once
	p.Recommend("gpu0", "a", &r, nil)
	p.Recommend("gpu0", "b", &r, nil)
	for _, want := range []struct {
		queue         string
		seq, decision uint64
	}{{"a", 1, 1}, {"a", 2, 2}, {"b", 1, 2}} {
		g := receive(t, seen)
		if g.queue != want.queue || g.h.Seq != want.seq || g.r != want.decision ||
			g.h.Incarnation != runtime.Incarnation() || g.h.SentNs == 0 {
			t.Errorf("got %+v, want %+v", g, want)
		}
	}
}

func TestReportsAndAnnouncementsComeBackToTheSink(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	sink := newSink()
	if _, err := c.Serve(sink, DefaultIngestConfig()); err != nil {
		t.Fatal(err)
	}
	p := openOutlet(t, c, OutletConfig{})
	p.Report("gpu0", "a", &telemetry.Launch{Has: telemetry.HasAllLaunch, Launch: 1,
		Applied: telemetry.Geometry{WorkgroupSizeX: 64, Groups: 1, ClaimChunk: 64}, Recommended: telemetry.Geometry{WorkgroupSizeX: 64, Groups: 1, ClaimChunk: 64}})
	if got := receive(t, sink.calls); got.kind != telemetry.KindLaunch || got.queue != "a" {
		t.Errorf("sink got %+v, want the launch report (refused: %+v)", got, c.Refusals())
	}
	p.Announce("gpu0", &telemetry.Worker{Has: telemetry.HasAllWorker, MaxWorkgroupSizeX: 256,
		MaxWorkgroupsPerDimension: 1024, MaxInvocationsPerWorkgroup: 256})
	if got := receive(t, sink.calls); got.kind != telemetry.KindWorker {
		t.Errorf("sink got %+v, want the announcement (refused: %+v)", got, c.Refusals())
	}
}

func TestDoneIsConfirmedByTheServer(t *testing.T) {
	url := newServer(t).URL()
	runtime, client := dial(t, fastConfig(url)), dial(t, fastConfig(url))
	p := openOutlet(t, runtime, OutletConfig{})
	seen := make(chan telemetry.Done, 1000)
	_, err := client.SubscribeDone("*", "*", func(_, _ string, _ *telemetry.Header, d *telemetry.Done) { seen <- *d })
	must(t, err)
	flush(t, client)
	sent := make(chan error, 1000)
	for i := range 1000 {
		p.Done("gpu0", "a", &telemetry.Done{Batch: fmt.Sprintf("b%d", i), Executed: 3, WorkSentNs: 5}, func(err error) { sent <- err })
	}
	for i := range 1000 {
		must(t, receive(t, sent))
		if d := receive(t, seen); d.Batch != fmt.Sprintf("b%d", i) || d.Executed != 3 || d.WorkSentNs != 5 {
			t.Fatalf("done %+v in place %d", d, i)
		}
	}
	if s := p.Stats(); s.Done != 1000 || s.Confirms >= 1000 {
		t.Errorf("stats %+v, want 1000 done records in fewer round trips", s)
	}
}

func TestDoneWithoutAServerFails(t *testing.T) {
	server := natstest.Start(t)
	c := dial(t, fastConfig(server.URL))
	p := openOutlet(t, c, OutletConfig{})
	server.Kill()
	must(t, c.WaitState(testContext(t), StateDisconnected))
	sent := make(chan error, 1)
	p.Done("gpu0", "a", &telemetry.Done{Batch: "b"}, func(err error) { sent <- err })
	if err := receive(t, sent); !errors.Is(err, ErrDisconnected) {
		t.Errorf("sent %v, want ErrDisconnected", err)
	}
	p.Recommend("gpu0", "a", &telemetry.Recommendation{}, nil)
	c.Close()
	p.Close(testContext(t))
	if s := p.Stats(); s.News != 0 || s.NewsDropped != 1 || s.DoneFailed != 1 {
		t.Errorf("stats %+v, want one dropped and one failed", s)
	}
}

// A flush that succeeds on the next connection must not confirm what was
// written to the last one.
func TestDoneIsNotConfirmedAcrossAReconnect(t *testing.T) {
	server := newServer(t)
	c := dial(t, fastConfig(server.URL()))
	p := openOutlet(t, c, OutletConfig{})
	reconnected := c.nc.StatusChanged()
	before := c.nc.Stats().Reconnects
	must(t, c.nc.ForceReconnect())
	for c.nc.Stats().Reconnects == before {
		receive(t, reconnected)
	}
	must(t, c.WaitState(testContext(t), StateConnected))
	if err := p.confirmSince(before, nil); !errors.Is(err, ErrUnconfirmed) {
		t.Errorf("confirm across a reconnect: %v, want ErrUnconfirmed", err)
	}
	if err := p.confirm(nil); err != nil {
		t.Errorf("confirm on the new connection: %v", err)
	}
}

func TestClosedOutletAnswersEveryCall(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	p := openOutlet(t, c, OutletConfig{})
	sent := make(chan error, 2)
	p.Done("gpu0", "a", &telemetry.Done{Batch: "before"}, func(err error) { sent <- err })
	must(t, p.Close(testContext(t)))
	if err := receive(t, sent); err != nil {
		t.Errorf("done before close: %v", err)
	}
	p.Done("gpu0", "a", &telemetry.Done{Batch: "after"}, func(err error) { sent <- err })
	if err := receive(t, sent); !errors.Is(err, ErrClosed) {
		t.Errorf("done after close: %v, want ErrClosed", err)
	}
	p.Recommend("gpu0", "a", &telemetry.Recommendation{}, nil)
}

func TestFullOutboxKeepsTheNewest(t *testing.T) {
	var o outbox
	o.init(3)
	put := func(name string) {
		l, _ := o.open(true)
		l.subject = name
		o.seal()
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		put(name)
	}
	b, ok := o.take()
	var order string
	for _, run := range [][]letter{b.older, b.newer} {
		for _, l := range run {
			order += l.subject
		}
	}
	if !ok || order != "cde" || b.dropped != 2 {
		t.Errorf("took %q with %d dropped, want cde and 2", order, b.dropped)
	}
	put("f")
	if b, _ := o.take(); len(b.older) != 1 || b.older[0].subject != "f" || b.dropped != 0 {
		t.Errorf("took %+v, want f alone", b)
	}
}

func TestFullOutboxRefusesWhatMayNotBeLost(t *testing.T) {
	var o outbox
	o.init(1)
	_, err := o.open(false)
	o.seal()
	must(t, err)
	_, err = o.open(false)
	o.seal()
	if !errors.Is(err, ErrBacklog) {
		t.Errorf("error %v, want ErrBacklog", err)
	}
}

func TestSequencesNeverFallWhenTheTableIsEmptied(t *testing.T) {
	var s sequences
	for range 5 {
		s.next("busy")
	}
	for i := range maxSequences {
		s.next(fmt.Sprint(i))
	}
	if n := s.next("busy"); n != 6 {
		t.Errorf("number %d after the table was emptied, want 6", n)
	}
	if len(s.last) > maxSequences {
		t.Errorf("%d subjects kept, at most %d", len(s.last), maxSequences)
	}
}

func TestRecommendAllocatesSubjectAndHeaderOnly(t *testing.T) {
	p := &Outlet{conn: dial(t, fastConfig(newServer(t).URL()))} // no writer: its work is not the caller's
	p.news.init(4)
	r := telemetry.Recommendation{Decision: 1, Topology: "dense"}
	for range 8 {
		p.Recommend("gpu0", "a", &r, nil)
	}
	// The connection's goroutines allocate as well, and every allocation of the process counts.
	least := math.Inf(1)
	for range 20 {
		least = min(least, testing.AllocsPerRun(100, func() { p.Recommend("gpu0", "a", &r, nil) }))
	}
	if least > 2 {
		t.Errorf("%v allocations a recommendation, want 2 at most", least)
	}
}

func TestBackoffGrowsToItsBoundAndIsJittered(t *testing.T) {
	const low, high = 100 * time.Millisecond, 2 * time.Second
	for attempt, want := range map[int]time.Duration{
		0: low, 1: low, 2: 2 * low, 4: 8 * low, 5: 16 * low, 6: high, 64: high, 1 << 40: high,
	} {
		different := false
		first := backoff(low, high, attempt)
		for range 100 {
			d := backoff(low, high, attempt)
			if d < want/2 || d > want {
				t.Fatalf("attempt %d: pause %v, want %v..%v", attempt, d, want/2, want)
			}
			different = different || d != first
		}
		if !different {
			t.Errorf("attempt %d: no jitter", attempt)
		}
	}
}
