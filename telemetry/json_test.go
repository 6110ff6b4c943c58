package telemetry

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestJSONBecomesARecordWithTheHeaderFilledIn(t *testing.T) {
	h := Header{Incarnation: 7, Seq: 3, SentNs: 11}
	payload, err := AppendJSON(nil, &h, []byte(`{"kind":"queue","queue":"q","queue_len":4096,"executed_count":18446744073709551615}`))
	must(t, err)
	payload, err = AppendJSON(payload, &h, []byte(`{"kind":"graph","seq":9,"frontier_density_bps":0}`))
	must(t, err)
	if _, err := Check(payload, DefaultTelemetryLimits); err != nil {
		t.Fatal(err)
	}
	var d Decoder
	var r Record
	d.Reset(payload)
	must(t, d.Next(&r))
	if r.Kind != KindQueue || r.Incarnation != 7 || r.Seq != 3 || r.Header.Queue != "q" || r.Queue.QueueLen != 4096 || r.Queue.ExecutedCount != 1<<64-1 {
		t.Errorf("got %+v %+v", r.Header, r.Queue)
	}
	must(t, d.Next(&r))
	if r.Kind != KindGraph || r.Seq != 9 || !r.Graph.Has.Has(HasFrontierDensityBps) || r.Graph.FrontierDensityBps != 0 {
		t.Errorf("got %+v %+v", r.Header, r.Graph)
	}
	if err := d.Next(&r); !errors.Is(err, io.EOF) {
		t.Errorf("after the last record: %v", err)
	}
}

func TestJSONThatIsNotOneObjectOfNumbersAndTextsIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		`[1]`:                                "JSON object",
		`null`:                               "null",
		`{"kind":"queue"} {"kind":"x"}`:      "follows",
		`{"kind":"queue","queue_len":{}}`:    "queue_len",
		`{"kind":"queue","queue_len":1e999}`: "does not fit",
		`{"kind":`:                           "JSON object",
	} {
		before := []byte("kept")
		got, err := AppendJSON(before, &Header{}, []byte(line))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one about %q", line, err, want)
		}
		if string(got) != "kept" {
			t.Errorf("%s: the buffer was changed to %q", line, got)
		}
	}
}

func TestRecommendationJSONUsesTheWireNames(t *testing.T) {
	out, err := MarshalRecommendationJSON("w", &Header{Incarnation: 1<<63 + 1, Seq: 2, Queue: "q"}, &Recommendation{
		Decision: 5, WorkgroupSizeX: 256, Topology: "sparse_frontier", Reasons: []Reason{{Rule: "sparse", Threshold: 750, Value: 3, Distance: 748}},
	})
	must(t, err)
	var fields map[string]any
	must(t, json.Unmarshal(out, &fields))
	for name, want := range map[string]any{"kind": "recommendation", "worker": "w", "queue": "q", "decision": "5", "incarnation": "8000000000000001", "answered_incarnation": "0000000000000000", "workgroup_size_x": 256.0, "topology": "sparse_frontier", "changed": false} {
		if fields[name] != want {
			t.Errorf("%s is %v, want %v", name, fields[name], want)
		}
	}
}

func TestFingerprintsInJSONAreHexadecimal(t *testing.T) {
	line := `{"kind":"launch","seq":1,"incarnation":1,"launch":3,"status":"ok","fingerprint":"` + strings.Repeat("0aF1", FingerprintSize/2) + `"}`
	payload, err := AppendJSON(nil, &Header{}, []byte(line))
	must(t, err)
	var d Decoder
	var r Record
	d.Reset(payload)
	if err := d.Next(&r); err != nil || string(r.Launch.Fingerprint) != strings.Repeat("\x0a\xf1", FingerprintSize/2) {
		t.Errorf("%x, %v", r.Launch.Fingerprint, err)
	}
	if _, err := AppendJSON(nil, &Header{}, []byte(`{"kind":"launch","fingerprint":"kernel one"}`)); err == nil || !strings.Contains(err.Error(), "hexadecimal") {
		t.Errorf("got %v", err)
	}
}

func TestUnknownFieldsOfAJSONObjectAreNamed(t *testing.T) {
	for object, want := range map[string][]string{
		`{"kind":"queue","queue_len":1,"seq":2}`:                     nil,
		`{"kind":"queue","queue_length":1,"launch":2,"queue_len":3}`: {"launch", "queue_length"},
		`{"kind":1,"queue_length":1}`:                                {"queue_length"},
		`{"kind":"dance","steps":3}`:                                 nil,
		`{"kind":0,"steps":3}`:                                       nil,
		`{"queue_length":1}`:                                         nil,
		`{"kind":"queue","queue_length":`:                            nil,
	} {
		if got := UnknownFields([]byte(object)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", object, got, want)
		}
	}
}
