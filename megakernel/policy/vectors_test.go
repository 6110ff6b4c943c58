package policy

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
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

func unquote(b []byte) string {
	if len(b) > 1 && b[0] == '"' {
		b = b[1 : len(b)-1]
	}
	return string(b)
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
