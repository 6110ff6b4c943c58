package natsio

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/nats-io/nats.go"
)

// hostileNames is how many worker and queue names the tests below make up.
const hostileNames = 100_000

// heap returns the bytes in use after two collections: pools keep what they have for one.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// churn sends a refused and an accepted message for each of many names through
// the intake.
func churn(k *intake, round int) {
	for i := range hostileNames {
		subject := fmt.Sprintf("ringmaster.v1.telemetry.w%d-%d.q%d-%d", round, i, round, i)
		k.take(&nats.Msg{Subject: subject, Data: []byte("bad")})
		k.take(&nats.Msg{Subject: subject, Data: queueRecord(uint32(i), fmt.Sprintf("q%d-%d", round, i))})
	}
}

// No server runs in this process meanwhile, because its heap would be measured too. Whatever keeps
// names at all needs more than the bound for each: a map takes 24 bytes for the name alone.
func TestHostileNamesDoNotGrowMemory(t *testing.T) {
	const mostPerName = 8 // bytes
	conn, err := Connect(fastConfig("nats://127.0.0.1:1"))
	must(t, err)
	t.Cleanup(func() {
		conn.Close()
		<-conn.Closed()
	})
	k := newIntake(&Ingest{conn: conn, sink: nullSink{}, cfg: DefaultIngestConfig()}, DefaultIngestConfig().Telemetry)
	churn(k, 0)
	before := heap()
	churn(k, 1)
	churn(k, 2)
	if after := heap(); after > before+2*hostileNames*mostPerName {
		t.Errorf("%d bytes in use, %d before %d more names", after, before, 2*hostileNames)
	}
	if n := len(k.meter.buckets.byWorker); n > maxBuckets {
		t.Errorf("%d buckets of telemetry, at most %d", n, maxBuckets)
	}
	if n := len(conn.reject.limited.byWorker); n > maxBuckets {
		t.Errorf("%d buckets of reports, at most %d", n, maxBuckets)
	}
	if n := len(conn.seqs.last); n > maxSequences {
		t.Errorf("%d sequences, at most %d", n, maxSequences)
	}
	if n := len(conn.reject.counts.ByReason); n > 4 {
		t.Errorf("%d reasons are counted", n)
	}
}
