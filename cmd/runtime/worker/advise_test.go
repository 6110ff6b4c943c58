package worker

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/advisory"
	"ringmaster/telemetry/natsio/poison"
)

// A batch is told of when the stream has it; the stream of decisions is found only after it was lost.
func TestOperatorsAreToldWhatBecomesOfANodesWork(t *testing.T) {
	server, err := startServer(-1, t.TempDir())
	must(t, err)
	defer server.Shutdown()
	log := newLogger(io.Discard)
	conn, operator := dial(t, server.URL(), log), dial(t, server.URL(), log)
	heard := make(chan *nats.Msg, 16)
	if _, err := operator.NATS().ChanSubscribe("ringmaster.v1.advisory.>", heard); err != nil {
		t.Fatal(err)
	}
	must(t, operator.Flush(t.Context()))
	a := newAdviser(conn, &Config{Name: "gpu0"})
	kept := make(chan error, 1)
	a.setAside(poison.NewKeeper(conn))(&natsio.GivenUp{Worker: "pool.gpus", Queue: "q", Batch: "b", Slots: 1, Deliveries: 20, Sequence: 1, Data: []byte("x")}, func(err error) { kept <- err })
	must(t, <-kept)
	a.storing(nil)
	a.storing(natsio.ErrDisconnected)
	a.storing(nil)
	a.storing(errors.New("no quorum"))
	a.storing(nil)
	a.crowded("gpu0", "q", "b2", errors.New("over its quota"))
	for _, want := range []string{
		`batch_set_aside gpu0.q b "sent to pool.gpus: delivered 20 times without an outcome"`, `decisions_lost gpu0. "no quorum"`,
		`decisions_found gpu0.`, `queue_crowded gpu0.q b2 "over its quota"`,
	} {
		var e advisory.Event
		must(t, json.Unmarshal((<-heard).Data, &e))
		got := strings.TrimPrefix(e.Type, "ringmaster.advisory.v1.") + " " + e.Worker + "." + e.Queue
		if e.Batch != "" {
			got += " " + e.Batch
		}
		if e.Why != "" {
			got += ` "` + e.Why + `"`
		}
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
