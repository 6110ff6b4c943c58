package natsio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

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
