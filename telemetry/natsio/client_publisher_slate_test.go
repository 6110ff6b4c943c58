package natsio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"ringmaster/telemetry"
)

// wire stands in for a connection.
type wire struct {
	mu       sync.Mutex
	down     bool
	sessions uint64
	refuse   error
	largest  int
	payloads []string // subject and records
	status   chan nats.Status
	closed   chan struct{}
}

func newWire() *wire {
	return &wire{largest: 1 << 20, status: make(chan nats.Status, 10), closed: make(chan struct{})}
}

func (w *wire) state() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return StateDisconnected
	}
	return StateConnected
}

func (w *wire) session() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sessions
}

func (w *wire) room() int                   { return w.largest }
func (w *wire) Flush(context.Context) error { return nil }
func (w *wire) Closed() <-chan struct{}     { return w.closed }

func (w *wire) publish(subject string, payload []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return ErrDisconnected
	}
	if w.refuse != nil {
		return w.refuse
	}
	w.payloads = append(w.payloads, strings.TrimPrefix(subject, "ringmaster.v1.")+":"+describe(payload))
	return nil
}

func (w *wire) set(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
	if !down {
		w.sessions++
		w.status <- nats.CONNECTED
	}
}

func (w *wire) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.payloads
	w.payloads = nil
	return taken
}

// describe writes a payload as "seq queue kind value" for each record.
func describe(payload []byte) string {
	var out strings.Builder
	for _, r := range decodeAll(payload) {
		fmt.Fprintf(&out, " %d%s", r.Seq, r.Header.Queue)
		switch r.Kind {
		case telemetry.KindQueue:
			fmt.Fprintf(&out, "=%d", r.Queue.QueueLen)
		case telemetry.KindLaunch:
			fmt.Fprintf(&out, "!%d", r.Launch.Launch)
		default:
			fmt.Fprintf(&out, "/%v", r.Kind)
		}
	}
	return out.String()
}

func decodeAll(payload []byte) []telemetry.Record {
	if _, err := telemetry.Check(payload, telemetry.DefaultTelemetryLimits); err != nil {
		panic(err)
	}
	var d telemetry.Decoder
	d.Reset(payload)
	var records []telemetry.Record
	for {
		var r telemetry.Record
		if err := d.Next(&r); errors.Is(err, io.EOF) {
			return records
		} else if err != nil {
			panic(err)
		}
		records = append(records, r)
	}
}

func onWire(t *testing.T, w *wire, change func(*PublisherConfig)) *Publisher {
	t.Helper()
	cfg := DefaultPublisherConfig()
	if change != nil {
		change(&cfg)
	}
	must(t, cfg.Validate())
	p := newPublisher(cfg, w, telemetry.Subjects{}, telemetry.FormArray)
	go p.run(w.status)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		p.Close(ctx)
	})
	return p
}

func wantPayloads(t *testing.T, w *wire, want ...string) {
	t.Helper()
	if got := w.taken(); !slices.Equal(got, want) {
		t.Errorf("sent\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestPublisherWaitsForCompanyUntilTheLingerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		p := onWire(t, w, func(c *PublisherConfig) { c.AnnounceEvery = 0 })
		must(t, p.ReportQueue("w", "a", length(1)))
		time.Sleep(999 * time.Microsecond)
		synctest.Wait()
		wantPayloads(t, w)
		must(t, p.ReportQueue("w", "b", length(2)))
		must(t, p.ReportQueue("w", "a", length(3)))
		must(t, p.ReportPriority("w", "a", &telemetry.Priority{Has: telemetry.HasPriority, Priority: 1}))
		must(t, p.ReportLaunch("w", "b", launchReportOf(1)))
		must(t, p.ReportLaunch("w", "a", launchReportOf(2)))
		time.Sleep(time.Microsecond)
		synctest.Wait()
		wantPayloads(t, w, "telemetry.w._batch: 1b!1 2a!2 3a/priority 4a=3 5b=2")
		if s := p.Stats(); s.Sent != 5 || s.Payloads != 1 || s.Coalesced != 1 || s.Waiting != 0 {
			t.Errorf("stats %+v, want 5 sent, 1 coalesced", s)
		}
	})
}

