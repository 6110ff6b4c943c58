package telemetry

import (
	"bytes"
	"testing"
)

func BenchmarkAppendDecision(b *testing.B) {
	e, buf := logEntry(1), make([]byte, 0, MaxDecisionBytes)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendDecision(buf[:0], e)
	}
	b.ReportMetric(float64(len(buf)), "bytes/entry")
}

func BenchmarkReadDecision(b *testing.B) {
	log := sampleLog(1000)
	d, e := NewDecisionReader(bytes.NewReader(log)), new(DecisionEntry)
	b.ReportAllocs()
	for b.Loop() {
		if d.Next(e) != nil {
			d = NewDecisionReader(bytes.NewReader(log))
		}
	}
}
