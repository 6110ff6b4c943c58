package decided

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/actors"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/natstest"
)

// pace is between two records: with one under way at a time, that is about half of what is possible.
const pace = 500 * time.Microsecond

// BenchmarkRecordToStored is the way from a record to its stored recommendation at a subscriber, by turns with a
// message of the same size that is stored by as many servers and comes back over a republished subject. It
// reports both in microseconds, and their ratio.
func BenchmarkRecordToStored(b *testing.B) {
	b.Run("R1", func(b *testing.B) { recordToStored(b, natstest.Start(b).URL, 1) })
	b.Run("R3", func(b *testing.B) {
		_, urls := natstest.Cluster(b)
		recordToStored(b, urls, 3)
	})
}

func recordToStored(b *testing.B, urls string, replicas int) {
	// As in a fleet, who sends, who decides and who listens are at different servers.
	servers := strings.Split(urls, ",")
	at := func(i int) string { return servers[i%len(servers)] }
	decides(b, at(0))
	sender, listener := bustest.Dial(b, at(1)), bustest.Dial(b, at(2))
	size := make(chan int, 1024)
	arrived := make(chan time.Time, 1024)
	subscribe(b, listener.NATS(), "ringmaster.v1.recommend.w.q", func(m *nats.Msg) {
		if now := time.Now(); bytes.Contains(m.Data, []byte("fenced")) && m.Header.Get("Nats-Sequence") != "" {
			size <- len(m.Data)
			arrived <- now
		}
	})
	echoed := make(chan time.Time, 1024)
	subscribe(b, listener.NATS(), "echo.q", func(*nats.Msg) { echoed <- time.Now() })
	_, err := sender.JetStream().CreateStream(bustest.Context(b), jetstream.StreamConfig{
		Name: "BARE", Subjects: []string{"bare.>"}, Replicas: replicas, MaxMsgs: 1000,
		RePublish: &jetstream.RePublish{Source: "bare.>", Destination: "echo.>"},
	})
	must(b, err)

	seq := uint64(0)
	record := func() time.Duration {
		seq++
		h := telemetry.Header{Incarnation: 77, Seq: seq, SentNs: time.Now().UnixNano()}
		q := telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: uint32(1000 + seq%5000)}
		begin := time.Now()
		must(b, sender.PublishRequest("ringmaster.v1.telemetry.w.q", "", telemetry.Append(nil, telemetry.EncodingArray, h, &q)))
		return bustest.Receive(b, arrived).Sub(begin)
	}
	record()
	payload := make([]byte, <-size)
	bare := func() time.Duration {
		begin := time.Now()
		must(b, sender.PublishRequest("bare.q", "", payload))
		return bustest.Receive(b, echoed).Sub(begin)
	}
	for range 200 { // both warm
		record()
		bare()
		<-size
	}
	var ours, theirs []time.Duration
	for b.Loop() {
		ours = append(ours, record())
		<-size
		spin(pace)
		theirs = append(theirs, bare())
		spin(pace)
	}
	for _, quantile := range []int{50, 99} {
		x, y := at100(ours, quantile), at100(theirs, quantile)
		b.ReportMetric(float64(x.Nanoseconds())/1000, fmt.Sprintf("µs-p%d", quantile))
		b.ReportMetric(float64(y.Nanoseconds())/1000, fmt.Sprintf("bare-µs-p%d", quantile))
		b.ReportMetric(float64(x)/float64(y), fmt.Sprintf("ratio-p%d", quantile))
	}
	b.ReportMetric(float64(len(payload)), "bytes")
}

// decides starts a process that decides for worker w and stores its decisions.
func decides(b *testing.B, url string) {
	b.Helper()
	n := newNode(b, url).ready(b)
	cfg := actors.DefaultConfig()
	cfg.Incarnation, cfg.Logger, cfg.Store = n.conn.Incarnation(), slog.New(slog.DiscardHandler), n.Store
	outlet := n.conn.NewOutlet(natsio.OutletConfig{})
	b.Cleanup(func() { must(b, outlet.Close(context.Background())) })
	system, err := actors.New(cfg, outlet)
	must(b, err)
	b.Cleanup(func() { system.Close() })
	ingest := natsio.DefaultIngestConfig()
	ingest.Telemetry = natsio.RateLimit{PerSecond: 1e9, Burst: 1e9}
	served, err := n.conn.Serve(system, ingest)
	must(b, err)
	b.Cleanup(func() { must(b, served.Stop(context.Background())) })
	must(b, n.conn.Flush(bustest.Context(b)))
	limits := telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindWorker, Incarnation: 77, Seq: 1}, Worker: telemetry.Worker{
		Has:               telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension | telemetry.HasWorkerMaxInvocationsPerWorkgroup,
		MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024,
	}}
	must(b, system.Announce("w", &limits))
}

func subscribe(b *testing.B, nc *nats.Conn, subject string, fn func(*nats.Msg)) {
	b.Helper()
	_, err := nc.Subscribe(subject, fn)
	must(b, err)
	must(b, nc.Flush())
}

// spin waits and keeps the thread: a short sleep takes a millisecond on some hosts.
func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// at100 is a percentile.
func at100(d []time.Duration, percent int) time.Duration {
	slices.Sort(d)
	return d[(len(d)-1)*percent/100]
}