func TestPublisherDoesNotWaitWhenEnoughIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		p := onWire(t, w, func(c *PublisherConfig) { c.Linger, c.FlushRecords = time.Second, 2 })
		must(t, p.ReportQueue("w", "a", length(1)))
		synctest.Wait()
		wantPayloads(t, w)
		must(t, p.ReportQueue("w", "b", length(2)))
		synctest.Wait()
		wantPayloads(t, w, "telemetry.w._batch: 1a=1 2b=2")
	})
}

func TestPublisherAnnouncesAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		p := onWire(t, w, func(c *PublisherConfig) { c.AnnounceEvery = 5 * time.Second })
		must(t, p.Announce("w", announcementOf(1)))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		wantPayloads(t, w, "worker.w: 1/worker", "worker.w: 2/worker", "worker.w: 3/worker")
	})
}

func TestPublisherSendsTheNewestStateAndEveryEventAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		p := onWire(t, w, func(c *PublisherConfig) { c.AnnounceEvery, c.MaxLaunches = 0, 3 })
		must(t, p.Announce("w", announcementOf(1)))
		must(t, p.ReportQueue("w", "a", length(1)))
		must(t, p.ReportQueue("w", "b", length(1)))
		time.Sleep(time.Second)
		synctest.Wait()
		wantPayloads(t, w, "worker.w: 1/worker", "telemetry.w._batch: 1a=1 2b=1")
		w.set(true)
		for i := range uint32(5) {
			must(t, p.ReportQueue("w", "b", length(i+2)))
			must(t, p.ReportLaunch("w", "b", launchReportOf(uint64(i+1))))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		wantPayloads(t, w)
		if s := p.Stats(); s.Dropped != 2 || s.Coalesced != 4 || s.Waiting != 4 {
			t.Errorf("stats %+v, want 2 dropped, 4 coalesced, 4 waiting", s)
		}
		w.set(false)
		synctest.Wait()
		wantPayloads(t, w, "telemetry.w._batch: 3b!3 4b!4 5b!5 6b=6 7a=1", "worker.w: 2/worker")
		if s := p.Stats(); s.Resent != 2 || s.Waiting != 0 {
			t.Errorf("stats %+v, want 2 resent", s)
		}
	})
}

func TestPublisherTriesAgainWhatCouldNotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.refuse = errors.New("stuck")
		p := onWire(t, w, func(c *PublisherConfig) { c.AnnounceEvery = 0 })
		must(t, p.Announce("w", announcementOf(1)))
		must(t, p.ReportQueue("w", "a", length(1)))
		must(t, p.ReportLaunch("w", "a", launchReportOf(1)))
		time.Sleep(time.Second)
		synctest.Wait()
		if s := p.Stats(); s.Waiting != 3 || s.Sent != 0 {
			t.Errorf("stats %+v, want 3 waiting", s)
		}
		w.mu.Lock()
		w.refuse = nil
		w.mu.Unlock()
		time.Sleep(retryPause)
		synctest.Wait()
		records := 0
		for _, payload := range w.taken() {
			records += strings.Count(payload, " ")
		}
		if s := p.Stats(); records != 3 || s.Sent != 3 || s.Waiting != 0 {
			t.Errorf("%d records came, stats %+v, want 3", records, s)
		}
	})
}

func TestRecordThatTheServerNeverTakesIsDroppedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.refuse, w.largest = nats.ErrMaxPayload, 1
		p := onWire(t, w, nil)
		must(t, p.ReportQueue("w", "a", length(1)))
		must(t, p.ReportQueue("w", "b", length(1)))
		time.Sleep(time.Second)
		synctest.Wait()
		if s := p.Stats(); s.Dropped != 2 || s.Waiting != 0 || !errors.Is(p.Err(), nats.ErrMaxPayload) {
			t.Errorf("stats %+v and error %v, want both dropped", s, p.Err())
		}
	})
}

func newSlate(cfg PublisherConfig) *slate {
	s := new(slate)
	s.init(&cfg, telemetry.Subjects{}, telemetry.FormMap)
	return s
}

