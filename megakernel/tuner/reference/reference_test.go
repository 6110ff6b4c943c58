package reference

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
)

func TestSuggestReproducesTheOriginal(t *testing.T) {
	type vector struct {
		In struct {
			Temperature  u64 `json:"temperature_ns"`
			Measurements []measurementVector
			Fisher       []uint32 `json:"fisher_q16"`
		}
		Out *struct {
			Selected, Best Workgroup
			BestNs         u64      `json:"best_ns"`
			Weights        []uint32 `json:"weights_q16"`
			Gradient       []uint32 `json:"gradient_q16"`
		}
		Err string
	}
	kinds := map[string]error{
		"": nil, "empty_measurements": ErrNoMeasurements, "zero_temperature": ErrTemperature, "fisher_matrix_shape": ErrFisherShape,
	}
	eachVector(t, "suggest.jsonl.gz", func(t *testing.T, v *vector) string {
		got, err := Suggest(uint64(v.In.Temperature), measurements(t, v.In.Measurements), v.In.Fisher)
		if want, known := kinds[v.Err]; !known || !errors.Is(err, want) {
			return fmt.Sprintf("error %v", err)
		}
		if err != nil {
			return ""
		}
		if got.Selected != v.Out.Selected || got.Best != v.Out.Best || got.BestNs != uint64(v.Out.BestNs) ||
			!slices.Equal(got.Weights, v.Out.Weights) || !slices.Equal(got.Gradient, v.Out.Gradient) {
			return fmt.Sprintf("got %+v", got)
		}
		return ""
	})
}

func TestColdStartReproducesTheOriginal(t *testing.T) {
	type vector struct {
		In struct {
			Declared     Workgroup
			Elements     uint32 `json:"element_count"`
			MaxThreads   uint32 `json:"max_threads_per_block"`
			MaxBlockX    uint32 `json:"max_block_dim_x"`
			Measurements []measurementVector
		}
		Out struct {
			Selected  *Workgroup
			Estimates []u64 `json:"estimates_ns"`
		}
	}
	eachVector(t, "coldstart.jsonl.gz", func(t *testing.T, v *vector) string {
		for i, w := range Widths {
			if got := EstimateNs(v.In.Elements, w); got != uint64(v.Out.Estimates[i]) {
				return fmt.Sprintf("width %d estimated at %d ns", w, got)
			}
		}
		limits := Limits{MaxThreads: v.In.MaxThreads, MaxBlock: Workgroup{v.In.MaxBlockX, 1, 1}}
		got, found := ColdStart(limits, v.In.Declared, v.In.Elements, measurements(t, v.In.Measurements))
		if found != (v.Out.Selected != nil) || found && got != *v.Out.Selected {
			return fmt.Sprintf("got %v, %v", got, found)
		}
		return ""
	})
}

func TestKeysReproduceTheOriginalByteForByte(t *testing.T) {
	type vector struct {
		In struct {
			Fn          string
			Fingerprint string     `json:"fingerprint_hex"`
			Workgroup   Workgroup  `json:"workgroup_size"`
			Groups      *[3]uint32 `json:"workgroup_count"`
			OutputBytes u64        `json:"output_bytes"`
			Declared    Workgroup
			Elements    uint32    `json:"element_count"`
			Backend     string    `json:"backend_hex"`
			MaxThreads  uint32    `json:"max_threads_per_block"`
			MaxBlock    Workgroup `json:"max_block_dim"`
			MaxGrid     [3]uint32 `json:"max_grid_dim"`
		}
		Out struct {
			Key      string
			Preimage string `json:"preimage_hex"`
		}
	}
	eachVector(t, "keys.jsonl.gz", func(t *testing.T, v *vector) string {
		var fingerprint [32]byte
		if _, err := hex.Decode(fingerprint[:], []byte(v.In.Fingerprint)); err != nil {
			t.Fatal(err)
		}
		backend, err := hex.DecodeString(v.In.Backend)
		if err != nil {
			t.Fatal(err)
		}
		limits := Limits{v.In.MaxThreads, v.In.MaxBlock, v.In.MaxGrid}
		var key string
		var bytes preimage
		switch v.In.Fn {
		case "tuner_program_key":
			key = ProgramKey(fingerprint, v.In.Workgroup, v.In.Groups, uint64(v.In.OutputBytes))
			bytes = programPreimage(fingerprint, v.In.Workgroup, v.In.Groups, uint64(v.In.OutputBytes))
		case "natural_launch_key":
			key = LaunchKey(fingerprint, v.In.Declared, v.In.Elements, limits)
			bytes = launchPreimage(fingerprint, v.In.Declared, v.In.Elements, limits)
		case "natural_launch_adapter_key":
			key = AdapterKey(string(backend), limits)
			bytes = adapterPreimage(string(backend), limits)
		default:
			return "unknown fn " + v.In.Fn
		}
		if got := hex.EncodeToString(bytes); got != v.Out.Preimage {
			return "preimage " + got
		}
		if key != v.Out.Key {
			return "key " + key
		}
		return ""
	})
}

