package telemetry

import (
	"reflect"
	"testing"
)

func TestMeasuredZeroIsPresentAndMissingIsNot(t *testing.T) {
	const min = "a4'kind' a5'queue' ab'incarnation' 01 a3'seq' 01 "
	for _, c := range []struct {
		name, payload string
		want          Presence
		queueLen      uint32
	}{
		{"array: zero", "97" + head1 + "00", HasQueueLen, 0},
		{"array: nil", "97" + head1 + "c0", 0, 0},
		{"array: missing tail", "96" + head1, 0, 0},
		{"array: header cut short", "94 01 00 01 01", 0, 0},
		{"array: nil between values", "99" + head1 + "05 c0 01", HasQueueLen | HasMaxWorkgroupSizeX, 5},
		{"map: zero", "84" + min + "a9'queue_len' 00", HasQueueLen, 0},
		{"map: nil", "84" + min + "a9'queue_len' c0", 0, 0},
		{"map: missing", "83" + min, 0, 0},
		{"map: out of order", "85" + min + "ad'requeue_count' 00 a9'queue_len' 05", HasRequeueCount | HasQueueLen, 5},
		{"map: kind last", "84 a9'queue_len' 05 a3'seq' 01 ab'incarnation' 01 a4'kind' a5'queue'", HasQueueLen, 5},
		{"map: keys in longer strings than needed", "84 d904'kind' 01 d90b'incarnation' 01 da0003'seq' 01 db00000009'queue_len' 05", HasQueueLen, 5},
		{"map: kind by code", "84 a4'kind' 01 ab'incarnation' 01 a3'seq' 01 a9'queue_len' 05", HasQueueLen, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := decodeOne(literal(t, c.payload), DefaultTelemetryLimits)
			must(t, err)
			if r.Queue.Has != c.want || r.Queue.QueueLen != c.queueLen {
				t.Errorf("got %#x and %d, want %#x and %d", uint64(r.Queue.Has), r.Queue.QueueLen, uint64(c.want), c.queueLen)
			}
		})
	}
}

func TestNothingOfAnEarlierRecordRemains(t *testing.T) {
	var d Decoder
	r := new(Record)
	for i := range literals {
		for _, full := range []string{literals[i].mapRow, literals[i].arrayRow} {
			d.Reset(literal(t, full))
			must(t, d.Next(r))
		}
	}
	// The shortest record of each kind, into the same Record.
	for _, c := range []struct {
		payload string
		want    any
		got     func() any
	}{
		{"94 01 00 01 01", Queue{}, func() any { return r.Queue }},
		{"94 02 00 01 01", Graph{}, func() any { return r.Graph }},
		{"94 03 00 01 01", Priority{}, func() any { return r.Priority }},
		{"99 04 00 01 01 c0 c0 01 c0 00", Launch{Has: HasLaunch | HasStatus, Launch: 1, OpcodeCounts: []uint32{}, Fingerprint: []byte{}}, func() any { return r.Launch }},
		{"94 05 00 01 01", Worker{Capabilities: []string{}, Opcodes: []Opcode{}}, func() any { return r.Worker }},
		{"97 06 00 01 01 c0 c0 01", Recommendation{Decision: 1, Reasons: []Reason{}, Decided: []byte{}}, func() any { return r.Recommendation }},
		{"98 07 00 01 01 c0 c0 a1'b' 91 92 09 00", Work{Has: HasBatch | HasSlots, Batch: "b", Slots: []Slot{{Opcode: 9}}, Runs: []Run{}}, func() any { return r.Work }},
		{"99 08 00 01 01 c0 c0 a1'b' 00 00", Done{Batch: "b", Faults: []Fault{}, Results: []uint32{}, Prints: []uint32{}}, func() any { return r.Done }},
		{"98 09 00 01 01 c0 c0 c0 a1'r'", Rejected{Reason: "r"}, func() any { return r.Rejected }},
	} {
		d.Reset(literal(t, c.payload))
		must(t, d.Next(r))
		if got := c.got(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("got %+v, want %+v", got, c.want)
		}
		if want := (Header{Kind: r.Kind, Incarnation: 1, Seq: 1}); r.Header != want {
			t.Errorf("header %+v, want %+v", r.Header, want)
		}
	}
}

