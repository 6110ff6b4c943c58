package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/embedded"
)

// The stream benchmarks compare a whole node without a device with the bare bus. On one
// embedded server run, in turn, a publisher and a subscriber with nothing between them,
// and a publisher with the runtime behind it. Both use connections over loopback TCP and
// the same payloads.
const (
	streamQueues   = 64
	streamRounds   = 5
	streamRecords  = 1 << 21 // in each round
	batchRecords   = 32
	latencySamples = 4000
	latencyPace    = 200 * time.Microsecond
	benchWorker    = "bench"
)

// streamBench is a running server with a node and two client connections.
type streamBench struct {
	server   *embedded.Server
	node     *node
	sender   *natsio.Conn
	receiver *natsio.Conn
	payloads payloads
}

func newStreamBench(ctx context.Context, log *slog.Logger) (_ *streamBench, err error) {
	b := &streamBench{}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.server, err = startServer("127.0.0.1", -1, "", log); err != nil {
		return nil, err
	}
	flags := natsFlags{URL: b.server.URL(), Prefix: telemetry.DefaultPrefix}
	b.node, err = startNode(ctx, nodeConfig{
		nats: flags.config("bench runtime", log), policy: policy.Standard(), worker: benchWorker, log: log,
		rate: &natsio.RateLimit{PerSecond: 1e9, Burst: 1e9}, // one worker stands for all of a fleet here
	})
	if err != nil {
		return nil, err
	}
	if b.sender, err = flags.dial(ctx, "bench sender", log); err != nil {
		return nil, err
	}
	if b.receiver, err = flags.dial(ctx, "bench receiver", log); err != nil {
		return nil, err
	}
	return b, b.announce(ctx)
}

// announce gives the worker device limits, so that every decision has a plan.
func (b *streamBench) announce(ctx context.Context) error {
	publisher, err := b.sender.NewPublisher(natsio.DefaultPublisherConfig())
	if err != nil {
		return err
	}
	publisher.Announce(benchWorker, &telemetry.Worker{
		Has: telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension |
			telemetry.HasWorkerMaxInvocationsPerWorkgroup | telemetry.HasSubgroupSize,
		MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32,
	})
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return publisher.Close(ctx)
}

func (b *streamBench) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, c := range []*natsio.Conn{b.sender, b.receiver} {
		if c != nil {
			c.Close()
		}
	}
	if b.node != nil {
		b.node.close(ctx)
	}
	if b.server != nil {
		b.server.Shutdown()
	}
}

// benchStream measures ingest and latency.
func benchStream(ctx context.Context, log *slog.Logger, report *benchReport) error {
	b, err := newStreamBench(ctx, log)
	if err != nil {
		return err
	}
	defer b.close()
	for _, content := range []content{fullRecords, deltaRecords} {
		for _, records := range []int{1, batchRecords} {
			if err := b.ingest(ctx, content, records, report); err != nil {
				return err
			}
		}
	}
	if err := b.overload(ctx, report); err != nil {
		return err
	}
	return b.latency(ctx, report)
}

// ingest compares the records per second that go through the pipeline with those that a
// bare subscriber receives, in the same payloads.
func (b *streamBench) ingest(ctx context.Context, what content, records int, report *benchReport) error {
	name := "ingest/single"
	if records > 1 {
		name = fmt.Sprintf("ingest/batch%d", records)
	}
	if what == deltaRecords {
		name += "/delta"
	}
	var piped, bare, decided []float64
	for range streamRounds {
		b.payloads.encode(what, records)
		rate, decisions, err := b.flood(ctx, records)
		if err != nil {
			return err
		}
		piped, decided = append(piped, rate), append(decided, decisions)
		rate, err = b.floodBare(ctx, records)
		if err != nil {
			return err
		}
		bare = append(bare, rate)
	}
	report.row(benchRow{
		Name: name, Value: median(piped), Unit: "records/s", YardstickValue: median(bare),
		Yardstick: fmt.Sprintf("bare subscriber, same payloads, %d bytes a record", b.payloads.meanBytes()),
	})
	report.row(benchRow{Name: name + "/decisions", Value: median(decided), Unit: "/s", Yardstick: "none"})
	return nil
}

// flood publishes the payloads that were encoded last as fast as the node takes records
// in. It returns the records and the decisions per second until the newest record of
// every queue is decided on and recommended.
func (b *streamBench) flood(ctx context.Context, perPayload int) (records, decisions float64, err error) {
	list := b.payloads.list
	subjects := b.subjects(list, func(queue string) string { return b.sender.Subjects().Telemetry(benchWorker, queue) })
	before, taken := b.node.system.Stats(), b.node.ingest.Stats().Records
	runtime.GC() // each side starts without the other's garbage
	start := time.Now()
	err = b.pump(ctx, list, subjects, perPayload, func() uint64 { return b.node.ingest.Stats().Records - taken })
	if err != nil {
		return 0, 0, err
	}
	after := b.node.system.Stats()
	settled := func() bool { // every record is decided on, or folded into one that is
		after = b.node.system.Stats()
		decided := after.Recommendations - before.Recommendations
		return decided+after.Folded-before.Folded >= streamRecords
	}
	if err = waitUntil(ctx, settled); err != nil {
		return 0, 0, err
	}
	took := time.Since(start).Seconds()
	return streamRecords / took, float64(after.Recommendations-before.Recommendations) / took, nil
}

// floodBare publishes the same payloads under a subject outside the schema, to which
// only a counting subscriber listens.
func (b *streamBench) floodBare(ctx context.Context, perPayload int) (float64, error) {
	var received atomic.Uint64
	stop, err := b.receiver.SubscribeBare("bare.>", func([]byte) { received.Add(uint64(perPayload)) })
	if err != nil {
		return 0, err
	}
	defer stop()
	if err := flush(ctx, b.receiver); err != nil {
		return 0, err
	}
	list := b.payloads.list
	subjects := b.subjects(list, func(queue string) string { return "bare.v1.telemetry." + benchWorker + "." + queue })
	runtime.GC()
	start := time.Now()
	if err := b.pump(ctx, list, subjects, perPayload, received.Load); err != nil {
		return 0, err
	}
	return streamRecords / time.Since(start).Seconds(), nil
}

// subjects builds the subject of every payload's queue before the clock starts.
func (b *streamBench) subjects(list []payload, subject func(queue string) string) map[string]string {
	all := make(map[string]string)
	for _, p := range list {
		if _, known := all[p.queue]; !known {
			all[p.queue] = subject(p.queue)
		}
	}
	return all
}

// aheadRecords bounds the records that were sent and not yet received, so that neither
// side measures how fast a client library drops messages.
const aheadRecords = 16_384

var errStalled = errors.New("bench: nothing arrives any more")

// pump publishes everything and waits until it has arrived. Both sides publish through
// the same call, so that only the receivers differ.
func (b *streamBench) pump(ctx context.Context, list []payload, subjects map[string]string, perPayload int, received func() uint64) error {
	stride := max(1, aheadRecords/perPayload/8)
	for n, p := range list {
		if n%stride == 0 {
			if err := waitUntil(ctx, func() bool { return uint64(n*perPayload) < received()+aheadRecords }); err != nil {
				return err
			}
		}
		if err := b.sender.PublishBare(subjects[p.queue], p.bytes); err != nil {
			return err
		}
	}
	return waitUntil(ctx, func() bool { return received() >= streamRecords })
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

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