func TestFixedPointReproducesTheOriginalAndItsOracle(t *testing.T) {
	type vector struct {
		In struct {
			Fn       string
			PreExp   []uint32 `json:"pre_exp_fixed"`
			Matrix   []uint32 `json:"m_inv_sqrt_fixed"`
			Gradient []uint32 `json:"grad_fixed"`
		}
		Out struct {
			Device, Oracle []uint32
			DeviceSoftmax  []uint32 `json:"device_softmax"`
			OracleSoftmax  []uint32 `json:"oracle_softmax"`
		}
	}
	check := func(name string, got, want []uint32) string {
		if !slices.Equal(got, want) {
			return fmt.Sprintf("%s: got %v, want %v", name, got, want)
		}
		return ""
	}
	precondition := func(name string, matrix, gradient, want []uint32) string {
		got, err := Precondition(matrix, gradient)
		if err != nil {
			return err.Error()
		}
		return check(name, got, want)
	}
	eachVector(t, "softmax_fixed.jsonl.gz", func(t *testing.T, v *vector) string {
		wrapping, exact := SoftmaxWrapping(v.In.PreExp), SoftmaxQ16(v.In.PreExp)
		switch v.In.Fn {
		case "softmax":
			return check("device", wrapping, v.Out.Device) + check("oracle", exact, v.Out.Oracle)
		case "precondition":
			return precondition("device", v.In.Matrix, v.In.Gradient, v.Out.Device)
		case "natural_config_gradient":
			return check("device softmax", wrapping, v.Out.DeviceSoftmax) + check("oracle softmax", exact, v.Out.OracleSoftmax) +
				precondition("device", v.In.Matrix, wrapping, v.Out.Device) +
				precondition("oracle", v.In.Matrix, exact, v.Out.Oracle)
		}
		return "unknown fn " + v.In.Fn
	})
}

func TestWorkedExampleOfTheOriginal(t *testing.T) {
	measured := []Measurement{{Workgroup{64, 1, 1}, 12_000}, {Workgroup{128, 1, 1}, 8_000}, {Workgroup{256, 1, 1}, 10_000}}
	matrix := Identity(3)
	s, err := Suggest(4_000, measured, matrix)
	if err != nil || !slices.Equal(s.Weights, []uint32{12_211, 33_193, 20_132}) || s.Selected[0] != 128 {
		t.Errorf("identity: %+v, %v", s, err)
	}
	matrix[0] *= 8
	s, err = Suggest(4_000, measured, matrix)
	if err != nil || !slices.Equal(s.Gradient, []uint32{97_688, 33_193, 20_132}) || s.Selected[0] != 64 || s.Best[0] != 128 {
		t.Errorf("first row times 8: %+v, %v", s, err)
	}
}

