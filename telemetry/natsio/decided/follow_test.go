package decided

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/natstest"
)

// heardMessage is what a follower has heard.
type heardMessage struct {
	worker, queue string
	*telemetry.Stored
}

type listener struct {
	*Follower
	messages chan heardMessage
	log      lines
}

func follow(t *testing.T, conn *natsio.Conn, worker string) *listener {
	t.Helper()
	l := &listener{messages: make(chan heardMessage, 10_000)}
	log, lines := newLog()
	var err error
	l.log = lines
	l.Follower, err = Follow(conn, worker, log, func(worker, queue string, m *telemetry.Stored) { l.messages <- heardMessage{worker, queue, m} })
	must(t, err)
	t.Cleanup(l.Close)
	return l
}

func TestAFollowerHearsTheNewestAndThenAll(t *testing.T) {
	url := bustest.Server(t).URL()
	early := follow(t, bustest.Dial(t, url), "*") // there is no stream yet
	n := newNode(t, url).ready(t)
	last := make(map[string]uint64)
	for number := uint64(1); number <= 3; number++ {
		for _, queue := range []string{"a", "b", "c"} {
			last[queue] = n.stored(t, queue, last[queue], number)
		}
	}
	late := follow(t, bustest.Dial(t, url), "w")
	none := follow(t, bustest.Dial(t, url), "other")
	bustest.Receive(t, late.CaughtUp())
	bustest.Receive(t, none.CaughtUp())
	var queues []string
	for range 3 {
		m := bustest.Receive(t, late.messages)
		queues = append(queues, m.queue)
		if m.worker != "w" || m.Sequence != last[m.queue] || m.Recommendation.Decision != 3 || m.Header.Incarnation != n.conn.Incarnation() ||
			string(m.Recommendation.Decided) != `{"decision":3}` || !m.Recommendation.Fenced {
			t.Errorf("heard %+v of %s.%s", m.Stored, m.worker, m.queue)
		}
	}
	if slices.Sort(queues); fmt.Sprint(queues) != "[a b c]" {
		t.Errorf("heard of %v", queues)
	}
	for number := uint64(4); number <= 100; number++ {
		last["a"] = n.stored(t, "a", last["a"], number)
		if m := bustest.Receive(t, late.messages); m.queue != "a" || m.Sequence != last["a"] || m.Recommendation.Decision != number {
			t.Fatalf("heard %+v of %s", m.Stored, m.queue)
		}
	}
	newest := make(map[string]uint64)
	for newest["a"] < 100 || newest["b"] < 3 || newest["c"] < 3 {
		m := bustest.Receive(t, early.messages)
		newest[m.queue] = m.Recommendation.Decision
	}
	if len(none.messages) != 0 {
		t.Error("heard of another worker")
	}
}

// Whoever may publish recommendations does not thereby decide anything, and what stands in the stream and is
// no decision is passed over, and said.
func TestAFollowerBelievesTheStreamOnly(t *testing.T) {
	url := bustest.Server(t).URL()
	n := newNode(t, url).ready(t)
	l := follow(t, bustest.Dial(t, url), "*")
	bustest.Receive(t, l.CaughtUp())
	s := n.conn.Subjects()
	forged := telemetry.Append(nil, telemetry.EncodingMap, telemetry.Header{Incarnation: 7, Seq: 1},
		&telemetry.Recommendation{Decision: 99, Fenced: true, Decided: []byte("{}")})
	m := nats.NewMsg(s.Recommend("w", "q"))
	m.Data = forged
	m.Header.Set("Nats-Sequence", "99")
	m.Header.Set("Nats-Stream", StreamName(s))
	must(t, n.conn.NATS().PublishMsg(m))
	for i, bad := range [][]byte{nil, []byte("x"), forged[:20], append(slices.Clone(forged), forged...), telemetry.Append(nil, telemetry.EncodingMap,
		telemetry.Header{Incarnation: 7, Seq: 1}, &telemetry.Recommendation{Decision: 99, Decided: []byte("{}")})} {
		_, err := n.conn.JetStream().Publish(bustest.Context(t), s.Decided("w", fmt.Sprint("bad", i)), bad)
		must(t, err)
		if line := l.log.wait(t, "cannot be read"); !strings.Contains(line, fmt.Sprint("queue=bad", i)) {
			t.Errorf("said %s", line)
		}
		if _, err := n.newest(t, fmt.Sprint("bad", i)); !errors.Is(err, ErrBadMessage) {
			t.Errorf("newest of bad%d: %v", i, err)
		}
	}
	_, err := n.conn.JetStream().Publish(bustest.Context(t), s.Root()+".decided.w.q.more", forged)
	must(t, err)
	l.log.wait(t, "cannot be read")
	n.stored(t, "q", 0, 1)
	if got := bustest.Receive(t, l.messages); got.Recommendation.Decision != 1 {
		t.Errorf("heard %+v", got.Stored)
	}
	bad := 0
	must(t, Read(bustest.Context(t), n.conn, func(m Message) error {
		if m.Err != nil {
			bad++
		} else if m.Stored.Recommendation.Decision != 1 {
			t.Errorf("read %+v", m.Stored)
		}
		return nil
	}))
	if bad != 6 {
		t.Errorf("%d messages cannot be read, want 6", bad)
	}
}