func TestLaterMinorVersionsAreAccepted(t *testing.T) {
	for name, payload := range map[string]string{
		"array with more elements": "dc0016 01 ce7fffffff 01 01 c0 c0 05 c0 c0 c0 c0 c0 c0 c0 c0 c0 c0 63 c0 c0 93 01 81 a1'x' 02 c0 a3'new'",
		"map with unknown keys": "87 a3'new' 93 01 81 a1'x' 02 c0 a4'kind' 01 a5'minor' ce7fffffff a6'newer!' c403010203" +
			"ab'incarnation' 01 a3'seq' 01 a9'queue_len' 05",
		"map with a map as unknown value": "86 a4'kind' 01 a5'minor' ce7fffffff ab'incarnation' 01 a3'seq' 01 a9'queue_len' 05" +
			"a1'm' 82 05 91 cb7ff8000000000000 a1'q' 81 c0 c0",
	} {
		r, err := decodeOne(literal(t, payload), DefaultTelemetryLimits)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r.Minor != 0x7fffffff || r.Queue.QueueLen != 5 {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

func TestRowsOfALaterMinorVersionAreAccepted(t *testing.T) {
	r, err := decodeOne(literal(t, "85 a4'kind' 06 ab'incarnation' 01 a3'seq' 01 a8'decision' 01 a7'reasons' 91 97 a1'r' 01 02 03 c3 c0 91 05"), DefaultTelemetryLimits)
	must(t, err)
	if want := []Reason{{"r", 1, 2, 3, true}}; !reflect.DeepEqual(r.Recommendation.Reasons, want) {
		t.Errorf("got %+v, want %+v", r.Recommendation.Reasons, want)
	}
}

func TestFormsMayAlternateInOnePayload(t *testing.T) {
	var payload []byte
	for _, l := range literals {
		payload = append(payload, literal(t, l.mapRow)...)
		payload = append(payload, literal(t, l.arrayRow)...)
	}
	if n, err := Check(payload, DefaultTelemetryLimits); n != 2*len(literals) || err != nil {
		t.Fatalf("Check: %d, %v", n, err)
	}
	var d Decoder
	d.Reset(payload)
	for i := range 2 * len(literals) {
		var r Record
		must(t, d.Next(&r))
		if want := literals[i/2].want; !reflect.DeepEqual(r, want) {
			t.Errorf("record %d: got %+v, want %+v", i, r, want)
		}
	}
}

func TestEncoderLeavesOutAbsentFields(t *testing.T) {
	h := Header{Incarnation: 1, Seq: 1}
	q := Queue{Has: HasMaxWorkgroupSizeX, QueueLen: 7, MaxWorkgroupSizeX: 64}
	for encoding, want := range []string{
		EncodingMap:   "86 a4'kind' a5'queue' a5'minor' 00 ab'incarnation' 01 a3'seq' 01 a7'sent_ns' 00 b4'max_workgroup_size_x' 40",
		EncodingArray: "99 01 00 01 01 00 c0 c0 c0 40",
	} {
		if got := Append([]byte("x"), Encoding(encoding), h, &q); string(got) != "x"+string(literal(t, want)) {
			t.Errorf("encoding %d: got %x", encoding, got)
		}
	}
}

func TestEncoderCutsTextsAtCharacters(t *testing.T) {
	h := Header{Incarnation: 1, Seq: 1}
	long := make([]byte, 0, 300)
	for len(long) < 255 {
		long = append(long, 'a')
	}
	l := Launch{Has: HasLaunch | HasStatus | HasError, Launch: 1, Status: LaunchFailed, Error: string(long) + "é"}
	r, err := decodeOne(Append(nil, EncodingArray, h, &l), DefaultTelemetryLimits)
	if err != nil || r.Launch.Error != string(long) {
		t.Errorf("cut at the cap: %q, %v", r.Launch.Error, err)
	}
	l.Error = "a\xffb"
	r, err = decodeOne(Append(nil, EncodingArray, h, &l), DefaultTelemetryLimits)
	if err != nil || r.Launch.Error != "a\ufffdb" {
		t.Errorf("not UTF-8: %q, %v", r.Launch.Error, err)
	}
}
