package natsio

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// anything answers whatever it is asked.
type anything struct{}

func (anything) Read(_ string, _ uint32, words []uint32) (uint64, error) { return 1, nil }
func (anything) Write(string, uint32, []uint32) (uint64, error)          { return 1, nil }
func (anything) Answer(context.Context, string, *telemetry.GraphRequest) error {
	return nil
}

// answering is a runtime that answers every request that there is.
func answering(t *testing.T, cfg Config) *Conn {
	t.Helper()
	c := dial(t, cfg)
	sink := newSink()
	in, err := c.Serve(sink, DefaultIngestConfig())
	must(t, err)
	heap, err := c.ServeHeap("gpu0", anything{})
	must(t, err)
	graphs, err := c.ServeGraphs("gpu0", anything{})
	must(t, err)
	cancel, err := c.ServeCancel("gpu0", func(_, _, _ string, answer func(telemetry.CancelFound, int, error)) { answer(0, 0, nil) })
	must(t, err)
	service, err := c.RegisterService(ServiceConfig{Status: func() any { return 7 }})
	must(t, err)
	t.Cleanup(func() {
		must(t, service.Stop(testContext(t)))
		for _, s := range []interface{ Stop(context.Context) error }{in, heap, graphs, cancel} {
			must(t, s.Stop(testContext(t)))
		}
	})
	flush(t, c)
	return c
}

// A requester chooses the reply subject, and the runtime would write there with its own rights.
func TestRequestsAreAnsweredAtInboxesOnly(t *testing.T) {
	url := newServer(t).URL()
	runtime, client := answering(t, fastConfig(url)), dial(t, fastConfig(url))
	requests := map[string][]byte{ // of a queue each: refusals of one are reported, and answered, at a limited rate
		"ringmaster.v1.snapshot.gpu0.a": nil, "ringmaster.v1.status": nil,
		"ringmaster.v1.telemetry.gpu0.b": []byte("bad"), "ringmaster.v1.heap.gpu0.c": []byte("bad"),
		"ringmaster.v1.graph.gpu0.d": []byte("bad"), "ringmaster.v1.cancel.gpu0.e": []byte("bad"),
		"$SRV.PING": nil, "$SRV.INFO.ringmaster": nil, "$SRV.STATS": nil,
	}
	foreign := []string{
		"ringmaster.v1.recommend.gpu1.q", "ringmaster.v1.work.gpu1.q", "ringmaster.v1.telemetry.gpu1.q", "ringmaster.v1.worker.gpu1",
		"_INBOX_other.x", "_INBOX", "_INBOX.", "$JS.API.STREAM.DELETE.X", "$SYS.REQ.SERVER.PING", "else",
	}
	written := make(chan string, 1000)
	for _, subject := range foreign {
		if strings.HasSuffix(subject, ".") {
			continue // nobody can subscribe to it
		}
		_, err := client.nc.Subscribe(subject, func(m *nats.Msg) { written <- m.Subject + ": " + string(m.Data) })
		must(t, err)
	}
	sent := uint64(0)
	for subject, payload := range requests {
		for _, reply := range foreign {
			must(t, client.nc.PublishRequest(subject, reply, payload))
			sent++
		}
		if subject == "ringmaster.v1.telemetry.gpu0.b" { // refused as malformed before anybody is looked for to answer
			sent -= uint64(len(foreign))
		}
		m, err := client.nc.Request(subject, payload, patience) // handled after the others
		if err != nil || len(m.Data) == 0 && len(m.Header) == 0 {
			t.Errorf("%s: %v, %v, want an answer", subject, m, err)
		}
	}
	flush(t, client)
	if n := runtime.Refusals().ByReason[ReasonBadReply]; n != sent {
		t.Errorf("%d of %d requests were refused", n, sent)
	}
	select {
	case got := <-written:
		t.Errorf("the runtime wrote %s", got)
	default:
	}
}

func TestRepliesGoWhereTheConfigurationSays(t *testing.T) {
	url := newServer(t).URL()
	cfg := fastConfig(url)
	cfg.ReplyPrefixes, cfg.Inbox = []string{"_INBOX_a", "boxes.b"}, "_INBOX_own"
	runtime := answering(t, cfg)
	for inbox, answered := range map[string]bool{"_INBOX_a": true, "boxes.b": true, "_INBOX_own": true, "": false, "_INBOX_c": false, "boxes": false} {
		cfg := fastConfig(url)
		cfg.Inbox = inbox
		client := dial(t, cfg)
		ctx, cancel := testContext(t), context.CancelFunc(func() {})
		if !answered {
			ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
		}
		_, _, err := snapshotOf(ctx, client, "gpu0", "q")
		cancel()
		switch {
		case answered && !errors.Is(err, ErrNoRecommendation):
			t.Errorf("inboxes %q: %v, want an answer", inbox, err)
		case !answered && !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("inboxes %q: %v, want none", inbox, err)
		case !answered && inbox != "" && !strings.Contains(err.Error(), "--reply-prefix "+inbox):
			t.Errorf("inboxes %q: %v, which does not say what to do", inbox, err)
		}
	}
	if n := runtime.Refusals().ByReason[ReasonBadReply]; n != 3 {
		t.Errorf("%d requests were refused, want 3", n)
	}
}

func TestReplyPrefixesHoldInboxesOnly(t *testing.T) {
	for _, prefix := range []string{"", ".", "a.", "a..b", "*", "a.>", "a b", "$JS", "$SRV.a", "ringmaster", "ringmaster.v1", "ringmaster.v1.work", strings.Repeat("a", 200)} {
		cfg := fastConfig("nats://127.0.0.1:1")
		cfg.ReplyPrefixes = []string{prefix}
		if cfg.Validate() == nil {
			t.Errorf("%q is taken", prefix)
		}
	}
	cfg := fastConfig("nats://127.0.0.1:1")
	cfg.ReplyPrefixes, cfg.Inbox = []string{"_INBOX", "_INBOX_a", "ringmaster.inboxes"}, "_INBOX.a"
	must(t, cfg.Validate())
}
