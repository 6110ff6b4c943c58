package natsio

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/access"
	"ringmaster/telemetry/natsio/natstest"
)

// withRights starts a server whose users have the rights of the table, and returns the worker
// of gpu0 and the submitter of its queue q.
func withRights(t *testing.T) (worker, submitter Config) {
	t.Helper()
	users, err := (&access.Fleet{Workers: []string{"gpu0"}, Queues: []string{"q"}}).Users()
	must(t, err)
	for i := range users {
		t.Setenv(users[i].Variable(), "secret")
	}
	conf := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(conf, []byte(access.Conf(users)), 0o600))
	server := natstest.Start(t)
	server.Kill()
	server.Args = append(server.Args, "-c", conf)
	server.Start()
	as := func(user string) Config {
		return fastConfig(strings.Replace(server.URL, "//", "//"+user+":secret@", 1))
	}
	return as("worker-gpu0"), as("submitter-gpu0-q")
}

// The table has every right that is used, so nothing is refused, and the submitter's end at its queue.
func TestRightsOfAWorkerAndASubmitterSuffice(t *testing.T) {
	as, by := withRights(t)
	c, client := dial(t, as), dial(t, by)

	// All that a worker does on the bus, as worker.Node has it.
	for _, subject := range []string{"decider.gpu0", "node.1f"} {
		must(t, c.publish(c.prefix()+"."+subject, nil))
	}
	for _, subject := range []string{"decider", "decider.*", "node.1f"} {
		_, err := c.nc.Subscribe(c.prefix()+"."+subject, func(*nats.Msg) {})
		must(t, err)
	}
	outlet := c.NewOutlet(OutletConfig{})
	defer func() { must(t, outlet.Close(testContext(t))) }()
	results := c.NewResults()
	defer results.Close()
	found := make(chan string, 1)
	must(t, results.Follow("dev", func(key string, _ []byte) { found <- key }))
	must(t, results.Share("dev", "k", func([]byte) []byte { return []byte("v") }))
	ingest := DefaultIngestConfig()
	in, err := c.Serve(nullSink{}, ingest)
	must(t, err)
	defer func() { must(t, in.Stop(testContext(t))) }()
	service, err := c.RegisterService(ServiceConfig{Status: func() any { return 1 }, Node: "gpu0", Nodes: []NodeEndpoint{
		{Name: "state"}, {Name: "config"}, {Name: "drain"},
	}})
	must(t, err)
	defer func() { must(t, service.Stop(testContext(t))) }()
	work := DefaultWorkConfig()
	consumer, err := c.ConsumeWork(t.Context(), "gpu0", work, func(worker, queue string, w *telemetry.Work, _ int64, settled func(telemetry.Outcome, error)) {
		outlet.Report(worker, queue, &telemetry.Launch{Has: telemetry.HasLaunch | telemetry.HasStatus, Launch: 1})
		outlet.Recommend(worker, queue, &telemetry.Recommendation{}, nil)
		outlet.Done(worker, queue, &telemetry.Done{Batch: w.Batch, Executed: uint32(w.Count())}, func(err error) {
			settled(telemetry.OutcomeDone, err)
		})
	})
	must(t, err)
	outlet.Announce("gpu0", &telemetry.Worker{})
	receive(t, readiness(consumer.Ready()))
	receive(t, found)

	done := make(chan string, 1)
	_, err = client.SubscribeDone("gpu0", "q", func(_, _ string, _ *telemetry.Header, d *telemetry.Done) { done <- d.Batch })
	must(t, err)
	rejected := make(chan string, 1)
	_, err = client.SubscribeRejected("gpu0", "q", func(_, _ string, _ *telemetry.Header, r *telemetry.Rejected) { rejected <- r.Reason })
	must(t, err)
	flush(t, client)
	if _, err := storeWork(t, client, "q", batchOf("b1", 1)); err != nil {
		t.Fatal(err)
	}
	must(t, client.nc.Publish(by.Subjects.Queued("gpu0", "q"), nil))
	if got := receive(t, done); got != "b1" {
		t.Errorf("done record of %s", got)
	}
	if _, err := client.js.Publish(testContext(t), by.Subjects.Work("gpu0", "q"), []byte("bad")); err != nil {
		t.Fatal(err)
	}
	receive(t, rejected)
	must(t, consumer.Drain(testContext(t)))
	for name, conn := range map[string]*Conn{"worker": c, "submitter": client} {
		flush(t, conn)
		if denied := conn.Denied(); len(denied) != 0 {
			t.Errorf("%s: rights are missing: %v", name, denied)
		}
	}

	// Beyond its queue a submitter has none.
	beyond := []string{
		by.Subjects.Work("gpu0", "other"), by.Subjects.Done("gpu0", "q"), "$JS.API.CONSUMER.CREATE.RINGMASTER_WORK.mine.ringmaster.v1.work.gpu0.q",
		"$JS.API.CONSUMER.MSG.NEXT.RINGMASTER_WORK.gpu0=q", "$JS.ACK.RINGMASTER_WORK.gpu0=q.1.1.1.1.0", "$JS.API.STREAM.PURGE.RINGMASTER_WORK",
	}
	for _, subject := range beyond {
		must(t, client.nc.Publish(subject, nil))
	}
	flush(t, client)
	denied := client.Denied()
	for _, subject := range beyond {
		if denied[subject] == nil {
			t.Errorf("a submitter may publish on %s", subject)
		}
	}
	for spared, want := range map[string]bool{"$JS.>": false, "$JS.API.>": false, "$JS.API.CONSUMER.>": false, "$J.>": true, "ringmaster.v1.>": true} {
		others := []string{spared, beyond[0], beyond[1], beyond[4], beyond[5]}
		ctx, cancel := client.Permitted(t.Context(), others...)
		if ended := ctx.Err() != nil; ended != want {
			t.Errorf("without what %s stands for, the context has ended: %v", spared, ended)
		}
		cancel()
	}
}

