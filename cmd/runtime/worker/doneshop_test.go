//go:build cgo

package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"ringmaster/megakernel"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/texttest"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// doneShop is a server with work in its stream and a list of what came of it.
type doneShop struct {
	url  string
	conn *natsio.Conn
	log  *slog.Logger
	said *texttest.Log

	mu   sync.Mutex
	done map[string][]telemetry.Done
	want int
	all  chan struct{} // closed when every batch is done
}

const (
	shopBatches = 40
	moreBatches = 10
	shopSlots   = 100
)

// openDoneShop stores batches of stores to queue stores and of adds to word 0 of
// queue adds: the ones can run again after a loss, the others cannot.
func openDoneShop(t *testing.T) *doneShop {
	t.Helper()
	said := &texttest.Log{}
	log := newLogger(said)
	server := newRestartable(t)
	s := &doneShop{url: server.server.URL(), log: log, said: said,
		done: map[string][]telemetry.Done{}, want: 2 * shopBatches, all: make(chan struct{})}
	s.conn = dial(t, s.url, log)
	if _, err := s.conn.SubscribeDone("w1", "*", s.collect); err != nil {
		t.Fatal(err)
	}
	must(t, s.conn.EnsureWorkStream(t.Context()))
	for i := range shopBatches {
		s.submit(t, "stores", i, func(j int) telemetry.Slot {
			return telemetry.Slot{Opcode: uint32(kernel.OpStore), Args: [12]uint32{uint32(i + 1), uint32(i*shopSlots + j)}}
		})
		s.submitAdds(t, i)
	}
	return s
}

func (s *doneShop) submitAdds(t *testing.T, i int) {
	t.Helper()
	s.submit(t, "adds", i, func(int) telemetry.Slot {
		return telemetry.Slot{Opcode: uint32(kernel.OpAdd), Args: [12]uint32{1, 0}}
	})
}

func (s *doneShop) submit(t *testing.T, queue string, i int, slot func(j int) telemetry.Slot) {
	t.Helper()
	w := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasSlots, Batch: fmt.Sprintf("%s%d", queue, i)}
	for j := range shopSlots {
		slot := slot(j)
		slot.Priority = priorityNormal
		w.Slots = append(w.Slots, slot)
	}
	h := telemetry.Header{Incarnation: 7, Seq: uint64(i + 1), SentNs: time.Now().UnixNano()}
	if _, err := client.PublishWork(t.Context(), s.conn, "w1", queue, h, &w); err != nil {
		t.Fatal(err)
	}
}

func (s *doneShop) collect(_, _ string, _ *telemetry.Header, d *telemetry.Done) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := *d
	one.Faults = append([]telemetry.Fault(nil), d.Faults...)
	s.done[d.Batch] = append(s.done[d.Batch], one)
	if len(s.done) == s.want && len(s.done[d.Batch]) == 1 {
		close(s.all)
	}
}

// serve starts a node of the shop.
func (s *doneShop) serve(t *testing.T, change func(*Config)) *Node {
	t.Helper()
	work := natsio.DefaultWorkConfig()
	work.AckWait = time.Second
	cfg := Config{NATS: bus(s.url, "test node", s.log), Policy: policy.Standard(), Name: "w1", Log: s.log, Work: &work, Autotuner: session.On}
	change(&cfg)
	n, err := Start(t.Context(), cfg)
	must(t, err)
	return n
}

// wait waits until every batch is done.
func (s *doneShop) wait(t *testing.T) {
	t.Helper()
	select {
	case <-s.all:
	case <-time.After(time.Minute):
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Fatalf("%d of %d batches are done; %s", len(s.done), s.want, s.said)
	}
}

// close closes the node, after which nothing can be done a second time.
func (s *doneShop) close(t *testing.T, n *Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := n.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := s.conn.Flush(ctx); err != nil {
		t.Error(err)
	}
}

// counted is what the adds that ran on the device in use left there: nothing if all of them had
// run before, so that their queue is not known there.
func counted(t *testing.T, n *Node) uint32 {
	t.Helper()
	word := make([]uint32, 1)
	if err := n.engine.ring.Read("adds", 0, word); err != nil && !errors.Is(err, megakernel.ErrQueue) {
		t.Fatal(err)
	}
	return word[0]
}

// addMore submits further batches of adds and waits for them.
func (s *doneShop) addMore(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	s.want, s.all = s.want+moreBatches, make(chan struct{})
	s.mu.Unlock()
	for i := range moreBatches {
		s.submitAdds(t, shopBatches+i)
	}
	s.wait(t)
}

// check demands one result of every batch, executed or, of those that depend on
// the heap, lost with it. It returns how many were lost.
func (s *doneShop) check(t *testing.T) (lost int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.done) != s.want {
		t.Errorf("%d batches are done, want %d", len(s.done), s.want)
	}
	for name, results := range s.done {
		if len(results) != 1 {
			t.Errorf("batch %s has %d results", name, len(results))
		}
		d := results[0]
		switch {
		case d.Executed == shopSlots && d.Faulted == 0 && d.Dropped == 0 && d.Error == "":
		case strings.HasPrefix(name, "adds") && d.Executed+d.Dropped == shopSlots && d.Faulted == 0 && len(d.Faults) == 0 && d.Error == "heap lost":
			lost++
		default:
			t.Errorf("batch %s: %d executed, %d faulted: %v", name, d.Executed, d.Faulted, d)
		}
	}
	return lost
}
