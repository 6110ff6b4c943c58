package course

import (
	"math"
	"slices"
	"testing"
	"time"

	"ringmaster/cmd/runtime/demo/trace"
	"ringmaster/megakernel/kernel"
	"ringmaster/telemetry"
)

func TestEveryLoadOffersTheRateItIsAskedFor(t *testing.T) {
	recorded, err := trace.Requests()
	if err != nil {
		t.Fatal(err)
	}
	const rate, span = 2e6, 20 * time.Second
	for _, l := range Loads() {
		batches := l.Schedule(rate, span, 5, recorded)
		if !slices.Equal(batches, l.Schedule(rate, span, 5, recorded)) {
			t.Errorf("%s: one seed gives two schedules", l.Name)
		}
		slots, even := 0, make(map[int]int)
		for i, b := range batches {
			if i > 0 && b.At < batches[i-1].At || b.At < 0 || b.At > span || b.Slots < 1 {
				t.Fatalf("%s: batch %d of %+v", l.Name, i, b)
			}
			if s := l.Streams[b.Stream]; s.Every > 0 {
				even[b.Stream]++
			} else {
				slots += b.Slots
			}
		}
		for i, s := range l.Streams {
			if s.Every > 0 && even[i] != int(span/s.Every) {
				t.Errorf("%s: %d batches of %s in %v, one each %v", l.Name, even[i], s.Queue, span, s.Every)
			}
		}
		// A recorded load is as uneven as it was recorded.
		most := map[bool]float64{false: 0.03, true: 0.5}[l.Trace]
		if want := rate * span.Seconds(); l.rated() && math.Abs(float64(slots)-want) > most*want {
			t.Errorf("%s: %d slots in %v, want about %.0f", l.Name, slots, span, want)
		}
		if like, err := Find([]string{l.measured()}); err != nil || like[0].measured() != like[0].Name {
			t.Errorf("%s is like %s: %v", l.Name, l.Like, err)
		}
	}
	if _, err := Find([]string{"nothing"}); err == nil {
		t.Error("a load that there is not was found")
	}
}

func TestATenantFloods(t *testing.T) {
	load, err := Find([]string{"flood"})
	if err != nil {
		t.Fatal(err)
	}
	slots := make(map[string]int)
	for _, b := range load[0].Schedule(1e6, 10*time.Second, 1, nil) {
		slots[load[0].Streams[b.Stream].Class] += b.Slots
	}
	if ratio := float64(slots["flood"]) / (float64(slots["tenants"]) / (tenants - 1)); math.Abs(ratio-floods) > 5 {
		t.Errorf("the flood has %.1f times the work of another, want %d", ratio, floods)
	}
}

func TestSlotsAreWhatTheirKindSays(t *testing.T) {
	_, spin, err := catalog(1)
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[Kind]float64{Light: 0, Heavy: 1, Skewed: 1.0 / skewedOneIn} {
		const n = 32_000
		loops, slots := 0, 0
		runs := kind.runs(n, spin, 1)
		for i := range runs {
			switch slots += int(runs[i].Count); runs[i].Opcode {
			case spin:
				loops += int(runs[i].Count)
			case uint32(kernel.OpAdd):
			default:
				t.Fatalf("%v: opcode %d", kind, runs[i].Opcode)
			}
		}
		if slots != n {
			t.Errorf("%v: %d slots, want %d", kind, slots, n)
		}
		if math.Abs(float64(loops)/n-want) > 0.005 {
			t.Errorf("%v: %d of %d slots loop", kind, loops, n)
		}
	}
}

// A batch is the first slots of the largest one, and as the wire wants runs.
func TestASmallerBatchIsTheFirstSlots(t *testing.T) {
	_, spin, err := catalog(1)
	if err != nil {
		t.Fatal(err)
	}
	at := func(runs []telemetry.Run, slot, arg int) (opcode, word uint32) {
		for i := range runs {
			if slot < int(runs[i].Count) {
				return runs[i].Opcode, runs[i].Args[arg].At(slot)
			}
			slot -= int(runs[i].Count)
		}
		t.Fatalf("no slot %d", slot)
		return 0, 0
	}
	for _, kind := range []Kind{Light, Heavy, Skewed} {
		all := kind.runs(1024, spin, 1)
		for _, n := range []int{1, 16, 700, 1024} {
			work := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasRuns, Batch: "b", Runs: firstOf(all, n)}
			if err := work.Validate(); err != nil || work.Count() != n {
				t.Errorf("%v: %d of %d slots, %v", kind, work.Count(), n, err)
			}
			for slot := range n {
				for arg := range 3 {
					opcode, word := at(work.Runs, slot, arg)
					if wantOpcode, want := at(all, slot, arg); opcode != wantOpcode || word != want {
						t.Fatalf("%v, %d slots: slot %d is opcode %d with argument %d, want %d with %d", kind, n, slot, opcode, word, wantOpcode, want)
					}
				}
			}
		}
	}
}
