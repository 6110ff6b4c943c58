package main

import (
	"testing"

	"ringmaster/telemetry"
)

// benchDecode times a full queue record on its way from bytes to a validated record: in array encoding beside the
// msgpack library on the same bytes, and in map encoding beside the array encoding.
func benchDecode(s *session) error {
	h := telemetry.Header{Incarnation: telemetry.NewIncarnation(), Seq: 17, SentNs: 1_700_000_000_000_000_000, Queue: "q0"}
	q := telemetry.Queue{
		Has: telemetry.HasAllQueue &^ (telemetry.HasQueueTakeOver | telemetry.HasLatencyTargetMs), QueueLen: 4096, RequestedWorkerGroups: 32, MaxWorkgroupSizeX: 1024,
		MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, ExpectedHitsPerItem: 2,
		HotOpcodeCount: 3, HotWindowCount: 70_000, MaxPriorityAge: 5, RequeueCount: 123_456_789_012, ExecutedCount: 99,
	}
	array := telemetry.Append(nil, telemetry.EncodingArray, h, &q)
	names := telemetry.Append(nil, telemetry.EncodingMap, h, &q)

	var failed error
	note := func(err error) {
		if err != nil {
			failed = err
		}
	}
	var decoder telemetry.Decoder
	var record telemetry.Record
	decode := func(payload []byte) func(n int) {
		return func(n int) {
			for range n {
				decoder.Reset(payload)
				note(decoder.Next(&record))
			}
		}
	}
	library := func(useMethod bool) func(n int) {
		y := newYardstick(useMethod)
		return func(n int) {
			for range n {
				note(y.decode(array))
			}
		}
	}
	check := func(n int) {
		for range n {
			_, err := telemetry.Check(array, telemetry.DefaultTelemetryLimits)
			note(err)
		}
	}
	for _, r := range []struct {
		name, yardstick string
		side, beside    func(n int)
	}{
		{"decode/queue", "msgpack library, by reflection, same bytes", decode(array), library(false)},
		{"decode/queue/custom", "msgpack library, own method, same bytes", decode(array), library(true)},
		{"decode/queue/map", "the same record in array encoding", decode(names), decode(array)},
		{"decode/check", "decode of the same record", check, decode(array)},
	} {
		value, yardstick := alternate(20_000, r.side, r.beside)
		s.row(row{Name: r.name, Value: value, Unit: "ns", Yardstick: r.yardstick, YardstickValue: yardstick})
	}
	for _, r := range []struct {
		name string
		read func(n int)
	}{{"decode/allocs", decode(array)}, {"decode/allocs/map", decode(names)}} {
		s.row(row{Name: r.name, Value: testing.AllocsPerRun(100, func() { r.read(1) }), Unit: "allocs", Yardstick: "none"})
	}
	return failed
}
