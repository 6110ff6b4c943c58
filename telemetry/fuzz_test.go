package telemetry

import (
	"errors"
	"io"
	"reflect"
	"testing"
)

// FuzzCheckDecode feeds arbitrary bytes to the structure check and, whatever it
// says, to the decoder. Nothing panics, the decoder ends, a receiver allocates
// no more than its allowance, a payload that passes has as many outcomes as
// records, and a record that is accepted survives being encoded again either
// way.
func FuzzCheckDecode(f *testing.F) {
	for _, l := range literals {
		f.Add(literal(f, l.mapRow))
		f.Add(literal(f, l.arrayRow))
	}
	for _, payload := range hostilePayloads(f) {
		if len(payload) < 1<<10 { // the long ones are for TestHostileCorpus and slow the fuzzer down
			f.Add(payload)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		if n := allocated(func() { admit(new(Decoder), new(Record), payload, DefaultWorkLimits) }); n > allowance(payload) {
			t.Fatalf("%d bytes allocated for a payload of %d", n, len(payload))
		}
		checkDecode(t, payload)
	})
}

// checkDecode is what FuzzCheckDecode holds a payload to but for its memory.
func checkDecode(t testing.TB, payload []byte) {
	records, checkErr := Check(payload, DefaultWorkLimits)
	var re *RecordError
	if checkErr != nil && (!errors.As(checkErr, &re) || re.Reason == "") {
		t.Fatalf("check: %v", checkErr)
	}
	var d Decoder
	d.Reset(payload)
	outcomes := 0
	for ; ; outcomes++ {
		if outcomes > len(payload) {
			t.Fatal("the decoder does not end")
		}
		r := new(Record)
		err := d.Next(r)
		if err == io.EOF {
			break
		}
		if err != nil {
			if !errors.As(err, &re) || re.Reason == "" || re.Error() == "" || re.Index != outcomes {
				t.Fatalf("record %d: %v", outcomes, err)
			}
			continue
		}
		if r.Kind == KindWork {
			checkWords(t, &r.Work)
		}
		for _, encoding := range []Encoding{EncodingMap, EncodingArray} {
			again, err := decodeOne(Append(nil, encoding, r.Header, r.Body()), DefaultWorkLimits)
			if err != nil || !reflect.DeepEqual(again, r) {
				t.Fatalf("encoding %d: %v\n got %+v\nwant %+v", encoding, err, again, r)
			}
		}
	}
	if checkErr == nil && outcomes != records {
		t.Fatalf("%d outcomes, %d records", outcomes, records)
	}
}

// checkWords reads every argument of a batch that was accepted.
func checkWords(t testing.TB, w *Work) {
	if n := w.Count(); n < 1 || n > MaxBatchSlots {
		t.Fatalf("%d slots were accepted", n)
	}
	for i := range w.Runs {
		run := &w.Runs[i]
		for a := range run.Args {
			_ = run.Args[a].At(int(run.Count) - 1)
		}
	}
}
