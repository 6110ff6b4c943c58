package client

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"ringmaster/ring"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// permitting starts a server whose user may publish on some subjects, and read answers.
func permitting(t *testing.T, publish ...string) (url string) {
	t.Helper()
	subjects := func(s ...string) *natsserver.SubjectPermission { return &natsserver.SubjectPermission{Allow: s} }
	srv, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoLog: true, NoSigs: true, Users: []*natsserver.User{{
		Username: "w", Password: "w", Permissions: &natsserver.Permissions{Publish: subjects(publish...), Subscribe: subjects("_INBOX.>")},
	}}})
	must(t, err)
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(patience) {
		t.Fatal("not ready")
	}
	return strings.Replace(srv.ClientURL(), "//", "//w:w@", 1)
}

func oneSlot(batch string) *telemetry.Work {
	return &telemetry.Work{Has: telemetry.HasBatch | telemetry.HasSlots, Batch: batch, Slots: []ring.Slot{{}}}
}

// A request whose subject the server refuses to this user fails with that, and not when its time is over.
func TestARefusedSubjectIsTheErrorOfARequest(t *testing.T) {
	c := dial(t, permitting(t, "ringmaster.v1.telemetry.gpu0.>"))
	ctx := testContext(t) // whoever waits for an answer has another error then
	header := telemetry.Header{Incarnation: 1, Seq: 1, SentNs: 1}
	for range 2 { // each refusal is told anew
		for name, ask := range map[string]func() error{
			"publish work": func() error { _, err := PublishWork(ctx, c, "gpu0", "q", header, oneSlot("b")); return err },
			"snapshot":     func() error { _, _, err := Snapshot(ctx, c, "gpu0", "q"); return err },
			"upload":       func() error { _, err := Upload(ctx, c, "gpu0", "q", 0, []uint32{1}); return err },
			"download":     func() error { return Download(ctx, c, "gpu0", "q", 0, make([]uint32, 1)) },
			"cancel":       func() error { _, _, err := Cancel(ctx, c, "gpu0", "q", "b"); return err },
			"graphs": func() error {
				_, err := AskGraphs(ctx, c, "gpu0", "q", &telemetry.GraphRequest{Ask: telemetry.GraphList})
				return err
			},
		} {
			if err := ask(); !errors.Is(err, natsio.ErrNotPermitted) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	stored := make(chan error, 1)
	must(t, NewWorkPublisher(c, 1).Publish(ctx, "gpu0", "q", header, oneSlot("b"), func(_ bool, err error) { stored <- err }))
	if err := receive(t, stored); !errors.Is(err, natsio.ErrNotPermitted) {
		t.Errorf("a work publisher: %v", err)
	}
}

// Who may not hear what becomes of batches is told so before the first is sent: a done record could come before the
// word of the refusal.
func TestWhoMayNotHearOutcomesIsToldAtOnce(t *testing.T) {
	url := permitting(t)
	for range 50 {
		c := dial(t, url)
		if _, err := FollowOutcomes(testContext(t), c, "gpu0", "q", func(string) bool { return true }); !errors.Is(err, natsio.ErrNotPermitted) {
			t.Fatal(err)
		}
		c.Close()
	}
}

// A server that takes what is published and never acknowledges it, as one that its cluster has lost, is left for
// another one; what is under way there is stored once.
func TestBatchesGoToAnotherServerWhenNoAcknowledgementsCome(t *testing.T) {
	t.Parallel() // it waits most of its time
	lost, whole := newServer(t), newServer(t)
	must(t, dial(t, whole.URL()).EnsureWorkStream(testContext(t)))
	whole.Shutdown() // so that the connection begins at the other
	c := dial(t, lost.URL()+","+whole.URL())
	swallowed := make(chan struct{}, 100)
	_, err := dial(t, lost.URL()).NATS().Subscribe("ringmaster.v1.work.>", func(*nats.Msg) { swallowed <- struct{}{} })
	must(t, err)
	whole.start()
	ctx := testContext(t)
	publisher, stored := NewWorkPublisher(c, 8), make(chan error, 8)
	for i := range cap(stored) {
		header := telemetry.Header{Incarnation: 1, Seq: uint64(i + 1), SentNs: 1}
		must(t, publisher.Publish(ctx, "gpu0", "q", header, oneSlot(fmt.Sprint("b", i)), func(_ bool, err error) { stored <- err }))
	}
	receive(t, swallowed)
	for range cap(stored) {
		must(t, receive(t, stored))
	}
	if at := c.NATS().ConnectedUrl(); at != whole.URL() {
		t.Errorf("connected to %s, want %s", at, whole.URL())
	}
	stream, err := c.JetStream().Stream(ctx, c.WorkStream())
	must(t, err)
	if n := stream.CachedInfo().State.Msgs; n != uint64(cap(stored)) {
		t.Errorf("%d batches are stored, want %d", n, cap(stored))
	}
}
