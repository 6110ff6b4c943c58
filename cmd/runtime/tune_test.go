package main

import (
	"slices"
	"strings"
	"testing"

	"ringmaster/cmd/runtime/slots"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/live"
	"ringmaster/megakernel/tuner/trial"
	"ringmaster/megakernel/tuner/workload"
)

func TestOwnSlotsAreDealtOutByTheirShares(t *testing.T) {
	set := exampleOpcodes(t)
	l, err := ownLoad([]string{"add a0=1 a1=0 x30", "load a0=0..10/1"}, 80, 16, set)
	if err != nil {
		t.Fatal(err)
	}
	adds := 0
	var loads []uint32
	for i, s := range l.Slots {
		if s.Opcode == 2 {
			adds++
		} else {
			loads = append(loads, s.Args[0])
		}
		if i == 7 && (adds < 5 || adds > 7) {
			t.Errorf("of the first 8 slots %d are adds", adds)
		}
	}
	if len(l.Slots) != 80 || adds != 60 || loads[0] != 0 || loads[9] != 9 || loads[10] != 0 || l.Name != "add+load" {
		t.Errorf("%s: %d slots, %d adds, loads of %v", l.Name, len(l.Slots), adds, loads)
	}
}

func TestTuneRefusesWhatCannotBeMeantBeforeAnythingIsOpened(t *testing.T) {
	for line, want := range map[string]string{
		"--workload nothing":                      "there is no bundled workload nothing",
		"--workload light-4k --slots nop":         "give one of them",
		"--slots transmogrify":                    "there is no opcode transmogrify",
		"--slots-file /nonexistent":               "--slots-file",
		"--slots-file -":                          "names no slots",
		"--ring=-1":                               "--ring -1",
		"--ring 99999999":                         "--ring 99999999",
		"--launches 3":                            "the budget is too small",
		"--seconds=-1":                            "less than nothing",
		"--seconds NaN":                           "less than nothing",
		"--strategy search --seconds 0":           "needs a bound",
		"--window 0":                              "--window 0",
		"--opcodes /nonexistent --workload light": "/nonexistent",
	} {
		// Without a device the command would fail too, but later and otherwise.
		args := append([]string{"tune", "--device", "no-such-device"}, strings.Fields(line)...)
		got := ringmaster(t, t.Context(), "# nothing\n", args...)
		if got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%s: exit code %d, %q, want %q", line, got.code, got.err, want)
		}
	}
	if got := ringmaster(t, t.Context(), "", "tune", "--strategy", "luck"); got.code != 2 {
		t.Errorf("an unknown strategy: exit code %d", got.code)
	}
	if got := ringmaster(t, t.Context(), "", "tune", "--device", "no-such-device", "--workload", "light-256"); got.code != 1 || strings.Contains(got.err, "panic") {
		t.Errorf("no device: exit code %d, %q", got.code, got.err)
	}
	list := ringmaster(t, t.Context(), "", "tune", "--list")
	for _, w := range workload.Bundled() {
		if !strings.Contains(list.stdout, w.Name) {
			t.Errorf("--list does not name %s", w.Name)
		}
	}
}

func TestProgressIsDrawnOnATerminalOnly(t *testing.T) {
	for _, shown := range []bool{true, false} {
		var out strings.Builder
		space, err := live.NewSpace(live.Workload{Slots: 1 << 10, Limits: policy.Limits{MaxWorkgroupSizeX: 256, MaxWorkgroupsPerDimension: 64, MaxInvocationsPerWorkgroup: 256, SubgroupSize: 32}})
		if err != nil {
			t.Fatal(err)
		}
		tuneProgress(&terminal.Screen{Out: &out, Terminal: shown, Width: 200})(.5, &trial.Run{Space: space, Launches: 2, Count: 1, Times: map[int][]float64{0: {1e6}}})
		if drawn := strings.Contains(out.String(), "[") && strings.Contains(out.String(), "1 launches, 1 of "); drawn != shown {
			t.Errorf("terminal %v: drew %q", shown, out.String())
		}
	}
}

func TestWhatWasFasterByLuckIsNotStoredAsFasterThanTheChoice(t *testing.T) {
	result := &tuneResult{Slots: 100, Rows: []trial.Row{
		{Width: 32, Groups: 1, Chunk: 32, Depth: 100, Launches: 4, MedianNs: 600},
		{Width: 64, Groups: 1, Chunk: 32, Depth: 100, Launches: 9, MedianNs: 1000, Chosen: true},
		{Width: 128, Groups: 1, Chunk: 32, Depth: 100, Launches: 2, MedianNs: 2000},
	}}
	e := tunedEntry(result, cache.Key{1})
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	var means []float64
	for _, m := range e.Measurements {
		means = append(means, m.Mean)
	}
	if e.Selected.Width != 64 || !slices.Equal(means, []float64{10, 10, 20}) {
		t.Errorf("selected %+v, means %v", e.Selected, means)
	}
}

// exampleOpcodes is the opcodes of the documentation.
func exampleOpcodes(t *testing.T) *slots.Opcodes {
	t.Helper()
	set, err := slots.LoadOpcodes("../../docs/opcodes")
	if err != nil {
		t.Fatal(err)
	}
	return set
}
