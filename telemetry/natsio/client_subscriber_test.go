package natsio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"ringmaster/telemetry"
)

// bus stands in for the server side of a subscriber.
type bus struct {
	*Subscriber
	status chan nats.Status
	asked  int
	seq    uint64
}

func openBus(t *testing.T) *bus {
	b := &bus{Subscriber: newSubscriber(DefaultSubscriberConfig(), "inbox"), status: make(chan nats.Status, 1)}
	b.ask = func() error { b.asked++; return nil }
	go b.run(b.status, make(chan struct{}))
	t.Cleanup(b.Close)
	synctest.Wait()
	return b
}

func encoded(h telemetry.Header, decision uint64) []byte {
	return telemetry.AppendRecommendation(nil, telemetry.FormMap, &h, &telemetry.Recommendation{Decision: decision, ValidForMs: 3000})
}

func (b *bus) decide(decision uint64) {
	b.seq++
	h := telemetry.Header{Incarnation: 1, Seq: b.seq, SentNs: time.Now().UnixNano()}
	b.messages <- &nats.Msg{Subject: "recommend", Data: encoded(h, decision)}
	synctest.Wait()
}

func (b *bus) answer(decision uint64) {
	h := telemetry.Header{Incarnation: 1, Seq: 1, SentNs: time.Now().UnixNano()}
	b.messages <- &nats.Msg{Subject: "inbox", Data: encoded(h, decision)}
	synctest.Wait()
}

// waits lists the updates that wait.
func (b *bus) waits(t *testing.T) (out string) {
	t.Helper()
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for {
		b.mu.Lock()
		n := len(b.updates.waiting)
		b.mu.Unlock()
		if n == 0 {
			if _, err := b.Next(done); !errors.Is(err, context.Canceled) {
				t.Errorf("next without an update: %v", err)
			}
			return strings.TrimSpace(out)
		}
		u, err := b.Next(t.Context())
		must(t, err)
		out += fmt.Sprintf(" %v:%d", u.Event, u.Recommendation.Decision)
	}
}

func (b *bus) want(t *testing.T, want string) {
	t.Helper()
	if got := b.waits(t); got != want {
		t.Errorf("updates %q, want %q", got, want)
	}
}

func TestChangesWaitForTheSnapshotTheyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBus(t)
		b.decide(5)
		time.Sleep(time.Millisecond)
		b.decide(6)
		b.want(t, "")
		time.Sleep(time.Millisecond)
		b.answer(7)
		b.want(t, "decision:7")
		time.Sleep(time.Millisecond)
		b.decide(7)
		b.decide(8)
		b.want(t, "decision:8")
		if s := b.Stats(); s.Decisions != 2 || s.Heartbeats != 1 || s.Stale != 2 || s.Missed != 0 || s.Snapshots != 1 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestChangesDoNotWaitForEver(t *testing.T) {
	for name, end := range map[string]func(b *bus){
		"timeout":    func(*bus) { time.Sleep(time.Second) },
		"no runtime": func(b *bus) { b.messages <- &nats.Msg{Subject: "inbox", Header: nats.Header{"Status": {"503"}}} },
		"no decision": func(b *bus) {
			b.messages <- &nats.Msg{Subject: "inbox", Header: nats.Header{micro.ErrorCodeHeader: {codeNotFound}}}
		},
		"malformed": func(b *bus) { b.messages <- &nats.Msg{Subject: "inbox", Data: []byte("hello")} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := openBus(t)
				b.decide(5)
				b.want(t, "")
				end(b)
				synctest.Wait()
				b.want(t, "decision:5")
				b.decide(6)
				b.want(t, "decision:6")
			})
		})
	}
}

func TestSubscriberAsksAgainAfterAReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBus(t)
		b.answer(7)
		b.status <- nats.RECONNECTING
		synctest.Wait()
		if b.asked != 1 {
			t.Errorf("asked %d times before the reconnect, want once", b.asked)
		}
		b.status <- nats.CONNECTED
		synctest.Wait()
		time.Sleep(time.Millisecond)
		b.answer(9)
		b.want(t, "decision:7 decision:9")
		if s := b.Stats(); b.asked != 2 || s.Missed != 1 {
			t.Errorf("asked %d times, stats %+v, want twice and one missed", b.asked, s)
		}
	})
}

func TestSubscriberReportsExpiryByItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBus(t)
		if _, ok := b.Latest(); ok {
			t.Error("advice before any arrived")
		}
		b.answer(7)
		b.want(t, "decision:7")
		time.Sleep(2 * time.Second)
		b.decide(7)
		time.Sleep(3*time.Second - time.Nanosecond)
		synctest.Wait()
		if a, ok := b.Latest(); !ok || !a.Usable() {
			t.Errorf("advice %+v, want it valid for 3 s after the heartbeat", a)
		}
		b.want(t, "")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if a, _ := b.Latest(); a.Valid {
			t.Error("advice is valid after its time")
		}
		b.decide(7)
		b.want(t, "expired:7 renewed:7")
	})
}

func TestClosedSubscriberLetsWaitersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBus(t)
		b.answer(7)
		b.Close()
		b.Close()
		b.wantTheRest(t)
	})
}

// wantTheRest fetches what was left and then the end.
func (b *bus) wantTheRest(t *testing.T) {
	t.Helper()
	if u, err := b.Next(t.Context()); err != nil || u.Recommendation.Decision != 7 {
		t.Errorf("next after close: %+v, %v, want what was left", u, err)
	}
	if _, err := b.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("next after the last: %v, want ErrClosed", err)
	}
}

