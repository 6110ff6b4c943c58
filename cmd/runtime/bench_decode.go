package main

import (
	"testing"

	"ringmaster/telemetry"
)

// benchDecode times a full queue record in array form on its way from bytes to a
// validated record, beside the msgpack library on the same bytes.
func benchDecode(report *benchReport) error {
	h := telemetry.Header{Incarnation: telemetry.NewIncarnation(), Seq: 17, SentNs: 1_700_000_000_000_000_000, Queue: "q0"}
	q := telemetry.Queue{
		Has: telemetry.HasAllQueue, QueueLen: 4096, RequestedWorkerGroups: 32, MaxWorkgroupSizeX: 1024,
		MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, ExpectedHitsPerItem: 2,
		HotOpcodeCount: 3, HotWindowCount: 70_000, MaxPriorityAge: 5, RequeueCount: 123_456_789_012, ExecutedCount: 99,
	}
	payload := telemetry.AppendQueue(nil, telemetry.FormArray, &h, &q)

	var failed error
	note := func(err error) {
		if err != nil {
			failed = err
		}
	}
	var decoder telemetry.Decoder
	var record telemetry.Record
	decode := func(n int) {
		for range n {
			decoder.Reset(payload)
			note(decoder.Next(&record))
		}
	}
	library := func(y *telemetry.Yardstick) func(n int) {
		return func(n int) {
			for range n {
				note(y.Decode(payload))
			}
		}
	}
	for _, row := range []struct {
		name, yardstick string
		useMethod       bool
	}{
		{"decode/queue", "msgpack library, by reflection, same bytes", false},
		{"decode/queue/custom", "msgpack library, own method, same bytes", true},
	} {
		value, yardstick := alternate(20, 20_000, decode, library(telemetry.NewYardstick(row.useMethod)))
		report.row(benchRow{Name: row.name, Value: value, Unit: "ns", Yardstick: row.yardstick, YardstickValue: yardstick})
	}
	check := func(n int) {
		for range n {
			_, err := telemetry.Check(payload, telemetry.DefaultTelemetryLimits)
			note(err)
		}
	}
	value, yardstick := alternate(20, 20_000, check, decode)
	report.row(benchRow{Name: "decode/check", Value: value, Unit: "ns", Yardstick: "decode of the same record", YardstickValue: yardstick})
	allocs := testing.AllocsPerRun(100, func() { decode(1) })
	report.row(benchRow{Name: "decode/allocs", Value: allocs, Unit: "allocs", Yardstick: "none"})
	return failed
}