func TestReportsAreMergedFieldByField(t *testing.T) {
	s := newSlate(DefaultPublisherConfig())
	name := queueName{"w", "a"}
	must(t, s.reportQueue(name, &telemetry.Queue{Has: telemetry.HasQueueLen | telemetry.HasHotOpcodeCount, QueueLen: 9, HotOpcodeCount: 3}, 1))
	must(t, s.reportQueue(name, &telemetry.Queue{Has: telemetry.HasQueueLen | telemetry.HasExecutedCount, QueueLen: 0, ExecutedCount: 5}, 2))
	var p parcel
	if !s.next(&p, 1<<16) {
		t.Fatal("nothing is due")
	}
	r := decodeAll(p.payload)[0]
	want := telemetry.Queue{Has: telemetry.HasQueueLen | telemetry.HasHotOpcodeCount | telemetry.HasExecutedCount, HotOpcodeCount: 3, ExecutedCount: 5}
	if r.Queue != want || r.SentNs != 2 || r.Seq != 1 {
		t.Errorf("sent %+v at %d, want %+v", r.Queue, r.SentNs, want)
	}
}

// A presence bit is its field's position, which ties the merge functions to
// the schema.
func TestMergeKnowsEveryField(t *testing.T) {
	mergesEveryField(t, mergeQueue)
	mergesEveryField(t, mergeGraph)
	mergesEveryField(t, mergePriority)
}

func mergesEveryField[T any](t *testing.T, merge func(dst, src *T)) {
	full := new(T)
	fields := reflect.ValueOf(full).Elem()
	for i := range fields.NumField() {
		switch f := fields.Field(i); f.Kind() {
		case reflect.Float64:
			f.SetFloat(float64(i))
		default:
			f.SetUint(uint64(i))
		}
	}
	for i := 1; i < fields.NumField(); i++ {
		name := fields.Type().Field(i).Name
		fields.Field(0).SetUint(1 << (i - 1))
		got := new(T)
		merge(got, full)
		for j := range fields.NumField() {
			if set := !reflect.ValueOf(got).Elem().Field(j).IsZero(); set != (j == 0 || j == i) {
				t.Errorf("%s of %T: field %d is set: %v", name, *got, j, set)
			}
		}
	}
}

func TestReportThatTheRuntimeWouldRefuseIsRefusedAtOnce(t *testing.T) {
	cfg := DefaultPublisherConfig()
	cfg.MaxQueues = 1
	p := newPublisher(cfg, newWire(), telemetry.Subjects{}, telemetry.FormMap)
	for reason, err := range map[string]error{
		telemetry.ReasonOutOfRange: p.ReportGraph("w", "bad", &telemetry.Graph{Has: telemetry.HasFrontierDensityBps, FrontierDensityBps: 10001}),
		telemetry.ReasonInconsistent: errors.Join(
			p.ReportGraph("w", "a", &telemetry.Graph{Has: telemetry.HasNodeCount, NodeCount: 5}),
			p.ReportGraph("w", "a", &telemetry.Graph{Has: telemetry.HasFrontierNodes, FrontierNodes: 6})),
		telemetry.ReasonMissingField: p.ReportLaunch("w", "a", &telemetry.Launch{}),
	} {
		if telemetry.ReasonOf(err) != reason {
			t.Errorf("%v, want reason %s", err, reason)
		}
	}
	must(t, p.ReportQueue("w", "a", &telemetry.Queue{Has: telemetry.HasExecutedCount, ExecutedCount: 5}))
	if err := p.ReportQueue("w", "a", &telemetry.Queue{Has: telemetry.HasExecutedCount, ExecutedCount: 4}); telemetry.ReasonOf(err) != telemetry.ReasonInconsistent {
		t.Errorf("a counter that fell: %v", err)
	}
	if err := p.ReportQueue("w", "b", length(1)); !errors.Is(err, ErrBacklog) {
		t.Errorf("second queue of one: %v, want ErrBacklog", err)
	}
	for _, err := range []error{p.ReportQueue("w w", "a", length(1)), p.ReportQueue("w", "_batch", length(1)), p.Announce("", announcementOf(1))} {
		if !errors.Is(err, ErrBadName) {
			t.Errorf("%v, want ErrBadName", err)
		}
	}
	if s := p.Stats(); s.Dropped != 1 || s.Waiting != 2 {
		t.Errorf("stats %+v, want the refused queue counted and two records waiting", s)
	}
}

