package course

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

var classes = map[string]string{"steady-heavy": "work", "urgent": "urgent", "alone": "urgent", "tenants": "tenants"}

// cellOf is a cell with one class and a 99th percentile.
func cellOf(load string, rate float64, decider string, round int, p99 float64) Record {
	return Record{Cell: &Cell{
		Load: load, Rate: rate, Decider: decider, Round: round, Seed: uint64(round), Throughput: 1000 * p99,
		Classes: []Class{{Name: classes[load], Batches: 10, P50: p99 / 2, P99: p99}}, Shares: map[string]float64{"work": 1},
	}}
}

func TestRatiosAreOfPairs(t *testing.T) {
	failed := cellOf("steady-heavy", 1.2, "fill", 2, 1)
	failed.Cell.Error = "lost"
	s := Summarize([]Record{
		cellOf("steady-heavy", 1.2, "fill", 0, 10), cellOf("steady-heavy", 1.2, "warm", 0, 20),
		cellOf("steady-heavy", 1.2, "fill", 1, 100), cellOf("steady-heavy", 1.2, "warm", 1, 200),
		failed, cellOf("steady-heavy", 1.2, "warm", 2, 7),
		cellOf("steady-heavy", 1.2, "aimd", 0, 40),
	}, "warm")
	fill := s.find("steady-heavy", 1.2, "fill")
	if fill == nil || fill.Rounds != 2 || fill.Failed != 1 || fill.Classes[0].P99 != 55 || fill.P99Ratio.Pairs != 2 || math.Abs(fill.P99Ratio.Mean-2) > 1e-9 {
		t.Fatalf("%+v", fill)
	}
	if aimd := s.find("steady-heavy", 1.2, "aimd"); aimd.P99Ratio.Pairs != 1 || aimd.P99Ratio.High != 0 || math.Abs(aimd.P99Ratio.Mean-0.5) > 1e-9 {
		t.Errorf("%+v", aimd.P99Ratio)
	}
	if s.Rows[0].Decider != "warm" || s.Rows[0].P99Ratio != nil {
		t.Errorf("the first row is %+v", s.Rows[0])
	}
	want := map[string]string{
		"warm, p99 over the best online decider": "missed", "warm, throughput over the best online decider": "open", // one pair
		"warm, share of busy loads at 0.9 or less": "missed",
	}
	for _, g := range s.Goals {
		verdict, known := want[g.Name]
		if !known || g.Verdict != verdict {
			t.Errorf("goal %+v, %v", g, g.Value)
		}
		delete(want, g.Name)
	}
	if len(want) != 0 {
		t.Errorf("no goals %v in %+v", want, s.Goals)
	}
	var text bytes.Buffer
	if err := s.Text(&text); err != nil || !strings.Contains(text.String(), "2.00 (2.00 to 2.00)") {
		t.Errorf("%v: %s", err, text.String())
	}
	if !strings.Contains(s.Picture(), "steady-heavy at 1.2") {
		t.Error("the picture has no panel of the load")
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
}

func TestQuantilesAreNearestRanks(t *testing.T) {
	var values []float64
	for i := range 200 {
		values = append(values, float64(199-i))
	}
	if c := classOf("c", values); c.P50 != 99 || c.P99 != 197 || c.Mean != 99.5 || c.Batches != 200 {
		t.Errorf("%+v", c)
	}
	if c := classOf("c", []float64{3}); c.P50 != 3 || c.P99 != 3 {
		t.Errorf("%+v", c)
	}
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	var file bytes.Buffer
	out := json.NewEncoder(&file)
	for _, rec := range []Record{{Capacity: &Capacity{Load: "l", SlotsPerSecond: 5}}, cellOf("l", 0.3, "warm", 1, 2), {Sweep: &Sweep{Load: "l"}}} {
		if err := out.Encode(rec); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Read(&file)
	if err != nil || len(all) != 3 || all[0].Capacity.SlotsPerSecond != 5 || all[1].Cell.Decider != "warm" || all[2].Sweep == nil {
		t.Errorf("%+v, %v", all, err)
	}
	for _, bad := range []string{"{}\n", "{\"cell\":\n", "x\n"} {
		if _, err := Read(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A goal is met or missed only if the whole interval is on one side of its bound.
func TestAGoalWithTheBoundInItsIntervalIsOpen(t *testing.T) {
	for want, values := range map[string][2]float64{"met": {2, 2.1}, "missed": {10, 10.1}, "open": {2, 10}} {
		s := Summarize([]Record{
			cellOf("tenants", 0.9, "off", 0, 1), cellOf("tenants", 0.9, "off", 1, 1),
			cellOf("urgent", 0.9, "off", 0, values[0]), cellOf("alone", 0, "off", 0, 1),
			cellOf("urgent", 0.9, "off", 1, values[1]), cellOf("alone", 0, "off", 1, 1),
		}, "warm")
		found := false
		for _, g := range s.Goals {
			switch g.Name {
			case "off, urgent p99 over alone":
				found = true
				if g.Verdict != want {
					t.Errorf("%v is %s, want %s", g.Value, g.Verdict, want)
				}
			case "off, device time, least over most tenant":
				if g.Verdict != "met" || g.Value.Mean != 1 {
					t.Errorf("%+v", g)
				}
			}
		}
		if !found {
			t.Errorf("no goal in %+v", s.Goals)
		}
	}
}
