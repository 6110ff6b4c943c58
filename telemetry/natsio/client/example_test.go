package client_test

import (
	"context"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
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
	outlet := conn.NewOutlet(natsio.OutletConfig{})
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
