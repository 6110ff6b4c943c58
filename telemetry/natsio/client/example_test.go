package client_test

import (
	"context"
	"fmt"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
	"ringmaster/telemetry/natsio/embedded"
)

// runtime stands in for `ringmaster run`: it has one plan for every queue.
type runtime struct{ outlet *natsio.Outlet }

func (r runtime) Announce(string, *telemetry.Record) error { return nil }

func (r runtime) Latest(string, string) (telemetry.Recommendation, bool) {
	return telemetry.Recommendation{}, false
}

func (r runtime) Ingest(worker, queue string, record *telemetry.Record, _ time.Time, reply string) error {
	plan := telemetry.Recommendation{
		Decision: 1, AnsweredIncarnation: record.Incarnation, AnsweredSeq: record.Seq,
		Topology: "dense_frontier", WorkgroupSizeX: 256, Groups: 255, ValidForMs: 3000,
	}
	r.outlet.Recommend(worker, queue, &plan, []string{reply})
	return nil
}

// A client reports the load of a queue and waits for the plan that takes it
// into account.
func ExampleAsk() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	server, stop := serveExample(ctx)
	defer stop()

	cfg := natsio.DefaultConfig() // draws the incarnation
	cfg.URL = server
	conn, err := natsio.Connect(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	if err := conn.WaitState(ctx, natsio.StateConnected); err != nil {
		fmt.Println(err)
		return
	}

	// Records of one subject are counted from 1 within the incarnation.
	h := telemetry.Header{Incarnation: cfg.Incarnation, Seq: 1, SentNs: time.Now().UnixNano()}
	payload := telemetry.AppendQueue(nil, telemetry.EncodingMap, &h, &telemetry.Queue{
		Has: telemetry.HasQueueLen, QueueLen: 70_000,
	})
	_, plan, err := client.Ask(ctx, conn, "gpu0", "frontier", payload)
	switch {
	case err != nil:
		fmt.Println(err)
	case plan.Error != "":
		fmt.Println("no plan:", plan.Error)
	default:
		fmt.Printf("answer to record %d: %s, %d groups of %d\n",
			plan.AnsweredSeq, plan.Topology, plan.Groups, plan.WorkgroupSizeX)
	}
	// Output: answer to record 1: dense_frontier, 255 groups of 256
}

// serveExample starts an embedded server with a runtime on it.
func serveExample(ctx context.Context) (url string, stop func()) {
	server, err := embedded.Start(embedded.DefaultConfig())
	if err != nil {
		panic(err)
	}
	cfg := natsio.DefaultConfig()
	cfg.URL = server.URL()
	conn, err := natsio.Connect(cfg)
	if err != nil {
		panic(err)
	}
	outlet, err := conn.NewOutlet(natsio.DefaultOutletConfig())
	if err != nil {
		panic(err)
	}
	ingest, err := conn.Serve(runtime{outlet}, natsio.DefaultIngestConfig())
	if err != nil {
		panic(err)
	}
	if err := conn.Flush(ctx); err != nil {
		panic(err)
	}
	return server.URL(), func() {
		if err := ingest.Stop(ctx); err != nil {
			panic(err)
		}
		if err := outlet.Close(ctx); err != nil {
			panic(err)
		}
		conn.Close()
		<-conn.Closed()
		server.Shutdown()
	}
}
