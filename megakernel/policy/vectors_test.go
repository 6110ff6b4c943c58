package policy

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// num is an unsigned integer, written as a JSON number or, above 2^53, as a string.
type num uint64

func (n *num) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseUint(unquote(b), 10, 64)
	*n = num(v)
	return err
}

// flt is a float64, written as a JSON number or as "NaN" or "[-]Infinity".
type flt float64

func (f *flt) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(unquote(b), 64)
	*f = flt(v)
	return err
}

func unquote(b []byte) string {
	if len(b) > 1 && b[0] == '"' {
		b = b[1 : len(b)-1]
	}
	return string(b)
}

func floats(in []flt) []float64 {
	out := make([]float64, len(in))
	for i, f := range in {
		out[i] = float64(f)
	}
	return out
}

// sameFloats compares bit for bit, except that every NaN equals every other:
// the vectors do not record NaN payloads of results.
func sameFloats(got, want []float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("got %d values, want %d", len(got), len(want))
	}
	for i := range got {
		if math.IsNaN(got[i]) && math.IsNaN(want[i]) {
			continue
		}
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			return fmt.Errorf("value %d: got %v, want %v", i, got[i], want[i])
		}
	}
	return nil
}

// vector is one line of a vector file.
type vector struct {
	Line int
	In   json.RawMessage
	Out  json.RawMessage
	Err  string

	// Members of the out-of-memory error.
	Requested, Available num
}

// eachVector runs every case of a file and fails on the first few that
// differ. A file that is missing or empty fails the test.
func eachVector(t *testing.T, file string, run func(v *vector) error) {
	t.Helper()
	dir := os.Getenv("RINGMASTER_VECTORS")
	if dir == "" {
		dir = filepath.Join("testdata", "vectors")
	}
	f, err := os.Open(filepath.Join(dir, file))
	if err != nil {
		t.Fatalf("vectors: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("vectors: %s: %v", file, err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 16<<20)
	cases, failed := 0, 0
	for lines.Scan() {
		v := vector{Line: cases + 1}
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s:%d: %v", file, v.Line, err)
		}
		cases++
		if err := run(&v); err != nil {
			t.Errorf("%s:%d: %v\n%.2000s", file, v.Line, err, lines.Text())
			if failed++; failed == 5 {
				t.Fatal("too many differences")
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if cases == 0 {
		t.Fatalf("%s: no cases", file)
	}
	t.Logf("%s: %d cases", file, cases)
}
