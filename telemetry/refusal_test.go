package telemetry

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// head1 is the header of a minimal queue record in array encoding: kind, minor,
// incarnation and seq 1, no time, no queue.
const head1 = "01 00 01 01 c0 c0"

// work is a work record in array encoding up to its runs, without slots.
const work = "9c 07 00 01 01 c0 c0 a1'b' c0 c0 c0 c0 "

func TestRefusals(t *testing.T) {
	long := func(n int) string { return "'" + strings.Repeat("x", n) + "'" }
	for _, c := range []struct {
		name, payload string
		field, reason string
	}{
		{"empty payload", "", "", ReasonMalformed},
		{"an integer as record", "05", "", ReasonMalformed},
		{"a string as record", "a5'queue'", "", ReasonMalformed},
		{"nil as record", "c0", "", ReasonMalformed},
		{"the code that is never used", "96 01 00 01 01 c0 c1", "", ReasonMalformed},
		{"a map key that is no string", "82 a4'kind' 01 05 06", "", ReasonMalformed},
		{"a timestamp", "97" + head1 + "d6ff00000000", "", ReasonExtension},
		{"an extension in an unknown key", "85 a4'kind' 01 ab'incarnation' 01 a3'seq' 01 a1'x' c70005 a1'y' 00", "", ReasonExtension},
		{"nine containers deep", "81 a1'x' 91 91 91 91 91 91 91 90", "", ReasonOversized},
		{"a string above the cap", "81 a1'x' db00040001" + long(1<<18+1), "", ReasonOversized},

		{"no kind in an array", "90", "kind", ReasonMissingField},
		{"kind nil", "96 c0 00 01 01 c0 c0", "kind", ReasonMissingField},
		{"no kind in a map", "82 ab'incarnation' 01 a3'seq' 01", "kind", ReasonMissingField},
		{"kind 0", "96 00 00 01 01 c0 c0", "kind", ReasonUnknownKind},
		{"kind 13", "96 0d 00 01 01 c0 c0", "kind", ReasonUnknownKind},
		{"kind of an unknown name", "96 a5'quart' 00 01 01 c0 c0", "kind", ReasonUnknownKind},
		{"kind with an empty name", "96 a0 00 01 01 c0 c0", "kind", ReasonUnknownKind},
		{"kind with a name too long", "96 d948" + long(72) + "00 01 01 c0 c0", "kind", ReasonUnknownKind},
		{"kind as float", "96 ca3f800000 00 01 01 c0 c0", "kind", ReasonWrongType},
		{"kind negative", "96 ff 00 01 01 c0 c0", "kind", ReasonUnknownKind},

		{"no incarnation", "94 01 00 c0 01", "incarnation", ReasonMissingField},
		{"incarnation 0", "94 01 00 00 01", "incarnation", ReasonOutOfRange},
		{"no seq", "93 01 00 01", "seq", ReasonMissingField},
		{"seq 0", "94 01 00 01 00", "seq", ReasonOutOfRange},
		{"sent_ns of 2^63", "95 01 00 01 01 cf8000000000000000", "sent_ns", ReasonOutOfRange},
		{"sent_ns negative", "95 01 00 01 01 d3ffffffffffffffff", "sent_ns", ReasonOutOfRange},
		{"queue with a dot", "96 01 00 01 01 c0 a3'a.b'", "queue", ReasonBadToken},
		{"queue empty", "96 01 00 01 01 c0 a0", "queue", ReasonBadToken},
		{"queue with a wildcard", "96 01 00 01 01 c0 a1'*'", "queue", ReasonBadToken},
		{"queue with the reserved name", "96 01 00 01 01 c0 a6'_batch'", "queue", ReasonBadToken},
		{"queue of 65 bytes", "96 01 00 01 01 c0 d941" + long(65), "queue", ReasonOutOfRange},
		{"queue as bytes", "96 01 00 01 01 c0 c401 61", "queue", ReasonWrongType},

		{"u32 of 2^32", "97" + head1 + "cf0000000100000000", "queue_len", ReasonOutOfRange},
		{"u32 of 2^64-1", "97" + head1 + "cfffffffffffffffff", "queue_len", ReasonOutOfRange},
		{"u32 of -1 as fixint", "97" + head1 + "ff", "queue_len", ReasonOutOfRange},
		{"u32 of -128 as int8", "97" + head1 + "d080", "queue_len", ReasonOutOfRange},
		{"u32 of -1 as int16", "97" + head1 + "d1ffff", "queue_len", ReasonOutOfRange},
		{"u32 of -1 as int32", "97" + head1 + "d2ffffffff", "queue_len", ReasonOutOfRange},
		{"u32 of -1 as int64", "97" + head1 + "d3ffffffffffffffff", "queue_len", ReasonOutOfRange},
		{"u32 as float 1.0", "97" + head1 + "ca3f800000", "queue_len", ReasonWrongType},
		{"u32 as double 1.0", "97" + head1 + "cb3ff0000000000000", "queue_len", ReasonWrongType},
		{"u32 as bool", "97" + head1 + "c3", "queue_len", ReasonWrongType},
		{"u32 as string", "97" + head1 + "a1'1'", "queue_len", ReasonWrongType},
		{"u32 as array", "97" + head1 + "90", "queue_len", ReasonWrongType},
		{"u32 as map", "97" + head1 + "80", "queue_len", ReasonWrongType},
		{"a device limit of 0", "99" + head1 + "01 01 00", "max_workgroup_size_x", ReasonOutOfRange},
		{"u64 of -1", "84 a4'kind' 01 ab'incarnation' 01 a3'seq' 01 ad'requeue_count' d3ffffffffffffffff", "requeue_count", ReasonOutOfRange},
		{"u32 of -1 in a map", "84 a4'kind' 01 ab'incarnation' 01 a3'seq' 01 a9'queue_len' ff", "queue_len", ReasonOutOfRange},
		{"a key twice", "85 a4'kind' 01 ab'incarnation' 01 a3'seq' 01 a9'queue_len' 01 a9'queue_len' 01", "queue_len", ReasonDuplicateField},
		{"a key twice, once nil", "85 a4'kind' 01 ab'incarnation' 01 a3'seq' 01 a9'queue_len' c0 a9'queue_len' 01", "queue_len", ReasonDuplicateField},
		{"kind twice", "84 a4'kind' 01 ab'incarnation' 01 a3'seq' 01 a4'kind' 02", "kind", ReasonDuplicateField},
		{"kind twice, neither first", "84 ab'incarnation' 01 a4'kind' 01 a3'seq' 01 a4'kind' 01", "kind", ReasonDuplicateField},

		{"bps of 10001", "99 02 00 01 01 c0 c0 c0 c0 cd2711", "frontier_density_bps", ReasonOutOfRange},
		{"bps of 65536", "99 02 00 01 01 c0 c0 c0 c0 ce00010000", "frontier_density_bps", ReasonOutOfRange},
		{"frontier above the graph", "9b 02 00 01 01 c0 c0 05 c0 c0 c0 06", "", ReasonInconsistent},

		{"NaN", "97 03 00 01 01 c0 c0 cb7ff8000000000000", "priority", ReasonOutOfRange},
		{"NaN as float32", "97 03 00 01 01 c0 c0 ca7fc00000", "priority", ReasonOutOfRange},
		{"infinity", "97 03 00 01 01 c0 c0 cb7ff0000000000000", "priority", ReasonOutOfRange},
		{"minus infinity", "97 03 00 01 01 c0 c0 cbfff0000000000000", "priority", ReasonOutOfRange},
		{"a negative float", "97 03 00 01 01 c0 c0 cbbff0000000000000", "priority", ReasonOutOfRange},
		{"a negative integer for a float", "97 03 00 01 01 c0 c0 ff", "priority", ReasonOutOfRange},
		{"a float above the range", "98 03 00 01 01 c0 c0 c0 cb3ff0000000000001", "coefficient", ReasonOutOfRange},
		{"a string for a float", "97 03 00 01 01 c0 c0 a1'1'", "priority", ReasonWrongType},

		{"a report without launch", "99 04 00 01 01 c0 c0 c0 c0 00", "launch", ReasonMissingField},
		{"a report without status", "97 04 00 01 01 c0 c0 01", "status", ReasonMissingField},
		{"launch 0", "99 04 00 01 01 c0 c0 00 c0 00", "launch", ReasonOutOfRange},
		{"an unknown status", "99 04 00 01 01 c0 c0 01 c0 a3'meh'", "status", ReasonOutOfRange},
		{"an unknown status code", "99 04 00 01 01 c0 c0 01 c0 02", "status", ReasonOutOfRange},
		{"a text of 257 bytes", "9a 04 00 01 01 c0 c0 01 c0 01 da0101" + long(257), "error", ReasonOutOfRange},
		{"a text that is not UTF-8", "9a 04 00 01 01 c0 c0 01 c0 01 a1ff", "error", ReasonBadText},
		{"ok with an error", "9a 04 00 01 01 c0 c0 01 c0 00 a1'x'", "", ReasonInconsistent},
		{"65 opcode counts", "85 a4'kind' 04 ab'incarnation' 01 a3'seq' 01 a6'launch' 01 ad'opcode_counts' dc0041" + strings.Repeat("00", 65), "opcode_counts", ReasonOutOfRange},
		{"an opcode count of 2^32", "85 a4'kind' 04 ab'incarnation' 01 a3'seq' 01 a6'launch' 01 ad'opcode_counts' 91 cf0000000100000000", "opcode_counts", ReasonOutOfRange},
		{"a fingerprint of 31 bytes", "86 a4'kind' 04 ab'incarnation' 01 a3'seq' 01 a6'launch' 01 a6'status' 00 ab'fingerprint' c41f" + strings.Repeat("00", 31), "", ReasonInconsistent},
		{"a fingerprint of 33 bytes", "85 a4'kind' 04 ab'incarnation' 01 a3'seq' 01 a6'launch' 01 ab'fingerprint' c421" + strings.Repeat("00", 33), "fingerprint", ReasonOutOfRange},
		{"a fingerprint as string", "85 a4'kind' 04 ab'incarnation' 01 a3'seq' 01 a6'launch' 01 ab'fingerprint' a0", "fingerprint", ReasonWrongType},

		{"33 capabilities", "84 a4'kind' 05 ab'incarnation' 01 a3'seq' 01 ac'capabilities' dc0021" + strings.Repeat("a0", 33), "capabilities", ReasonOutOfRange},
		{"a capability of 65 bytes", "84 a4'kind' 05 ab'incarnation' 01 a3'seq' 01 ac'capabilities' 91 d941" + long(65), "capabilities", ReasonOutOfRange},
		{"a capability that is not UTF-8", "84 a4'kind' 05 ab'incarnation' 01 a3'seq' 01 ac'capabilities' 91 a180", "capabilities", ReasonBadText},

		{"no decision", "84 a4'kind' 06 ab'incarnation' 01 a3'seq' 01 a5'error' a0", "decision", ReasonMissingField},
		{"a grid of two", "85 a4'kind' 06 ab'incarnation' 01 a3'seq' 01 a8'decision' 01 ad'dispatch_grid' 92 01 01", "dispatch_grid", ReasonOutOfRange},
		{"a bool as integer", "85 a4'kind' 06 ab'incarnation' 01 a3'seq' 01 a8'decision' 01 a7'changed' 01", "changed", ReasonWrongType},
		{"a short reason", "85 a4'kind' 06 ab'incarnation' 01 a3'seq' 01 a8'decision' 01 a7'reasons' 91 94 a1'r' 01 02 03", "reasons", ReasonOutOfRange},
		{"a reason that is no array", "85 a4'kind' 06 ab'incarnation' 01 a3'seq' 01 a8'decision' 01 a7'reasons' 91 01", "reasons", ReasonWrongType},
		{"17 reasons", "85 a4'kind' 06 ab'incarnation' 01 a3'seq' 01 a8'decision' 01 a7'reasons' dc0011" + strings.Repeat("95 a0 00 00 00 c2", 17), "reasons", ReasonOutOfRange},

		{"no batch id", "98 07 00 01 01 c0 c0 c0 91 92 00 00", "batch", ReasonMissingField},
		{"a batch id with a blank", "98 07 00 01 01 c0 c0 a3'a b' 91 92 00 00", "batch", ReasonBadToken},
		{"neither slots nor runs", "97 07 00 01 01 c0 c0 a1'b'", "", ReasonInconsistent},
		{"an empty batch", "98 07 00 01 01 c0 c0 a1'b' 90", "slots", ReasonOutOfRange},
		{"a slot without priority", "98 07 00 01 01 c0 c0 a1'b' 91 91 00", "slots", ReasonOutOfRange},
		{"a slot with 13 arguments", "98 07 00 01 01 c0 c0 a1'b' 91 9f" + strings.Repeat("00", 15), "slots", ReasonOutOfRange},
		{"a slot of priority 5", "98 07 00 01 01 c0 c0 a1'b' 91 92 00 05", "slots", ReasonOutOfRange},
		{"a negative argument", "98 07 00 01 01 c0 c0 a1'b' 91 93 00 00 ff", "slots", ReasonOutOfRange},
		{"a nil argument", "98 07 00 01 01 c0 c0 a1'b' 91 93 00 00 c0", "slots", ReasonWrongType},
		{"4097 slots", "98 07 00 01 01 c0 c0 a1'b' dc1001" + strings.Repeat("920000", 4097), "slots", ReasonOutOfRange},
		{"no runs", work + "90", "runs", ReasonOutOfRange},
		{"1025 runs", work + "dc0401" + strings.Repeat("93000001", 1025), "runs", ReasonOutOfRange},
		{"a run without a count", work + "91 92 00 00", "runs", ReasonOutOfRange},
		{"a run of no slots", work + "91 93 00 00 00", "runs", ReasonOutOfRange},
		{"a run of 65537 slots", work + "91 93 00 00 ce00010001", "runs", ReasonOutOfRange},
		{"a count that overflows", work + "91 94 00 00 ce40000001 c40400000000", "runs", ReasonOutOfRange},
		{"a count of 64 bits", work + "91 93 00 00 cf0000000100000001", "runs", ReasonOutOfRange},
		{"runs of 65537 slots together", work + "92 93 00 00 ce00010000 93 00 00 01", "runs", ReasonOutOfRange},
		{"slots and runs of 65537 slots together", "9c 07 00 01 01 c0 c0 a1'b' 91 92 00 00 c0 c0 c0 91 93 00 00 ce00010000", "", ReasonInconsistent},
		{"a run with 13 arguments", work + "91 dc0010 00 00 01" + strings.Repeat("00", 13), "runs", ReasonOutOfRange},
		{"a run of priority 5", work + "91 93 00 05 01", "runs", ReasonOutOfRange},
		{"a word too few", work + "91 94 00 00 02 c404 00000000", "runs", ReasonOutOfRange},
		{"a word too many", work + "91 94 00 00 02 c40c" + strings.Repeat("00", 12), "runs", ReasonOutOfRange},
		{"half a word", work + "91 94 00 00 01 c402 0000", "runs", ReasonOutOfRange},
		{"no words", work + "91 94 00 00 01 c400", "runs", ReasonOutOfRange},
		{"words that end early", work + "91 94 00 00 02 c408 00000000", "", ReasonMalformed},
		{"words as a string", work + "91 94 00 00 01 a4'abcd'", "runs", ReasonWrongType},
		{"words as an array", work + "91 94 00 00 01 9100", "runs", ReasonWrongType},
		{"an argument of a run of 2^32", work + "91 94 00 00 01 cf0000000100000000", "runs", ReasonOutOfRange},
		{"a nil argument of a run", work + "91 94 00 00 01 c0", "runs", ReasonWrongType},
		{"a run as a map", work + "91 80", "runs", ReasonWrongType},

		{"more faults than faulted", "9a 08 00 01 01 c0 c0 a1'b' 01 00 91 92 00 01", "", ReasonInconsistent},
		{"no reason", "96 09 00 01 01 c0 c0", "reason", ReasonMissingField},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := decodeOne(literal(t, c.payload), DefaultWorkLimits)
			var re *RecordError
			if !errors.As(err, &re) {
				t.Fatalf("got %v, want a *RecordError", err)
			}
			if re.Reason != c.reason || re.Field != c.field {
				t.Errorf("got reason %q of field %q, want %q of %q: %v", re.Reason, re.Field, c.reason, c.field, err)
			}
			if ReasonOf(err) != c.reason {
				t.Errorf("ReasonOf gives %q", ReasonOf(err))
			}
		})
	}
}