// A done record that its sender may not publish is with nobody, and its batch is not acknowledged.
func TestADoneRecordThatIsRefusedIsNotConfirmed(t *testing.T) {
	_, submitter := withRights(t)
	for _, keep := range []KeepDone{KeepNone, KeepIfPossible} {
		c := dial(t, submitter) // who may hear done records, and publish none
		o := openOutlet(t, c, OutletConfig{KeepDone: keep})
		sent := make(chan error, 1)
		o.Done("gpu0", "q", &telemetry.Done{Batch: "b"}, func(err error) { sent <- err })
		if err := receive(t, sent); !errors.Is(err, ErrNotPermitted) {
			t.Errorf("keep %d: %v", keep, err)
		}
	}
}

// Answers stands for a connection's own inboxes, and for no other subjects.
func TestAnswersThatAUserMayNotHearCanBeDispensable(t *testing.T) {
	_, submitter := withRights(t)
	submitter.Inbox = "_OTHERS"
	c := dial(t, submitter)
	for _, step := range []struct {
		subject string
		ends    bool
	}{{c.nc.NewInbox(), false}, {"_OTHERSTOO.x", true}} {
		_, err := c.nc.SubscribeSync(step.subject)
		must(t, err)
		flush(t, c)
		if c.Denied()[step.subject] == nil {
			t.Fatalf("%s is not refused", step.subject)
		}
		for dispensable, ends := range map[string]bool{Answers: step.ends, "_INBOX.x": true} {
			ctx, cancel := c.Permitted(t.Context(), dispensable)
			if ended := ctx.Err() != nil; ended != ends {
				t.Errorf("without %s, and %s dispensable, the context has ended: %v", step.subject, dispensable, ended)
			}
			cancel()
		}
	}
}

// Who may make a consumer says where its messages go, also to a subject that he may not publish on. What goes to the
// server's own API that way is not carried out: docs/permissions.md relies on it.
func TestNothingThatAConsumerDeliversIsARequestToTheServer(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	ctx := testContext(t)
	for _, name := range []string{"VICTIM", "DONE"} {
		_, err := c.js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name}})
		must(t, err)
	}
	_, err := c.js.Publish(ctx, "VICTIM", []byte("kept"))
	must(t, err)
	for _, request := range []string{"$JS.API.STREAM.PURGE.VICTIM", "$JS.API.STREAM.DELETE.VICTIM"} {
		delivered := make(chan *nats.Msg, 1)
		_, err := c.nc.ChanSubscribe(request, delivered)
		must(t, err)
		_, err = c.js.CreatePushConsumer(ctx, "DONE", jetstream.ConsumerConfig{DeliverSubject: request, AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverNewPolicy})
		must(t, err)
		_, err = c.js.Publish(ctx, "DONE", nil) // as the request would be
		must(t, err)
		receive(t, delivered)
		victim, err := c.js.Stream(ctx, "VICTIM")
		must(t, err)
		if n := victim.CachedInfo().State.Msgs; n != 1 {
			t.Errorf("%s: %d messages are left", request, n)
		}
	}
}
