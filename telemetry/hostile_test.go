package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// hostilePayloads are shapes that make a naive decoder allocate or recurse
// without bound.
func hostilePayloads(t testing.TB) map[string][]byte {
	out := map[string][]byte{
		"array of 2^32-1 in 5 bytes":  literal(t, "ddffffffff"),
		"map of 2^32-1 in 5 bytes":    literal(t, "dfffffffff"),
		"string of 2^32-1 in 5 bytes": literal(t, "dbffffffff"),
		"bytes of 2^32-1 in 5 bytes":  literal(t, "c6ffffffff"),
		"slots of 2^27":               literal(t, "98 07 00 01 01 c0 c0 a1'b' dd08000000"),
		"slots of 4096 in 3 bytes":    literal(t, "98 07 00 01 01 c0 c0 a1'b' dc1000"),
		"results of 4096 in 3 bytes":  literal(t, "9b 08 00 01 01 c0 c0 a1'b' 00 00 90 dc1000"),
		"unknown key with 2^31 pairs": literal(t, "84 a4'kind' 01 ab'incarnation' 01 a3'seq' 01 a1'x' df80000000"),
		"arrays, 1 Mi deep":           bytes.Repeat([]byte{0x91}, 1<<20),
		"wide arrays, 200 Ki deep":    bytes.Repeat([]byte{0xdd, 0, 0, 0, 1}, 1<<20/5),
		"maps, 1 Mi deep":             bytes.Repeat([]byte{0x81}, 1<<20),
		"maps in keys":                bytes.Repeat([]byte{0x82, 0x90}, 1<<19),
		"array of arrays that lie":    bytes.Repeat([]byte{0xdd, 0, 0, 0xff, 0xff}, 1<<20/5),
	}
	for c := range 256 { // every code, announcing the most it can
		out[fmt.Sprintf("code %02x", c)] = []byte{byte(c), 0xff, 0xff, 0xff, 0xff}
	}
	return out
}

// drain decodes everything without a structure check before it and returns
// the number of records and refusals.
func drain(t testing.TB, d *Decoder, r *Record, payload []byte) (records, refusals int) {
	d.Reset(payload)
	for range len(payload) + 1 {
		switch err := d.Next(r); {
		case err == nil:
			records++
		case err == io.EOF:
			return records, refusals
		default:
			var re *RecordError
			if !errors.As(err, &re) || re.Reason == "" || re.Error() == "" {
				t.Fatalf("payload %x: %v", payload, err)
			}
			refusals++
		}
	}
	t.Fatalf("payload of %d bytes: the decoder does not end", len(payload))
	return records, refusals
}