// oneQueue is a sink with a last recommendation.
type oneQueue struct {
	nullSink
	decision atomic.Uint64
}

func (q *oneQueue) Latest(string, string) (telemetry.Recommendation, bool) {
	return *plan(q.decision.Load()), true
}

func serveOneQueue(t *testing.T, c *Conn, decision uint64) *oneQueue {
	t.Helper()
	q := new(oneQueue)
	q.decision.Store(decision)
	_, err := c.Serve(q, DefaultIngestConfig())
	must(t, err)
	flush(t, c)
	return q
}

func plan(decision uint64) *telemetry.Recommendation {
	return &telemetry.Recommendation{Decision: decision, ValidForMs: 60_000, Reasons: []telemetry.Reason{{Rule: "r", Value: decision}}}
}

func subscribe(t *testing.T, c *Conn) *Subscriber {
	t.Helper()
	s, err := c.NewSubscriber("gpu0", "a", DefaultSubscriberConfig())
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

func nextUpdate(t *testing.T, s *Subscriber) Update {
	t.Helper()
	u, err := s.Next(testContext(t))
	must(t, err)
	return u
}

func TestSubscriberGetsTheSnapshotAndThenEveryChange(t *testing.T) {
	url := newServer(t).URL()
	runtime, client := dial(t, fastConfig(url)), dial(t, fastConfig(url))
	serveOneQueue(t, runtime, 41)
	o := openOutlet(t, runtime, nil)
	s := subscribe(t, client)
	if u := nextUpdate(t, s); u.Recommendation.Decision != 41 || !u.Usable() || len(u.Recommendation.Reasons) != 1 {
		t.Errorf("first update %+v, want the snapshot", u)
	}
	for i := range uint64(200) {
		o.Recommend("gpu0", "a", plan(42+i), nil)
		o.Recommend("gpu0", "b", plan(900), nil)
		if i%2 == 0 { // fetched in runs of two, so that none is pushed out
			continue
		}
		for d := 41 + i; d <= 42+i; d++ {
			u := nextUpdate(t, s)
			if u.Event != EventDecision || u.Recommendation.Decision != d || u.Missed != 0 || u.Recommendation.Reasons[0].Value != d {
				t.Fatalf("update %+v, want decision %d", u, d)
			}
		}
	}
	if a, ok := s.Latest(); !ok || a.Recommendation.Decision != 241 || a.Header.Incarnation != runtime.Incarnation() {
		t.Errorf("latest %+v", a)
	}
}

func TestSubscriberLearnsWhatItMissedWhileTheServerWasDead(t *testing.T) {
	server := startProcess(t)
	runtime, client := dial(t, fastConfig(server.url)), dial(t, fastConfig(server.url))
	queue := serveOneQueue(t, runtime, 5)
	s := subscribe(t, client)
	if u := nextUpdate(t, s); u.Recommendation.Decision != 5 {
		t.Fatalf("first update %+v", u)
	}
	server.kill()
	for _, c := range []*Conn{runtime, client} {
		must(t, c.WaitState(testContext(t), StateDisconnected))
	}
	queue.decision.Store(9)
	server.start()
	must(t, runtime.WaitState(testContext(t), StateConnected))
	flush(t, runtime)
	must(t, client.WaitState(testContext(t), StateConnected))
	must(t, client.nc.ForceReconnect()) // it may have asked before the runtime was back
	if u := nextUpdate(t, s); u.Recommendation.Decision != 9 || u.Missed != 3 {
		t.Errorf("update %+v, want decision 9 and 3 missed", u)
	}
}

func TestDeniedSubscriptionIsToldToTheSubscriber(t *testing.T) {
	server := startProcess(t)
	server.kill()
	conf := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(conf, []byte(`authorization { users = [ { user: w, password: w, permissions: {
		subscribe: { allow: ["_INBOX.>"] } } } ] }`), 0o600))
	server.args = append(server.args, "-c", conf)
	server.start()
	c := dial(t, fastConfig(strings.Replace(server.url, "//", "//w:w@", 1)))
	told := make(chan error, 10)
	cfg := DefaultSubscriberConfig()
	cfg.OnError = func(err error) { told <- err }
	s, err := c.NewSubscriber("gpu0", "a", cfg)
	must(t, err)
	t.Cleanup(s.Close)
	// What is denied is the subscription, not the request.
	if err := receive(t, told); !errors.Is(err, ErrNotPermitted) || !strings.Contains(err.Error(), "recommend.gpu0.a") {
		t.Errorf("told %v, want ErrNotPermitted and the subject", err)
	}
	if err := s.Err(); !errors.Is(err, ErrNotPermitted) {
		t.Errorf("Err is %v, want ErrNotPermitted", err)
	}
}

func TestSubscriberRefusesNames(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	for _, name := range []string{"", "*", "a.b"} {
		if _, err := c.NewSubscriber("gpu0", name, DefaultSubscriberConfig()); !errors.Is(err, ErrBadName) {
			t.Errorf("queue %q: %v, want ErrBadName", name, err)
		}
	}
	if _, err := c.NewSubscriber("gpu0", "a", SubscriberConfig{}); err == nil {
		t.Error("a zero configuration was accepted")
	}
}