// Whatever becomes of the server or the stream, a follower hears the newest of each queue.
func TestAFollowerBeginsAgain(t *testing.T) {
	t.Parallel() // it waits, mostly
	server := natstest.Start(t)
	n := newNode(t, server.URL).ready(t)
	last := n.stored(t, "q", 0, 1)
	l := follow(t, bustest.Dial(t, server.URL), "*")
	until := func(number uint64) (m heardMessage) {
		t.Helper()
		for m = bustest.Receive(t, l.messages); m.Recommendation.Decision != number; m = bustest.Receive(t, l.messages) {
		}
		return m
	}
	until(1)

	server.Restart()
	must(t, n.conn.WaitState(bustest.Context(t), natsio.StateConnected))
	n.ready(t)
	last = n.stored(t, "q", last, 2)
	until(2)

	must(t, n.conn.JetStream().DeleteStream(bustest.Context(t), StreamName(n.conn.Subjects())))
	n.store(t, "q", last, 3) // has it made anew
	n.log.wait(t, "decisions are not stored")
	n.ready(t).stored(t, "q", 0, 4)
	if m := until(4); m.Sequence >= last {
		t.Errorf("heard %+v", m.Stored)
	}

	consumers := func() (names []string) {
		stream, err := n.conn.JetStream().Stream(bustest.Context(t), StreamName(n.conn.Subjects()))
		must(t, err)
		for name := range stream.ConsumerNames(bustest.Context(t)).Name() {
			names = append(names, name)
		}
		return names
	}
	for _, name := range consumers() {
		must(t, n.conn.JetStream().DeleteConsumer(bustest.Context(t), StreamName(n.conn.Subjects()), name))
	}
	until(4)
}

func TestReadingWithoutAStream(t *testing.T) {
	c := bustest.Dial(t, bustest.Server(t).URL())
	if err := Read(bustest.Context(t), c, nil); !errors.Is(err, natsio.ErrNoDecisions) {
		t.Error(err)
	}
	if _, err := Policies(bustest.Context(t), c); !errors.Is(err, natsio.ErrNoDecisions) {
		t.Error(err)
	}
	if _, err := Follow(c, "a.b", nil, nil); !errors.Is(err, natsio.ErrBadName) {
		t.Error(err)
	}
	n := newNode(t, c.NATS().ConnectedUrl()).ready(t)
	must(t, Read(bustest.Context(t), c, nil)) // nothing is in it
	n.stored(t, "q", 0, 1)
	enough := errors.New("enough")
	if err := Read(bustest.Context(t), c, func(Message) error { return enough }); err != enough {
		t.Errorf("the visitor's error came back as %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, e := range []telemetry.Encoding{telemetry.EncodingMap, telemetry.EncodingArray} {
		f.Add("ringmaster.v1.decided.w.q", telemetry.Append(nil, e, telemetry.Header{Incarnation: 1, Seq: 1},
			&telemetry.Recommendation{Decision: 1, Fenced: true, Decided: []byte("{}"), Reasons: []telemetry.Reason{{Rule: "r"}}}))
	}
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		worker, queue, m, err := parse(telemetry.Subjects{}, subject, 1, data)
		switch {
		case (m == nil) != (err != nil) || err != nil && !errors.Is(err, ErrBadMessage):
			t.Fatalf("%+v, %v", m, err)
		case m != nil && (!telemetry.ValidToken(worker) || !telemetry.ValidToken(queue) || m.Recommendation.Decision == 0):
			t.Fatalf("%q %q %+v", worker, queue, m)
		}
	})
}
