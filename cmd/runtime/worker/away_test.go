//go:build cgo

package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
	"ringmaster/telemetry/natsio/embedded"
)

// restartable is a server that comes back on the same port with the same store.
type restartable struct {
	port   int
	store  string
	server *embedded.Server
}

func (r *restartable) start(t *testing.T) {
	t.Helper()
	var err error
	if r.server, err = startServer(r.port, r.store); err != nil {
		t.Fatal(err)
	}
}

func newRestartable(t *testing.T) *restartable {
	t.Helper()
	r := &restartable{port: -1, store: t.TempDir()}
	r.start(t)
	t.Cleanup(func() { r.server.Shutdown() })
	_, port, _ := strings.Cut(strings.TrimPrefix(r.server.URL(), "nats://"), ":")
	var err error
	if r.port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	return r
}

// submitAdds stores batches of 100 slots that each add 1 to word 0.
func submitAdds(t *testing.T, conn *natsio.Conn, first, batches int) {
	t.Helper()
	work := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasSlots}
	for range 100 {
		work.Slots = append(work.Slots, telemetry.Slot{Opcode: uint32(kernel.OpAdd), Priority: priorityNormal, Args: [12]uint32{1, 0}})
	}
	for i := range batches {
		work.Batch = fmt.Sprintf("b%d", first+i)
		h := telemetry.Header{Incarnation: 7, Seq: uint64(first + i + 1), SentNs: time.Now().UnixNano()}
		if _, err := client.PublishWork(t.Context(), conn, "w1", "q", h, &work); err != nil {
			t.Fatal(err)
		}
	}
}

// waitExecuted asks the node's service until it has executed what it should.
func waitExecuted(t *testing.T, url string, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var status struct {
		SlotsExecuted  int `json:"slots_executed"`
		SlotsSubmitted int `json:"slots_submitted"`
		SlotsPending   int `json:"slots_pending"`
	}
	for status.SlotsExecuted < want {
		if ctx.Err() != nil {
			t.Fatalf("want %d slots executed, have %+v", want, status)
		}
		answer, err := askStatus(url)
		if err != nil {
			continue // not reconnected yet
		}
		must(t, json.Unmarshal(answer, &status))
	}
	if status.SlotsExecuted != want {
		t.Errorf("%d slots executed, want each of %d once", status.SlotsExecuted, want)
	}
}

func TestWorkGoesOnAfterTheServerWasAway(t *testing.T) {
	device := gltest.Open(t)
	server := newRestartable(t)
	log := slog.New(slog.DiscardHandler)
	node, err := Start(t.Context(), Config{NATS: bus(server.server.URL(), "test node", log), Policy: policy.Standard(), Name: "w1", Device: device, Log: log})
	must(t, err)
	conn := dial(t, server.server.URL(), log)

	submitAdds(t, conn, 0, 50)
	server.server.Shutdown()
	server.start(t)
	submitAdds(t, conn, 50, 50)
	waitExecuted(t, server.server.URL(), 100*100)

	counted := make([]uint32, 1)
	must(t, node.engine.ring.Read("q", 0, counted))
	if counted[0] != 100*100 {
		t.Errorf("the device counted %d, want each of %d slots once", counted[0], 100*100)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := node.Close(ctx); err != nil {
		t.Error(err)
	}
}
