package natsio

import (
	"testing"
	"time"

	"ringmaster/telemetry"
)

// A shadow takes what is meant for others, answers nobody, refuses where only its own users
// look, and takes no launch for one by a decision of its own.
func TestAShadowHearsOthersAndIsNotHeardByThem(t *testing.T) {
	url := newServer(t).URL()
	client := dial(t, fastConfig(url))
	cfg := fastConfig(url)
	cfg.Subjects, cfg.Shadowed = client.Subjects().Shadow(), telemetry.Subjects{Prefix: client.Subjects().Root()}
	shadow := dial(t, cfg)
	sink := &launchSink{testSink: newSink(), decisions: make(chan uint64, 16)}
	if _, err := shadow.Serve(sink, DefaultIngestConfig()); err != nil {
		t.Fatal(err)
	}
	others, own := make(chan string, 16), make(chan string, 16)
	for conn, to := range map[*Conn]chan string{client: others, shadow: own} {
		_, err := conn.SubscribeRejected("*", "*", func(_, _ string, _ *telemetry.Header, r *telemetry.Rejected) { to <- r.Subject })
		must(t, err)
	}
	flush(t, shadow)
	flush(t, client)
	launch := telemetry.Append(nil, telemetry.EncodingMap, telemetry.Header{Kind: telemetry.KindLaunch, Incarnation: 5, Seq: 1, SentNs: 1},
		&telemetry.Launch{Has: telemetry.HasLaunch | telemetry.HasStatus | telemetry.HasDecision, Launch: 1, Decision: 7})
	subject := client.Subjects().Telemetry("gpu0", "a")
	for _, payload := range [][]byte{queueRecord(3, ""), launch, badRecord()} {
		must(t, client.NATS().PublishRequest(subject, client.NATS().NewInbox(), payload))
	}
	if got := receive(t, sink.calls); got.length != 3 || got.worker != "gpu0" || got.queue != "a" || got.reply != "" {
		t.Errorf("%+v", got)
	}
	if got := receive(t, sink.decisions); got != 0 {
		t.Errorf("a launch by another's decision counts as one by decision %d", got)
	}
	if got := receive(t, own); got != subject {
		t.Errorf("refused %s", got)
	}
	flush(t, shadow)
	flush(t, client)
	if len(others) > 0 {
		t.Errorf("the shadow's refusal is told where others look: %s", <-others)
	}
	cfg.Shadowed = cfg.Subjects
	if err := cfg.Validate(); err == nil {
		t.Error("a shadow of itself")
	}
}

// launchSink tells the decisions of launches.
type launchSink struct {
	*testSink
	decisions chan uint64
}

func (s *launchSink) Ingest(worker, queue string, r *telemetry.Record, at time.Time, reply string) error {
	if r.Kind == telemetry.KindLaunch {
		s.decisions <- r.Launch.Decision
		return nil
	}
	return s.testSink.Ingest(worker, queue, r, at, reply)
}
