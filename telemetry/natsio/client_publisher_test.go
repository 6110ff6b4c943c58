package natsio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry"
)

func openPublisher(t *testing.T, c *Conn, change func(*PublisherConfig)) *Publisher {
	t.Helper()
	cfg := DefaultPublisherConfig()
	if change != nil {
		change(&cfg)
	}
	p, err := c.NewPublisher(cfg)
	if err != nil {
		t.Fatal(err)
	}
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

func published(t *testing.T, p *Publisher) {
	t.Helper()
	if err := p.Flush(testContext(t)); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReportsOfManyQueuesShareFewPayloads(t *testing.T) {
	d := openDoor(t, nil)
	p := openPublisher(t, d.client, func(c *PublisherConfig) { c.Linger = time.Second })
	for i := range 64 {
		must(t, p.ReportGraph("gpu0", fmt.Sprint("q", i), &telemetry.Graph{Has: telemetry.HasNodeCount, NodeCount: 9}))
		must(t, p.ReportQueue("gpu0", fmt.Sprint("q", i), length(uint32(i))))
	}
	published(t, p)
	for i := range 64 {
		for _, kind := range []telemetry.Kind{telemetry.KindGraph, telemetry.KindQueue} {
			got := receive(t, d.sink.calls)
			if got.queue != fmt.Sprint("q", i) || got.kind != kind || kind == telemetry.KindQueue && got.length != uint32(i) {
				t.Fatalf("sink got %+v, want the %v record of queue q%d", got, kind, i)
			}
		}
	}
	if s := p.Stats(); s.Sent != 128 || s.Payloads > 2 || s.Waiting != 0 {
		t.Errorf("stats %+v, want 128 records in two payloads at most", s)
	}
	if s := d.ingest.Stats(); s.Messages > 2 || s.Refused != 0 {
		t.Errorf("ingest %+v, want two messages at most and no refusal (%+v)", s, d.runtime.Refusals())
	}
}

func TestReportIsSentAfterTheLingerWithoutAFlush(t *testing.T) {
	d := openDoor(t, nil)
	for _, linger := range []time.Duration{0, time.Millisecond} {
		p := openPublisher(t, d.client, func(c *PublisherConfig) { c.Linger = linger })
		must(t, p.ReportQueue("gpu0", "a", length(7)))
		if got := receive(t, d.sink.calls); got.length != 7 || got.queue != "a" {
			t.Errorf("linger %v: sink got %+v", linger, got)
		}
	}
}

func TestPublisherPerQueueUsesTheQueuesOwnSubjects(t *testing.T) {
	d := openDoor(t, nil)
	seen := make(chan string, 10)
	_, err := d.client.SubscribeLaunches("gpu0", "b", func(_, queue string, h *telemetry.Header, l *telemetry.Launch) {
		seen <- fmt.Sprint(queue, l.Launch, "#", h.Seq)
	})
	must(t, err)
	flush(t, d.client)
	p := openPublisher(t, d.client, func(c *PublisherConfig) { c.PerQueue = true })
	for i := range uint64(3) {
		must(t, p.ReportLaunch("gpu0", "a", launchReportOf(i+1)))
		must(t, p.ReportLaunch("gpu0", "b", launchReportOf(i+1)))
	}
	published(t, p)
	for _, want := range []string{"b1#1", "b2#2", "b3#3"} {
		if got := receive(t, seen); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if n := d.ingest.Stats().Refused; n != 0 {
		t.Errorf("%d refused: %+v", n, d.runtime.Refusals())
	}
}

func launchReportOf(n uint64) *telemetry.Launch {
	return &telemetry.Launch{Has: telemetry.HasAllLaunch &^ telemetry.HasError, Launch: n,
		OpcodeCounts: []uint32{1, uint32(n)}, Fingerprint: make([]byte, telemetry.FingerprintSize)}
}

// What was reported while the server was dead, and what had been written to it
// just before, arrives as one newest record of each queue.
func TestNewestRecordSurvivesAKilledServer(t *testing.T) {
	server := startProcess(t)
	runtime, client := dial(t, fastConfig(server.url)), dial(t, fastConfig(server.url))
	sink := newSink()
	_, err := runtime.Serve(sink, DefaultIngestConfig())
	must(t, err)
	flush(t, runtime)
	p := openPublisher(t, client, func(c *PublisherConfig) { c.AnnounceEvery = 0 })
	must(t, p.Announce("gpu0", announcementOf(256)))
	must(t, p.ReportQueue("gpu0", "quiet", length(5)))
	must(t, p.ReportQueue("gpu0", "busy", length(0)))
	published(t, p)
	for range 3 {
		receive(t, sink.calls)
	}
	server.kill()
	for _, c := range []*Conn{runtime, client} {
		must(t, c.WaitState(testContext(t), StateDisconnected))
	}
	for i := range uint32(1000) {
		must(t, p.ReportQueue("gpu0", "busy", length(i+1)))
		if i < 10 {
			must(t, p.ReportLaunch("gpu0", "busy", launchReportOf(uint64(i+1))))
		}
	}
	// The last two need not wait for the server: an ended context says so.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Flush(ended); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "11 records wait") {
		t.Errorf("flush without a server: %v, want canceled and the records that wait", err)
	}
	server.start()
	must(t, runtime.WaitState(testContext(t), StateConnected))
	flush(t, runtime)
	// The runtime may have subscribed too late for the first time they were sent.
	must(t, client.nc.ForceReconnect())
	published(t, p)
	newest, launches, announced := map[string]uint32{}, 0, false
	for newest["quiet"] != 5 || newest["busy"] != 1000 || !announced {
		switch got := receive(t, sink.calls); got.kind {
		case telemetry.KindQueue:
			if newest[got.queue] = got.length; got.queue == "busy" && got.length != 1000 {
				t.Errorf("length %d of the time without a server was sent", got.length)
			}
		case telemetry.KindLaunch:
			launches++
		case telemetry.KindWorker:
			announced = true
		}
	}
	if s := p.Stats(); s.Coalesced < 999 || s.Resent < 2 || s.Dropped != 0 || s.Waiting != 0 {
		t.Errorf("stats %+v, want 999 coalesced and two resent at least", s)
	}
	if launches > 10 {
		t.Errorf("%d launch reports came, 10 were made", launches)
	}
}

func announcementOf(size uint32) *telemetry.Worker {
	return &telemetry.Worker{Has: telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension |
		telemetry.HasWorkerMaxInvocationsPerWorkgroup | telemetry.HasCapabilities,
		MaxWorkgroupSizeX: size, MaxWorkgroupsPerDimension: 1024, MaxInvocationsPerWorkgroup: 256, Capabilities: []string{"x"}}
}

func TestPublisherStartsBeforeTheServer(t *testing.T) {
	server := startProcess(t)
	server.kill()
	c, err := Connect(fastConfig(server.url))
	must(t, err)
	t.Cleanup(func() { c.Close(); <-c.Closed() })
	sink := newSink()
	_, err = c.Serve(sink, DefaultIngestConfig())
	must(t, err)
	p := openPublisher(t, c, nil)
	must(t, p.ReportQueue("gpu0", "a", length(3)))
	server.start()
	if got := receive(t, sink.calls); got.length != 3 {
		t.Errorf("sink got %+v, want the record of before the start", got)
	}
}

func TestDeniedSubjectIsToldToThePublisher(t *testing.T) {
	server := startProcess(t)
	server.kill()
	conf := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(conf, []byte(`authorization { users = [ { user: w, password: w, permissions: {
		publish: { allow: ["ringmaster.v1.telemetry.gpu0.>"] }, subscribe: { allow: ["_INBOX.>"] } } } ] }`), 0o600))
	server.args = append(server.args, "-c", conf)
	server.start()
	c := dial(t, fastConfig(strings.Replace(server.url, "//", "//w:w@", 1)))
	told := make(chan error, 10)
	p := openPublisher(t, c, func(c *PublisherConfig) { c.OnError = func(err error) { told <- err } })
	other := openPublisher(t, c, nil)
	must(t, other.ReportQueue("gpu0", "a", length(1)))
	published(t, other)
	must(t, p.ReportQueue("gpu1", "a", length(1)))
	err := receive(t, told)
	if !errors.Is(err, ErrNotPermitted) || !strings.Contains(err.Error(), "telemetry.gpu1._batch") {
		t.Errorf("told %v, want ErrNotPermitted and the subject", err)
	}
	if got := p.Err(); got != err {
		t.Errorf("Err is %v, want what was told", got)
	}
	if err := other.Err(); err != nil {
		t.Errorf("a publisher of another subject has the error %v", err)
	}
}

func TestClosedPublisherHasSentEverythingAndTakesNothing(t *testing.T) {
	d := openDoor(t, nil)
	p := openPublisher(t, d.client, func(c *PublisherConfig) { c.Linger = time.Second })
	must(t, p.ReportQueue("gpu0", "a", length(4)))
	must(t, p.Close(testContext(t)))
	if got := receive(t, d.sink.calls); got.length != 4 {
		t.Errorf("sink got %+v", got)
	}
	if err := p.ReportQueue("gpu0", "a", length(5)); !errors.Is(err, ErrClosed) {
		t.Errorf("report after close: %v, want ErrClosed", err)
	}
	must(t, p.Close(testContext(t)))
	late := openPublisher(t, d.client, nil)
	d.client.Close()
	<-late.ended
	if err := late.Close(testContext(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("close after the connection: %v, want ErrClosed", err)
	}
}