func TestForgottenQueueIsNotSentAndItsNumbersDoNotFall(t *testing.T) {
	cfg := DefaultPublisherConfig()
	cfg.PerQueue = true
	s := newSlate(cfg)
	name := queueName{"w", "a"}
	var p parcel
	for range 3 {
		must(t, s.reportQueue(name, length(1), 1))
		s.next(&p, 1<<16)
		s.sent(&p)
	}
	must(t, s.reportQueue(name, length(1), 1))
	must(t, s.reportLaunch(name, launchReportOf(1), 1))
	s.forget(name)
	s.refresh()
	if s.next(&p, 1<<16) || s.waiting != 0 || len(s.subjects) != 0 {
		t.Errorf("%d records of a forgotten queue wait, %d subjects are known", s.waiting, len(s.subjects))
	}
	must(t, s.reportQueue(name, length(1), 1))
	if !s.next(&p, 1<<16) || decodeAll(p.payload)[0].Seq <= 3 {
		t.Errorf("the queue came back with number %d, had 3", decodeAll(p.payload)[0].Seq)
	}
}

// Whatever is reported, forgotten, sent and not sent, in any order: numbers
// rise on every subject, launches of a queue arrive in order, the newest state
// of every queue arrives, and the count of what waits is right.
func TestSlateKeepsItsPromisesUnderAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := DefaultPublisherConfig()
		cfg.MaxLaunches = rapid.IntRange(1, 20).Draw(t, "max launches")
		cfg.PerQueue = rapid.Bool().Draw(t, "per queue")
		s := newSlate(cfg)
		limit := rapid.IntRange(1, 2000).Draw(t, "limit")
		model := map[string]uint32{}   // newest length reported
		arrived := map[string]uint32{} // and received
		seqs := map[string]uint64{}
		launches := map[string]uint64{}
		var launch, length32 = uint64(0), uint32(0)
		queue := rapid.SampledFrom([]string{"a", "b", "c"})
		deliver := func(fail bool) bool {
			var p parcel
			if !s.next(&p, limit) {
				return false
			}
			if fail {
				s.restore(&p)
				return true
			}
			for _, r := range decodeAll(p.payload) {
				if r.Seq <= seqs[p.to.subject] {
					t.Fatalf("number %d after %d on %s", r.Seq, seqs[p.to.subject], p.to.subject)
				}
				seqs[p.to.subject] = r.Seq
				name := r.Header.Queue
				if cfg.PerQueue {
					name = p.to.subject[len(p.to.subject)-1:]
				}
				if r.Kind == telemetry.KindLaunch {
					if r.Launch.Launch <= launches[name] {
						t.Fatalf("launch %d after %d", r.Launch.Launch, launches[name])
					}
					launches[name] = r.Launch.Launch
				} else {
					arrived[name] = r.Queue.QueueLen
				}
			}
			if len(p.payload) > limit && p.records > 1 {
				t.Fatalf("%d bytes in a payload, at most %d", len(p.payload), limit)
			}
			s.sent(&p)
			return true
		}
		t.Repeat(map[string]func(*rapid.T){
			"report": func(t *rapid.T) {
				name := queue.Draw(t, "queue")
				length32++
				model[name] = length32
				if err := s.reportQueue(queueName{"w", name}, length(length32), 1); err != nil {
					t.Fatal(err)
				}
			},
			"launch": func(t *rapid.T) {
				launch++
				if err := s.reportLaunch(queueName{"w", queue.Draw(t, "queue")}, launchReportOf(launch), 1); err != nil {
					t.Fatal(err)
				}
			},
			"forget": func(t *rapid.T) {
				name := queue.Draw(t, "queue")
				s.forget(queueName{"w", name})
				delete(model, name)
			},
			"reconnect": func(*rapid.T) { s.refresh() },
			"send":      func(*rapid.T) { deliver(false) },
			"fail":      func(*rapid.T) { deliver(true) },
		})
		for deliver(false) {
		}
		for name, want := range model {
			if arrived[name] != want {
				t.Fatalf("queue %s ended at %d, want %d", name, arrived[name], want)
			}
		}
		if s.waiting != 0 || len(s.due) != 0 {
			t.Fatalf("%d records wait after everything was sent", s.waiting)
		}
	})
}
