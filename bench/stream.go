package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/actors"
	"ringmaster/bench/workpath"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/embedded"
)

// The stream benchmarks compare a whole node without a device with the bare bus. On one
// embedded server run, in turn, a publisher and a subscriber with nothing between them,
// and a publisher with the runtime behind it. Both use connections over loopback TCP and
// the same payloads.
const (
	streamQueues  = 64
	streamRounds  = 5
	streamRecords = 1 << 21 // in each round
	batchRecords  = 32
	benchWorker   = "bench"
)

// stream is a running server with a node, and two plain connections: one sends and the other receives.
type stream struct {
	*session
	server   *embedded.Server
	conn     *natsio.Conn
	outlet   *natsio.Outlet
	system   *actors.System
	ingest   *natsio.Ingest
	sender   *nats.Conn
	receiver *nats.Conn
	subjects telemetry.Subjects
	payloads payloads
}

// newStream starts it. The caller closes it.
func newStream(s *session) (_ *stream, err error) {
	b := &stream{session: s, subjects: telemetry.Subjects{Prefix: telemetry.DefaultPrefix}}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	served := embedded.DefaultConfig()
	served.Logger = s.log
	if b.server, err = embedded.Start(served); err != nil {
		return nil, err
	}
	if err = b.serve(); err != nil {
		return nil, err
	}
	for _, c := range []**nats.Conn{&b.sender, &b.receiver} {
		if *c, err = nats.Connect(b.server.URL(), nats.Name("bench")); err != nil {
			return nil, err
		}
	}
	return b, b.announce()
}

// serve starts what a worker without a device consists of.
func (b *stream) serve() (err error) {
	cfg := natsio.DefaultConfig()
	cfg.URL, cfg.Name, cfg.Subjects, cfg.Logger = b.server.URL(), "bench runtime", b.subjects, b.log
	if b.conn, err = natsio.Connect(cfg); err != nil {
		return err
	}
	b.outlet = b.conn.NewOutlet(natsio.OutletConfig{})
	actorCfg := actors.DefaultConfig()
	actorCfg.Incarnation, actorCfg.Logger = b.conn.Incarnation(), b.log
	if b.system, err = actors.New(actorCfg, b.outlet); err != nil {
		return err
	}
	ingest := natsio.DefaultIngestConfig()
	ingest.Telemetry = natsio.RateLimit{PerSecond: 1e9, Burst: 1e9} // one worker stands for all of a fleet here
	if b.ingest, err = b.conn.Serve(b.system, ingest); err != nil {
		return err
	}
	return b.conn.Flush(b.ctx)
}

// announce gives the worker device limits, so that every decision has a plan.
func (b *stream) announce() error {
	h := telemetry.Header{Incarnation: telemetry.NewIncarnation(), Seq: 1, SentNs: time.Now().UnixNano()}
	w := telemetry.Worker{
		Has: telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension |
			telemetry.HasWorkerMaxInvocationsPerWorkgroup | telemetry.HasSubgroupSize,
		MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32,
	}
	if err := b.sender.Publish(b.subjects.Worker(benchWorker), telemetry.Append(nil, telemetry.EncodingMap, h, &w)); err != nil {
		return err
	}
	return b.sender.Flush()
}

func (b *stream) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, c := range []*nats.Conn{b.sender, b.receiver} {
		if c != nil {
			c.Close()
		}
	}
	if b.ingest != nil {
		_ = b.ingest.Stop(ctx)
	}
	if b.system != nil {
		b.system.Close()
	}
	if b.outlet != nil {
		_ = b.outlet.Close(ctx)
	}
	if b.conn != nil {
		b.conn.Close()
	}
	if b.server != nil {
		b.server.Shutdown()
	}
}

// onStream runs benchmarks on one stream.
func onStream(benchmarks ...func(*stream) error) func(*session) error {
	return func(s *session) error {
		b, err := newStream(s)
		if err != nil {
			return err
		}
		defer b.close()
		for _, run := range benchmarks {
			if err := run(b); err != nil {
				return err
			}
		}
		return nil
	}
}

var (
	benchStream   = onStream((*stream).measureIngest, (*stream).overload, (*stream).latency)
	benchIngest   = onStream((*stream).measureIngest)
	benchOverload = onStream((*stream).overload)
	benchLatency  = onStream((*stream).latency)
)

// measureIngest measures records of every content and encoding, one and many to a payload.
func (b *stream) measureIngest() error {
	for _, kind := range []kind{{"", fullRecords, telemetry.EncodingArray}, {"/map", fullRecords, telemetry.EncodingMap}, {"/delta", deltaRecords, telemetry.EncodingArray}} {
		for _, perPayload := range []int{1, batchRecords} {
			if err := b.ingestOf(kind, perPayload); err != nil {
				return err
			}
		}
	}
	return nil
}

