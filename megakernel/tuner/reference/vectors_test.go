package reference

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// u64 reads a number that is a string where JSON's own would lose digits.
type u64 uint64

func (n *u64) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseUint(strings.Trim(string(b), `"`), 10, 64)
	*n = u64(v)
	return err
}

// eachVector decodes every line of a file of vectors into a fresh V.
func eachVector[V any](t *testing.T, file string, check func(t *testing.T, v *V) (problem string)) {
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
		t.Fatal(err)
	}
	cases := 0
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		cases++
		v := new(V)
		if err := json.Unmarshal(lines.Bytes(), v); err != nil {
			t.Fatalf("line %d: %v", cases, err)
		}
		if problem := check(t, v); problem != "" {
			t.Errorf("line %d: %s\n%.600s", cases, problem, lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if cases == 0 {
		t.Fatal("no cases")
	}
	t.Logf("%s: %d cases", file, cases)
}

type measurementVector struct {
	WG json.RawMessage
	Ns u64
}

func measurements(t *testing.T, in []measurementVector) []Measurement {
	t.Helper()
	var out []Measurement
	for _, m := range in {
		var w Workgroup
		if err := json.Unmarshal(m.WG, &w); err != nil {
			t.Fatal(err)
		}
		out = append(out, Measurement{w, uint64(m.Ns)})
	}
	return out
}