func TestHostilePayloadsAreRefusedWithLittleMemory(t *testing.T) {
	const budget = 64 << 10 // for a check, a decode and their error texts
	for name, payload := range hostilePayloads(t) {
		var d Decoder
		r := new(Record)
		drain(t, &d, r, literal(t, "94 01 00 01 01")) // tables that the Decoder makes once
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Check(payload, DefaultWorkLimits)
		records, _ := drain(t, &d, r, payload)
		runtime.ReadMemStats(&after)
		if err == nil && !strings.HasPrefix(name, "code") { // a few of those are well formed
			t.Errorf("%s: accepted by the check", name)
		}
		if records != 0 {
			t.Errorf("%s: %d records decoded", name, records)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > budget && len(payload) < 100 {
			t.Errorf("%s: %d bytes allocated for a payload of %d", name, n, len(payload))
		}
	}
}

func TestDecodingAllocatesInProportionToThePayload(t *testing.T) {
	// The record with the most memory for a byte: slots of three bytes, 64 in memory.
	payload := literal(t, "98 07 00 01 01 c0 c0 a1'b' dc1000")
	payload = append(payload, bytes.Repeat([]byte{0x92, 0, 0}, MaxListedSlots)...)
	var d Decoder
	r := new(Record)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	records, _ := drain(t, &d, r, payload)
	runtime.ReadMemStats(&after)
	if records != 1 || len(r.Work.Slots) != MaxListedSlots {
		t.Fatalf("%d records, %d slots", records, len(r.Work.Slots))
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > MaxListedSlots*64*3/2 {
		t.Errorf("%d bytes allocated for %d slots of 64 bytes", n, MaxListedSlots)
	}
}

func TestTruncationAtEveryByteIsRefused(t *testing.T) {
	for _, l := range literals {
		for _, text := range []string{l.mapRow, l.arrayRow} {
			payload := literal(t, text)
			var d Decoder
			for n := range payload {
				if _, err := Check(payload[:n], DefaultWorkLimits); ReasonOf(err) != ReasonMalformed {
					t.Errorf("%v cut at %d of %d: check: %v", l.want.Kind, n, len(payload), err)
				}
				if records, refusals := drain(t, &d, new(Record), payload[:n]); records != 0 || refusals == 0 && n > 0 {
					t.Errorf("%v cut at %d: %d records, %d refusals", l.want.Kind, n, records, refusals)
				}
			}
		}
	}
}

func TestCorruptBytesNeverPanic(t *testing.T) {
	var d Decoder
	r := new(Record)
	for _, l := range literals {
		payload := literal(t, l.mapRow)
		for i := range payload {
			for _, c := range []byte{0x00, 0x7f, 0x80, 0x90, 0x9f, 0xa0, 0xc0, 0xc1, 0xc6, 0xca, 0xcf, 0xd3, 0xd4, 0xdb, 0xdd, 0xdf, 0xff} {
				bad := bytes.Clone(payload)
				bad[i] = c
				_, _ = Check(bad, DefaultTelemetryLimits)
				drain(t, &d, r, bad)
			}
		}
	}
}

func TestCheckAppliesEveryLimit(t *testing.T) {
	record := literal(t, "84 a4'kind' 01 ab'incarnation' 01 a3'seq' 01 a1'x' 91 a3'abc'") // 10 values, 2 deep
	exact := CheckLimits{MaxBytes: 2 * len(record), MaxRecords: 2, MaxItems: 20, MaxString: 11, MaxDepth: 2}
	payload := bytes.Repeat(record, 2)
	if n, err := Check(payload, exact); n != 2 || err != nil {
		t.Fatalf("at the limits: %d, %v", n, err)
	}
	for name, lower := range map[string]func(*CheckLimits){
		"bytes":   func(l *CheckLimits) { l.MaxBytes-- },
		"records": func(l *CheckLimits) { l.MaxRecords-- },
		"items":   func(l *CheckLimits) { l.MaxItems-- },
		"string":  func(l *CheckLimits) { l.MaxString-- },
		"depth":   func(l *CheckLimits) { l.MaxDepth-- },
	} {
		limits := exact
		lower(&limits)
		if _, err := Check(payload, limits); ReasonOf(err) != ReasonOversized {
			t.Errorf("%s one below: %v", name, err)
		}
	}
}

// Without this a lying count is noticed only where the bytes end.
func TestContainersThatCannotFitAreRefusedAtTheirHead(t *testing.T) {
	for text, want := range map[string]refusal{
		"92 00": refuseMalformed, "91 00": accepted, "81 00": refuseMalformed, "81 00 00": accepted,
		"dc0002 00": refuseMalformed, "dd00000001 00": accepted, "de0001 00": refuseMalformed, "df00000001 00 00": accepted,
	} {
		if _, got := headAt(literal(t, text), 0); got != want {
			t.Errorf("%s: got %q, want %q", text, got.reason(), want.reason())
		}
	}
}

func TestDepthIsCappedWhateverTheLimitsSay(t *testing.T) {
	limits := DefaultTelemetryLimits
	limits.MaxDepth = 1000
	nine := literal(t, "91 91 91 91 91 91 91 91 90")
	if _, err := Check(nine, limits); ReasonOf(err) != ReasonOversized {
		t.Errorf("nine deep: %v", err)
	}
	if _, err := Check(nine[1:], limits); err != nil {
		t.Errorf("eight deep: %v", err)
	}
}

func TestWorkLimitsFitTheLargestBatch(t *testing.T) {
	w := Work{Has: HasAllWork &^ HasRuns, Batch: "b", WantResults: true, Slots: make([]Slot, MaxListedSlots)}
	for i := range w.Slots {
		w.Slots[i] = Slot{Opcode: ^uint32(0), Priority: MaxPriority}
		for a := range w.Slots[i].Args {
			w.Slots[i].Args[a] = ^uint32(0)
		}
	}
	h := testHeader()
	for _, f := range []Encoding{EncodingMap, EncodingArray} {
		payload := Append(nil, f, h, &w)
		if _, err := decodeOne(payload, DefaultWorkLimits); err != nil {
			t.Errorf("encoding %d, %d bytes: %v", f, len(payload), err)
		}
	}
}

func TestInternedStringsAreBounded(t *testing.T) {
	var d Decoder
	var r Record
	for i := range 4 * maxInterned {
		want := fmt.Sprintf("q-%06d", i)
		d.Reset(literal(t, "96 01 00 01 01 c0 a8'"+want+"'"))
		must(t, d.Next(&r))
		if r.Header.Queue != want {
			t.Fatalf("got %q, want %q", r.Header.Queue, want)
		}
	}
	if n := len(d.names.table); n == 0 || n > maxInterned {
		t.Errorf("%d strings kept, want 1..%d", n, maxInterned)
	}
}

func TestErrorsDoNotRepeatPayloadText(t *testing.T) {
	secret := "s3cr3t.name"
	for _, payload := range []string{
		"96 01 00 01 01 c0 ab'" + secret + "'",
		"96 ab'" + secret + "' 00 01 01",
		"84 a4'kind' 01 ab'incarnation' 01 a3'seq' 01 a9'queue_len' ab'" + secret + "'",
	} {
		if _, err := decodeOne(literal(t, payload), DefaultTelemetryLimits); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", payload, err)
		}
	}
}
