package reference

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// f64 reads a number that is a string where JSON has none, such as "NaN".
type f64 float64

func (f *f64) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*f = f64(v)
	return err
}

func TestResizeReproducesTheOriginal(t *testing.T) {
	type vector struct {
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
	eachVector(t, "resize.jsonl.gz", func(t *testing.T, v *vector) string {
		p := v.In.Policy
		r := Resize{MaxWidth: p.Max, MinWidth: p.Min, SaturationPerUs: float64(p.Saturation), IdleShrinkUs: uint64(p.Idle)}
		got, changed := r.Next(v.In.Width, uint64(v.In.IdleUs), float64(v.In.PerUs))
		want := max(v.In.Width, 1)
		if v.Out != nil {
			want = *v.Out
		}
		if changed != (v.Out != nil) || got != want {
			return fmt.Sprintf("got %d, %v", got, changed)
		}
		return ""
	})
}

func TestDefaultResizeHasTheConstantsOfTheOriginal(t *testing.T) {
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
