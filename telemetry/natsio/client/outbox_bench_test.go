package client

import (
	"testing"

	"ringmaster/telemetry"
)

// A report of a queue that is known, as a publisher of many queues has them.
func BenchmarkPut(b *testing.B) {
	o := newOutbox(false)
	r := telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: 300}
	b.ReportAllocs()
	for b.Loop() {
		if err := o.put(key{"w", "q", telemetry.KindQueue}, "s", 1, &r); err != nil {
			b.Fatal(err)
		}
	}
}
