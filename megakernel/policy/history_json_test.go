package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A history that was carried over says the same, now and after whatever is added to both.
func TestAHistoryIsCarriedOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var here History
		add := func(to *History, way Way, slots, ns, host uint64) {
			_ = to.Take(way, slots, ns)
			to.Alone(way, host, host%3 == 0)
			if host%7 == 0 {
				to.Refuse()
			}
		}
		draw := func() (Way, uint64, uint64, uint64) {
			return Way(rapid.IntRange(0, int(ways)-1).Draw(t, "way")), rapid.Uint64Range(1, 1<<20).Draw(t, "slots"),
				rapid.Uint64Range(1_000, 1<<40).Draw(t, "ns"), rapid.Uint64Range(0, 1<<30).Draw(t, "host")
		}
		for range rapid.IntRange(0, 60).Draw(t, "before") {
			way, slots, ns, host := draw()
			add(&here, way, slots, ns, host)
			if rapid.Bool().Draw(t, "look") {
				here.Measured()
			}
		}
		text, err := json.Marshal(here)
		if err != nil || len(text) > 4<<10 {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
		var there History
		if err := json.Unmarshal(text, &there); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for range rapid.IntRange(0, 20).Draw(t, "after") {
			if a, b := here.Measured(), there.Measured(); a != b {
				t.Fatalf("%+v, carried over %+v", a, b)
			}
			way, slots, ns, host := draw()
			add(&here, way, slots, ns, host)
			add(&there, way, slots, ns, host)
		}
	})
}

func TestAHistoryThatCannotBeIsRefused(t *testing.T) {
	for _, text := range []string{
		`{"wave":9}`, `{"refused":2}`, `{"by":[{},{},{},{}]}`, `{"by":[{"rows":[[1,1000]]}]}`, `{"by":[{"taken":1}]}`,
		`{"by":[{"rows":[[0,1000]],"taken":1}]}`, `{"by":[{"rows":[[1,-5]],"taken":1}]}`, `{"by":[{"rows":[[1.5,1000]],"taken":1}]}`,
		`{"by":[{"rows":[[1,1e300]],"taken":1}]}`, `{"by":[{"rows":[[1,1000]],"taken":1,"launch":5}]}`,
		`{"waves_host":{"taken":3}}`, `{"waves_host":{"ns":[` + strings.Repeat("1,", 20) + `1],"taken":21}}`, `[]`,
	} {
		var h History
		if err := json.Unmarshal([]byte(text), &h); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}
