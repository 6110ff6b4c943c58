package telemetry

import (
	"errors"
	"slices"
	"testing"
)

// FuzzCheck compares the structure check with simpleCheck, under limits that
// short inputs can reach too.
func FuzzCheck(f *testing.F) {
	for _, payload := range hostilePayloads(f) {
		if len(payload) < 1<<10 {
			f.Add(payload)
		}
	}
	f.Add(slices.Repeat([]byte{0x91}, 1<<20))
	f.Add(slices.Repeat([]byte{0x81}, 1<<20))
	f.Fuzz(func(t *testing.T, payload []byte) { compareCheck(t, payload) })
}

// compareCheck is what FuzzCheck holds a payload to.
func compareCheck(t testing.TB, payload []byte) {
	narrow := CheckLimits{MaxBytes: 256, MaxRecords: 3, MaxItems: 40, MaxString: 8, MaxDepth: 3}
	for _, limits := range []CheckLimits{narrow, DefaultTelemetryLimits, DefaultWorkLimits} {
		records, err := Check(payload, limits)
		want, ok := simpleCheck(payload, limits)
		if (err == nil) != ok || records != want {
			t.Fatalf("%+v: %d records, %v; the simple check: %d, %v", limits, records, err, want, ok)
		}
		var re *RecordError
		if err != nil && (!errors.As(err, &re) || re.Index < 0 ||
			re.Reason != ReasonMalformed && re.Reason != ReasonOversized && re.Reason != ReasonExtension) {
			t.Fatalf("refused with %v", err)
		}
	}
}
