package client

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/micro"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// slowHeap is a heap whose first read takes until it is let go, and tells whose reads came.
type slowHeap struct {
	begun, letGo chan struct{}
	order        []string
}

func (h *slowHeap) Read(queue string, _ uint32, _ []uint32) (epoch uint64, err error) {
	if h.order = append(h.order, queue); len(h.order) == 1 {
		close(h.begun)
		<-h.letGo
	}
	return 1, nil
}

func (h *slowHeap) Write(string, uint32, []uint32) (uint64, error) { return 1, nil }

// A request waits for one of each queue that has some, not for a flood of one queue's, and finds room
// beside them. The flood beyond its queue's share is told to come later, as far as that is not a flood itself.
func TestAFloodOfHeapRequestsDelaysAnotherQueuesByOne(t *testing.T) {
	server := newServer(t)
	heap := &slowHeap{begun: make(chan struct{}), letGo: make(chan struct{})}
	served := dial(t, server.URL())
	s, err := served.ServeHeap("gpu0", heap)
	must(t, err)
	must(t, served.Flush(testContext(t)))
	c := dial(t, server.URL())
	nc := c.NATS()
	answers, err := nc.SubscribeSync(nc.NewInbox())
	must(t, err)
	ask := func(queue string, payload []byte) {
		must(t, nc.PublishRequest("ringmaster.v1.heap.gpu0."+queue, answers.Subject, payload))
	}
	read := telemetry.Append(nil, telemetry.EncodingArray, telemetry.Header{Incarnation: 1, Seq: 1}, &telemetry.Heap{Count: 1})
	ask("flood", read)
	receive(t, heap.begun)
	const flood = 600
	for range flood {
		ask("flood", read)
	}
	ask("victim", read)
	ask("large", make([]byte, telemetry.DefaultHeapLimits.MaxBytes+1)) // refused as it comes, behind the victim's
	refused := 0
	for code := ""; code != "413"; {
		m, err := answers.NextMsgWithContext(testContext(t))
		must(t, err)
		if code = m.Header.Get(micro.ErrorCodeHeader); code == "429" {
			refused++
		}
	}
	close(heap.letGo)
	must(t, s.Stop(testContext(t)))
	if i := slices.Index(heap.order, "victim"); i != 1 && i != 2 {
		t.Errorf("the victim's request was number %d of %d", i, len(heap.order))
	}
	if stats := s.Stats(); refused < flood/2 || len(heap.order)+refused != flood+2 || stats.Dropped != 0 || stats.Refused != uint64(refused)+1 {
		t.Errorf("%d requests of %d refused and %d carried out, %+v", refused, flood+2, len(heap.order), stats)
	}
}

// A million cancellations would be worth minutes of what a worker carries out. Another queue's are
// carried out in between.
func TestAFloodOfCancellationsDelaysAnotherQueuesByOne(t *testing.T) {
	server := newServer(t)
	var order []string // by the one goroutine that carries out
	begun, letGo := make(chan struct{}), make(chan struct{})
	served := dial(t, server.URL())
	s, err := served.ServeCancel("gpu0", func(_, queue, batch string, answer func(telemetry.CancelFound, int, error)) {
		if order = append(order, queue+"."+batch); len(order) == 1 {
			close(begun)
			<-letGo
		}
		answer(telemetry.CancelUnseen, 0, nil)
	})
	must(t, err)
	must(t, served.Flush(testContext(t)))
	nc := dial(t, server.URL()).NATS()
	answers, err := nc.SubscribeSync(nc.NewInbox())
	must(t, err)
	cancel := func(queue string, i int) {
		record := telemetry.Append(nil, telemetry.EncodingArray, telemetry.Header{Incarnation: 1, Seq: 1}, &telemetry.Cancel{Batch: fmt.Sprint("b", i)})
		must(t, nc.PublishRequest("ringmaster.v1.cancel.gpu0."+queue, answers.Subject, record))
	}
	cancel("flood", 0)
	receive(t, begun)
	const flood, victims = 600, 100
	for i := range flood {
		cancel("flood", i+1)
	}
	for i := range victims {
		cancel("victim", i)
	}
	must(t, nc.PublishRequest("ringmaster.v1.cancel.gpu0.large", answers.Subject, make([]byte, natsio.CancelLimits.MaxBytes+1)))
	for code := ""; code != "413"; {
		m, err := answers.NextMsgWithContext(testContext(t))
		must(t, err)
		code = m.Header.Get(micro.ErrorCodeHeader)
	}
	close(letGo)
	must(t, s.Stop(testContext(t)))
	for i := range victims {
		if at := slices.Index(order, fmt.Sprint("victim.b", i)); at < 0 || at > 2*(i+1) {
			t.Fatalf("the victim's cancellation %d was number %d of %d", i, at, len(order))
		}
	}
}