func TestModesAreSpelledAsInTheOriginalAndAnythingElseIsAnError(t *testing.T) {
	for _, c := range []struct {
		text string
		set  bool
		want Mode
	}{{"", false, Natural}, {"on", true, On}, {"ng", true, Natural}, {"natural", true, Natural}, {"off", true, Off}, {"default", true, Off}} {
		if got, err := ParseMode(c.text, c.set); err != nil || got != c.want {
			t.Errorf("%q: %v, %v", c.text, got, err)
		}
	}
	for _, text := range []string{"", "ON", "true", "natural "} {
		if _, err := ParseMode(text, true); !errors.Is(err, ErrMode) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSweepTakesTheFirstFastestAndTheFirstErrorEndsIt(t *testing.T) {
	times := map[uint32]uint64{32: 9, 64: 5, 128: 5, 256: 7}
	var candidates []Workgroup
	for _, w := range Candidates(256) {
		candidates = append(candidates, Workgroup{w, 1, 1})
	}
	best, found, err := Sweep(candidates, func(w Workgroup) (uint64, error) { return times[w[0]], nil })
	if err != nil || !found || best != (Measurement{Workgroup{64, 1, 1}, 5}) {
		t.Errorf("%+v, %v, %v", best, found, err)
	}
	broken := errors.New("timer is broken")
	measured := 0
	_, found, err = Sweep(candidates, func(w Workgroup) (uint64, error) {
		measured++
		if w[0] == 64 {
			return 0, broken
		}
		return 1, nil
	})
	if !errors.Is(err, broken) || found || measured != 2 {
		t.Errorf("%v after %d, %v", err, measured, found)
	}
	if _, found, err := Sweep(nil, nil); found || err != nil {
		t.Errorf("no candidates: %v, %v", found, err)
	}
}

func TestSweepNaturalIsTheSuggestionAmongAllCandidates(t *testing.T) {
	times := map[uint32]uint64{32: 90_000, 64: 12_000, 128: 8_000, 256: 8_000}
	var candidates []Workgroup
	var measured []Measurement
	for _, w := range Candidates(256) {
		candidates = append(candidates, Workgroup{w, 1, 1})
		measured = append(measured, Measurement{Workgroup{w, 1, 1}, times[w]})
	}
	measure := func(w Workgroup) (uint64, error) { return times[w[0]], nil }
	got, found, err := SweepNatural(candidates, 4_000, Identity(4), measure)
	want, wantErr := Suggest(4_000, measured, Identity(4))
	if err != nil || wantErr != nil || !found || !reflect.DeepEqual(got, want) || got.Selected[0] != 256 || got.Best[0] != 128 {
		t.Errorf("%+v, %v, %v; want %+v", got, found, err, want)
	}
	broken := errors.New("timer is broken")
	if _, found, err := SweepNatural(candidates, 4_000, Identity(4), func(Workgroup) (uint64, error) { return 0, broken }); found || !errors.Is(err, broken) {
		t.Errorf("a broken timer: %v, %v", found, err)
	}
	if _, found, err := SweepNatural(candidates, 4_000, Identity(3), measure); found || !errors.Is(err, ErrFisherShape) {
		t.Errorf("a matrix of three rows: %v, %v", found, err)
	}
	if _, found, err := SweepNatural(nil, 4_000, nil, measure); found || err != nil {
		t.Errorf("no candidates: %v, %v", found, err)
	}
}

func TestFingerprintWordsAreLittleEndian(t *testing.T) {
	var fingerprint [32]byte
	for i := range fingerprint {
		fingerprint[i] = byte(i)
	}
	want := [8]uint32{0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c, 0x13121110, 0x17161514, 0x1b1a1918, 0x1f1e1d1c}
	if got := FingerprintWords(fingerprint); got != want {
		t.Errorf("%08x", got)
	}
}

// measurable is a program of 4,096 elements whose width may be chosen.
func measurable() *Program {
	return &Program{
		Declared: Workgroup{64, 1, 1}, Bindings: []Binding{{Role: RoleOutput, Elements: 4096}},
		Limits: Limits{MaxThreads: 1024, MaxBlock: Workgroup{1024, 1024, 64}, MaxGrid: [3]uint32{65535, 65535, 65535}},
	}
}

func TestFeedbackKeepsTheLowestTimeAndRefusesWhatTheOriginalRefuses(t *testing.T) {
	program := measurable
	var f Feedback
	if w, ok := f.Accept(program(), Workgroup{256, 1, 1}, 900); !ok || w[0] != 256 {
		t.Errorf("a measurement far below every estimate: %v, %v", w, ok)
	}
	f.Accept(program(), Workgroup{256, 1, 1}, 2_000_000)
	f.Accept(program(), Workgroup{32, 1, 1}, 5_000)
	if got, want := f.Measured(), []Measurement{{Workgroup{32, 1, 1}, 5_000}, {Workgroup{256, 1, 1}, 900}}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
	for name, change := range map[string]func(*Program){
		"mode off":       func(p *Program) { p.Mode = Off },
		"own workgroup":  func(p *Program) { p.Workgroup = &Workgroup{32, 1, 1} },
		"own grid":       func(p *Program) { p.Grid = &[3]uint32{1, 1, 1} },
		"shared memory":  func(p *Program) { p.HasShared = true },
		"reads group id": func(p *Program) { p.ReadsGroupIDs = true },
		"too wide":       func(p *Program) { p.Limits.MaxThreads = 16 },
	} {
		p := program()
		change(p)
		if _, ok := f.Accept(p, Workgroup{32, 1, 1}, 1); ok {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, ok := f.Accept(program(), Workgroup{32, 1, 1}, 0); ok {
		t.Error("a launch without a time: accepted")
	}
	if _, ok := f.Accept(program(), Workgroup{32, 2, 1}, 1); ok {
		t.Error("a workgroup of two axes: accepted")
	}
}

// On a device of 32 invocations there is one width, and so nothing to learn.
func TestFeedbackRefusesALaunchWhereOnlyOneWidthFits(t *testing.T) {
	p := measurable()
	p.Limits.MaxThreads = 32
	var f Feedback
	if w, ok := f.Accept(p, Workgroup{32, 1, 1}, 900); ok || w != (Workgroup{}) || len(f.Measured()) != 0 {
		t.Errorf("%v, %v, kept %v; want nothing", w, ok, f.Measured())
	}
}

// The original looks into the cache of the process, which holds the choice by
// measurements, before it looks for a selection of an earlier process.
func TestResolvePrefersMeasurementsOfThisProcessToAPersistedSelection(t *testing.T) {
	p := measurable()
	p.PersistedWidth = 256
	if w := Resolve(p); w[0] != 256 {
		t.Errorf("nothing measured: %v, want the persisted 256", w)
	}
	p.Measured = []Measurement{{Workgroup{64, 1, 1}, 900}}
	if w := Resolve(p); w[0] != 64 {
		t.Errorf("64 measured as the fastest: %v", w)
	}
}
