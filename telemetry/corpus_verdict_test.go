package telemetry

import (
	"io"
	"path/filepath"
	"testing"
)

// verdicts says what becomes of the first record of a corpus file; "" is
// accepted. The other files are shapes whose refusal has tests of its own.
var verdicts = map[string]string{
	"array_empty":                 ReasonMissingField,
	"array_extra_elements":        "wrong_type", // where a queue record has take_over now
	"array_missing_required":      ReasonMissingField,
	"array_missing_tail":          "",
	"cut_short":                   ReasonMalformed,
	"done_lists_more_faults":      ReasonInconsistent,
	"extension":                   ReasonExtension,
	"key_twice":                   ReasonDuplicateField,
	"kind_misspelt":               ReasonUnknownKind,
	"kind_of_wrong_type":          ReasonWrongType,
	"kind_unknown":                ReasonUnknownKind,
	"map_empty":                   ReasonMissingField,
	"minor_unknown":               "",
	"minor_unknown_map":           "",
	"nan":                         ReasonOutOfRange,
	"queue_with_dot":              ReasonBadToken,
	"reason_with_later_fields":    "",
	"reserved_queue":              ReasonBadToken,
	"slot_extra_argument":         ReasonOutOfRange,
	"slot_priority_5":             ReasonOutOfRange,
	"text_not_utf8":               ReasonBadText,
	"two_to_64_as_float":          ReasonWrongType,
	"two_to_64_less_1_in_i64":     ReasonOutOfRange,
	"two_to_64_less_1_in_u32":     ReasonOutOfRange,
	"two_to_64_less_1_in_u64":     "",
	"zero_incarnation":            ReasonOutOfRange,
	"nested_100_deep":             ReasonOversized,
	"array_count_lies":            ReasonMalformed,
	"map_count_lies":              ReasonMalformed,
	"slots_count_lies":            ReasonMalformed,
	"string_length_lies":          ReasonMalformed,
	"refused_between_good":        "",
	"signed_widths":               ReasonOutOfRange,
	"kind_last_with_unknown_keys": "",
}

func TestCorpusVerdicts(t *testing.T) {
	for name, want := range verdicts {
		payload := corpusFile(t, filepath.Join("testdata", "fuzz", "FuzzCheckDecode", name))
		_, err := Check(payload, DefaultTelemetryLimits)
		if err == nil {
			var d Decoder
			d.Reset(payload)
			err = d.Next(new(Record))
		}
		if got := ReasonOf(err); got != want || err == io.EOF {
			t.Errorf("%s: %q (%v), want %q", name, got, err, want)
		}
	}
}
