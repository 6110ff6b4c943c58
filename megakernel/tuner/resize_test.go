package tuner

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

// u64 and f64 read JSON numbers that may be written as strings.
type u64 uint64

func (n *u64) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseUint(strings.Trim(string(b), `"`), 10, 64)
	*n = u64(v)
	return err
}

type f64 float64

func (f *f64) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*f = f64(v)
	return err
}

type resizeVector struct {
	In struct {
		Policy struct {
			Max        uint32 `json:"adapter_max_workgroup_size_x"`
			Min        uint32 `json:"minimum_workgroup_size_x"`
			Saturation f64    `json:"saturation_threshold_per_us"`
			Idle       u64    `json:"idle_shrink_us"`
		}
		IdleUs u64    `json:"idle_us"`
		Width  uint32 `json:"observed_workgroup_size_x"`
		PerUs  f64    `json:"observed_throughput_per_us"`
	}
	Out *uint32
}

func TestResizeReproducesTheReference(t *testing.T) {
	dir := os.Getenv("RINGMASTER_VECTORS")
	if dir == "" {
		dir = filepath.Join("testdata", "vectors")
	}
	f, err := os.Open(filepath.Join(dir, "resize.jsonl.gz"))
	if err != nil {
		t.Fatalf("vectors: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	cases, changes := 0, 0
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		cases++
		var v resizeVector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("line %d: %v", cases, err)
		}
		p := v.In.Policy
		r := Resize{MaxWidth: p.Max, MinWidth: p.Min, SaturationPerUs: float64(p.Saturation), IdleShrinkUs: uint64(p.Idle)}
		got, changed := r.Next(v.In.Width, uint64(v.In.IdleUs), float64(v.In.PerUs))
		if changed {
			changes++
		}
		if changed != (v.Out != nil) || changed && got != *v.Out {
			t.Errorf("line %d: got %d, %v\n%s", cases, got, changed, lines.Text())
		}
		if !changed && got != max(v.In.Width, 1) {
			t.Errorf("line %d: unchanged, but %d\n%s", cases, got, lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if cases == 0 {
		t.Fatal("no cases")
	}
	t.Logf("resize.jsonl.gz: %d cases, %d of them a change", cases, changes)
}

func TestDefaultResizeHasTheReferenceConstants(t *testing.T) {
	r := DefaultResize()
	for _, c := range []struct {
		width uint32
		idle  uint64
		perUs float64
		want  uint32
	}{
		{64, 100_000, 0.99, 128},
		{64, 100_000, 1, 64},
		{512, 0, 0.5, 1_024},
		{1_024, 0, 0.5, 1_024},
		{64, 100_001, 0.5, 32},
		{32, 100_001, 0.5, 32},
	} {
		if got, _ := r.Next(c.width, c.idle, c.perUs); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}