func TestErrorNamesRecordKindFieldAndWhatWasWanted(t *testing.T) {
	good := "97" + head1 + "01"
	for _, c := range []struct{ payload, want string }{
		{"97" + head1 + "cf0000000100000000",
			"record 1 (queue): queue_len: out_of_range: got the integer 4294967296, want u32 0..2^32-1 items"},
		{"97" + head1 + "ca3fc00000", "record 1 (queue): queue_len: wrong_type: got the float 1.5, want u32 0..2^32-1 items"},
		{"97" + head1 + "ff", "record 1 (queue): queue_len: out_of_range: got a negative integer, want u32 0..2^32-1 items"},
		{"99 04 00 01 01 c0 c0 01 c0 a3'meh'", "record 1 (launch): status: out_of_range: got a string of 3 bytes, want enum ok|failed"},
		{work + "91 93 00 02 ceffffffff", "record 1 (work): runs: out_of_range: a run of 4294967295 slots, want 1 to the 65536 that are left of a batch's 65536"},
		{work + "92 93 00 02 cd ffff 93 00 02 02", "record 1 (work): runs: out_of_range: a run of 2 slots, want 1 to the 1 that are left of a batch's 65536"},
		{work + "91 93 00 09 04", "record 1 (work): runs: out_of_range: a run of priority 9, want 0..4"},
		{work + "91 94 02 02 02 c4 03 010000", "record 1 (work): runs: out_of_range: an argument of 3 bytes for 2 slots, want 8"},
		{work + "91 94 02 02 02 c4 09 010000000200000000", "record 1 (work): runs: out_of_range: an argument of 9 bytes for 2 slots, want 8"},
		{work + "91 dc0010 00 02 01 01 01 01 01 01 01 01 01 01 01 01 01 01", "record 1 (work): runs: out_of_range: a run of 13 arguments, want at most 12"},
		{"93 01 00 01", "record 1 (queue): seq: missing_field: want u64 1..2^64-1 records"},
		{"96 01 00 01 01 c0 a3'a.b'", "record 1 (queue): queue: bad_token: got a string of 3 bytes, want token 1..64 bytes"},
	} {
		var d Decoder
		var r Record
		d.Reset(literal(t, good+c.payload))
		must(t, d.Next(&r))
		if err := d.Next(&r); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

func TestRefusedRecordDoesNotStopTheOnesAfterIt(t *testing.T) {
	good := func(n string) string { return "97" + head1 + n }
	payload := literal(t, good("01")+
		good("ff")+ // out of range
		"84 a4'kind' a3'???' a1'a' 92 01 92 02 03 a1'b' 80 a1'c' c0"+ // unknown kind
		good("02")+
		"85 a4'kind' 01 ab'incarnation' 01 a3'seq' 01 a3'seq' 02 a1'z' 93 01 02 03"+ // duplicate
		good("03"))
	if n, err := Check(payload, DefaultTelemetryLimits); n != 6 || err != nil {
		t.Fatalf("Check: %d, %v", n, err)
	}
	var d Decoder
	var r Record
	d.Reset(payload)
	var got []string
	for {
		err := d.Next(&r)
		if err == io.EOF {
			break
		}
		if err != nil {
			var re *RecordError
			if !errors.As(err, &re) || re.Index != len(got) {
				t.Errorf("record %d: %v", len(got), err)
			}
			got = append(got, ReasonOf(err))
			continue
		}
		got = append(got, string(rune('0'+r.Queue.QueueLen)))
	}
	want := "1 out_of_range unknown_kind 2 duplicate_field 3"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
}

func TestReasonOfForeignErrors(t *testing.T) {
	if got := ReasonOf(nil); got != "" {
		t.Errorf("nil: %q", got)
	}
	if got := ReasonOf(io.ErrClosedPipe); got != ReasonRefused {
		t.Errorf("foreign error: %q", got)
	}
}

func TestUnknownKindIsDescribedWhereverItStands(t *testing.T) {
	payload, err := AppendJSON(nil, &Header{Incarnation: 1, Seq: 1}, []byte(`{"kind":"dance"}`))
	must(t, err)
	var d Decoder
	var r Record
	d.Reset(payload)
	if err := d.Next(&r); ReasonOf(err) != ReasonUnknownKind || !strings.Contains(err.Error(), "a string of 5 bytes") {
		t.Errorf("error %v, want one that describes the kind, not the first key", err)
	}
	if err := d.Next(&r); !errors.Is(err, io.EOF) {
		t.Errorf("after the refused record: %v", err)
	}
}

// A schema made before the header's rows would neither know nor demand them.
func TestEveryKindDemandsTheHeader(t *testing.T) {
	for k := KindInvalid + 1; k <= lastKind; k++ {
		for encoding, payload := range map[string][]byte{"map": append([]byte("\x81\xa4kind"), byte(k)), "array": {0x91, byte(k)}} {
			var r Record
			var d Decoder
			d.Reset(payload)
			var re *RecordError
			if err := d.Next(&r); !errors.As(err, &re) || re.Reason != ReasonMissingField || re.Field != "incarnation" {
				t.Errorf("%v, %s: %v", k, encoding, err)
			}
		}
	}
}
