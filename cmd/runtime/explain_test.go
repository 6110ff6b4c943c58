package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/decided"
)

func TestExplainSaysWhyAQueueHasItsPlan(t *testing.T) {
	url := serverOf(t)
	ask := func(args ...string) outcome {
		return ringmaster(t, t.Context(), "", append([]string{"explain", "--nats", url}, args...)...)
	}
	if got := ask("q"); got.code != 1 || !strings.Contains(got.err, "no") {
		t.Errorf("without a stream: %+v", got)
	}
	n := decider(t, url)
	records := `{"kind":"worker","max_workgroup_size_x":256,"max_compute_workgroups_per_dimension":1000,"max_compute_invocations_per_workgroup":256}` + "\n" +
		`{"kind":"queue","queue_len":300}` + "\n" + `{"kind":"queue","queue_len":9000}` + "\n"
	ringmasterUntil(t, url, records)
	got := ask("q")
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{"w7.q is ok: ", "next: ", "9,000 slots", "record ", "of publisher ", "compiled: 9,000 slots, until below", "workgroups of up to 256"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
	var e struct {
		Worker, Queue, State, Decision string
	}
	if got := ask("w7.q", "--json"); json.Unmarshal([]byte(got.stdout), &e) != nil || e.Worker != "w7" || e.State != "ok" || e.Decision == "" {
		t.Errorf("%+v", got)
	}
	if got := ask("w7.q", "--at", "1"); got.code != 0 || !strings.Contains(got.stdout, "decision 1,") {
		t.Errorf("%+v", got)
	}
	if got := ask("w7.q", "--at", time.Now().UTC().Format(time.RFC3339Nano)); got.code != 0 || !strings.Contains(got.stdout, "w7.q is ok: ") {
		t.Errorf("%+v", got)
	}
	if got := ask("w7.q", "--at", "yesterday"); got.code != 2 || !strings.Contains(got.err, "want the number of a decision, a time such as") {
		t.Errorf("%+v", got)
	}
	for args, want := range map[string]string{"w7.q --at 2020-01-01T00:00:00Z": "a decision of w7.q up to 2020-01-01T00:00:00Z is not kept", "w7.nothing": "1 queue of 1 with decisions: w7.q", "w7.q --at 99999": "is not kept: the newest before it is", "w7.q --at 1 --watch": "do not go together"} {
		if got := ask(strings.Fields(args)...); got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v, want %q", args, got, want)
		}
	}
	conn := bustest.Dial(t, url)
	request := func(subject string) *nats.Msg {
		t.Helper()
		m, err := conn.NATS().Request(subject, nil, clientPatience)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	var answer struct{ Worker, Queue, Decision, Why string }
	if m := request("ringmaster.v1.explain.w7.q"); json.Unmarshal(m.Data, &answer) != nil || answer.Worker != "w7" || answer.Queue != "q" || answer.Why == "" || answer.Decision == "" {
		t.Errorf("%v %s", m.Header, m.Data)
	}
	if m := request("ringmaster.v1.explain.w7.nothing"); m.Header.Get(micro.ErrorCodeHeader) != "404" {
		t.Errorf("%v %s", m.Header, m.Data)
	}
	if m := request("$SRV.INFO.ringmaster"); !strings.Contains(string(m.Data), `ringmaster.v1.explain.*.*`) || !strings.Contains(string(m.Data), `decided_s`) {
		t.Errorf("%s", m.Data)
	}
	storeAsOld(t, conn, "w7", "q", "idle")
	var idle struct{ State, Next string }
	if m := request("ringmaster.v1.explain.w7.idle"); json.Unmarshal(m.Data, &idle) != nil || idle.State != "expired" || !strings.Contains(idle.Next, "nobody decides for the queue now") {
		t.Errorf("%v %s", m.Header, m.Data)
	}
	n.kill()
	if got := ask("w7.q"); !strings.Contains(got.stdout, "w7.q is expired") || !strings.Contains(got.stdout, "nobody decides for the queue now") {
		t.Errorf("%+v", got)
	}
}

// storeAsOld stores the last decision of a queue as one of another queue, made so long ago that nobody takes it over.
func storeAsOld(t *testing.T, conn *natsio.Conn, worker, queue, other string) {
	t.Helper()
	stream, err := conn.JetStream().Stream(t.Context(), decided.StreamName(conn.Subjects()))
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.GetLastMsgForSubject(t.Context(), conn.Subjects().Decided(worker, queue))
	if err != nil {
		t.Fatal(err)
	}
	var d telemetry.Decoder
	var r telemetry.Record
	d.Reset(m.Data)
	if err := d.Next(&r); err != nil {
		t.Fatal(err)
	}
	r.Header.SentNs = 1
	if _, err := conn.JetStream().Publish(t.Context(), conn.Subjects().Decided(worker, other), telemetry.Append(nil, telemetry.EncodingArray, r.Header, &r.Recommendation)); err != nil {
		t.Fatal(err)
	}
}

// ringmasterUntil publishes records of queue q of worker w7 until two decisions for it were heard.
func ringmasterUntil(t *testing.T, url, records string) {
	t.Helper()
	watched := make(chan outcome, 1)
	go func() {
		watched <- ringmaster(t, t.Context(), "", "watch", "--nats", url, "--worker", "w7", "--queue", "q", "--json", "--count", "2")
	}()
	for len(watched) == 0 {
		if got := ringmaster(t, t.Context(), records, "publish", "--nats", url, "--worker", "w7", "--queue", "q", "--take-over"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	<-watched
}

func TestWhichDecisionIsMeant(t *testing.T) {
	now := time.Date(2026, 11, 23, 3, 0, 10, 0, time.UTC)
	for text, want := range map[string]instant{
		"17": {Number: 17}, "2026-11-22T04:00:00+01:00": {Time: time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)},
		"03:00:09.5Z": {Time: now.Add(-500 * time.Millisecond)}, "03:00:11Z": {Time: now.Add(time.Second - 24*time.Hour)},
	} {
		var got instant
		if err := got.parse(text, now); err != nil || got.Number != want.Number || !got.Time.Equal(want.Time) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, wrong := range []string{"", "0", "-1", "03:00", "25:00:00Z"} {
		if err := new(instant).parse(wrong, now); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