// ingestOf compares the records per second that go through the pipeline with those that a
// bare subscriber receives, in the same payloads.
func (b *stream) ingestOf(of kind, perPayload int) error {
	name := "ingest/single"
	if perPayload > 1 {
		name = fmt.Sprintf("ingest/batch%d", perPayload)
	}
	var decided []float64
	r, err := exactly(streamRounds).take(b.ctx, func() (float64, error) {
		b.payloads.encode(of, perPayload)
		rate, decisions, err := b.flood(perPayload)
		decided = append(decided, decisions)
		return rate, err
	}, func() (float64, error) { return b.floodBare(perPayload) })
	if err != nil {
		return err
	}
	b.row(row{
		Name: name + of.suffix, Value: r.median(0), Unit: "records/s", YardstickValue: r.median(1),
		Yardstick: fmt.Sprintf("bare subscriber, same payloads, %d bytes a record", b.payloads.meanBytes()),
	})
	b.row(row{Name: name + of.suffix + "/decisions", Value: median(decided), Unit: "/s", Yardstick: "none"})
	return nil
}

// flood publishes the payloads that were encoded last as fast as the node takes records
// in. It returns the records and the decisions per second until the newest record of
// every queue is decided on and recommended.
func (b *stream) flood(perPayload int) (records, decisions float64, err error) {
	before, taken := b.system.Stats(), b.ingest.Stats().Records
	runtime.GC() // each side starts without the other's garbage
	start := time.Now()
	telemetrySubject := func(queue string) string { return b.subjects.Telemetry(benchWorker, queue) }
	if err = b.pump(telemetrySubject, perPayload, func() uint64 { return b.ingest.Stats().Records - taken }); err != nil {
		return 0, 0, err
	}
	after := b.system.Stats()
	settled := func() bool { // every record is decided on, or folded into one that is
		after = b.system.Stats()
		return after.Recommendations-before.Recommendations+after.Folded-before.Folded >= streamRecords
	}
	if err = waitUntil(b.ctx, settled); err != nil {
		return 0, 0, err
	}
	took := time.Since(start).Seconds()
	return streamRecords / took, float64(after.Recommendations-before.Recommendations) / took, nil
}

// floodBare publishes the same payloads under a subject outside the schema, to which
// only a counting subscriber listens.
func (b *stream) floodBare(perPayload int) (float64, error) {
	var received atomic.Uint64
	sub, err := b.receiver.Subscribe("bare.>", func(*nats.Msg) { received.Add(uint64(perPayload)) })
	if err != nil {
		return 0, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := b.receiver.Flush(); err != nil {
		return 0, err
	}
	runtime.GC()
	start := time.Now()
	bareSubject := func(queue string) string { return "bare.v1.telemetry." + benchWorker + "." + queue }
	if err := b.pump(bareSubject, perPayload, received.Load); err != nil {
		return 0, err
	}
	return streamRecords / time.Since(start).Seconds(), nil
}

// aheadRecords bounds the records that were sent and not yet received, so that neither
// side measures how fast a client library drops messages.
const aheadRecords = 16_384

var errStalled = errors.New("nothing arrives any more")

// pump publishes everything and waits until it has arrived. Both sides publish through
// the same call, so that only the receivers differ.
func (b *stream) pump(subject func(queue string) string, perPayload int, received func() uint64) error {
	subjects := make(map[string]string)
	for _, queue := range append(benchQueues[:], telemetry.BatchQueue) {
		subjects[queue] = subject(queue)
	}
	stride := max(1, aheadRecords/perPayload/8)
	for n, p := range b.payloads.list {
		if n%stride == 0 {
			if err := waitUntil(b.ctx, func() bool { return uint64(n*perPayload) < received()+aheadRecords }); err != nil {
				return err
			}
		}
		if err := b.sender.Publish(subjects[p.queue], p.bytes); err != nil {
			return err
		}
	}
	if err := b.sender.Flush(); err != nil {
		return err
	}
	return waitUntil(b.ctx, func() bool { return received() >= streamRecords })
}

func waitUntil(ctx context.Context, ok func() bool) error {
	for deadline := time.Now().Add(10 * time.Second); !ok(); {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return errStalled
		}
		time.Sleep(20 * time.Microsecond)
	}
	return nil
}

// workRounds are the turns of each side in the benchmark of work.
const workRounds = 5

// benchWork measures the way of work beside a bare worker, see workpath.
func benchWork(s *session) error {
	cfg := workpath.Config{Open: func() (worker.Device, error) { return openAgain(s) }, Rounds: workRounds, Log: s.log}
	return workpath.Measure(s.ctx, cfg, func(r workpath.Row) {
		s.row(row{Name: r.Name, Value: r.Value, Unit: r.Unit, Yardstick: r.Yardstick, YardstickValue: r.YardstickValue})
	})
}
