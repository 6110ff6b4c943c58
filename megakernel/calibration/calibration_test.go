package calibration

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	start = 30 * time.Microsecond
	chain = 100 * time.Microsecond
)

// device simulates one that runs so many workgroups at a time; slow says by how much longer
// than usual its nth dispatch takes.
func device(holds uint32, slow func(n int) float64) timer {
	n := 0
	return func(groups uint32, work bool) (time.Duration, error) {
		n++
		took := start
		if work {
			took += chain * time.Duration((groups+holds-1)/holds)
		}
		return time.Duration(float64(took) * slow(n)), nil
	}
}

func calm(int) float64 { return 1 }

func TestUnitsAreTheWorkgroupsThatRunAtATime(t *testing.T) {
	for _, holds := range []uint32{1, 2, 3, 16, 40, 132, 528, 4224} {
		r, err := measure(device(holds, calm))
		if err != nil || !r.Agreed || r.Lanes != width {
			t.Fatalf("%d: %+v, %v", holds, r, err)
		}
		if low, high := holds-holds/8, holds+holds/8; r.Units < low || r.Units > high {
			t.Errorf("%d units were measured as %d", holds, r.Units)
		}
	}
}

func TestABusyDeviceKeepsTheSmallerOfTwoMeasurements(t *testing.T) {
	// Something else has three quarters of the device while many workgroups run, in the second half only.
	shared := device(64, calm)
	n := 0
	busy := func(groups uint32, work bool) (time.Duration, error) {
		if n++; n > 35 && groups > 16 {
			return device(16, calm)(groups, work)
		}
		return shared(groups, work)
	}
	r, err := measure(busy)
	if err != nil || r.Agreed || r.Units < 14 || r.Units > 18 {
		t.Errorf("%+v, %v", r, err)
	}
	// One disturbed dispatch is none.
	r, err = measure(device(64, func(n int) float64 {
		if n%3 == 0 {
			return 7
		}
		return 1
	}))
	if err != nil || !r.Agreed || r.Units < 56 || r.Units > 72 {
		t.Errorf("disturbed: %+v, %v", r, err)
	}
}

func TestTimesThatMakeNoSenseAreRefused(t *testing.T) {
	lost := errors.New("lost")
	for name, clock := range map[string]timer{
		"a clock that stands still": func(uint32, bool) (time.Duration, error) { return 0, nil },
		"work that takes no time":   func(uint32, bool) (time.Duration, error) { return start, nil },
		"a lost device":             func(uint32, bool) (time.Duration, error) { return 0, lost },
		"many that take no time": func(groups uint32, work bool) (time.Duration, error) {
			if work && groups == 1 {
				return chain, nil
			}
			return start, nil
		},
	} {
		if r, err := measure(clock); !errors.Is(err, ErrTimes) && !errors.Is(err, lost) || r != (Result{}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	// A device that never gets full ends at the bound.
	if r, err := measure(func(_ uint32, work bool) (time.Duration, error) {
		if work {
			return chain, nil
		}
		return start, nil
	}); err != nil || r.Units != MaxUnits {
		t.Errorf("without end: %+v, %v", r, err)
	}
}

func TestWhatIsRememberedIsOfThisDeviceAndWhole(t *testing.T) {
	dir := t.TempDir() + "/units"
	const id = "Acme; GPU 7; 1.0"
	if _, err := recall(dir, id); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before anything: %v", err)
	}
	want := Result{Units: 40, Lanes: width, Agreed: true}
	if err := remember(dir, id, want); err != nil {
		t.Fatal(err)
	}
	if got, err := recall(dir, id); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := recall(dir, "another"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another device: %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files", len(files))
	}
	whole, err := os.ReadFile(path(dir, id))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"empty":          "",
		"cut off":        string(whole[:len(whole)/2]),
		"another device": strings.Replace(string(whole), "GPU 7", "GPU 8", 1),
		"no units":       strings.Replace(string(whole), "40", "0", 1),
		"too many":       strings.Replace(string(whole), "40", "65537", 1),
		"negative":       strings.Replace(string(whole), "40", "-1", 1),
		"other lanes":    strings.Replace(string(whole), "128", "7", 1),
		"endless":        strings.Repeat(" ", maxFileBytes+1),
		"no object":      "[1]",
	} {
		if err := os.WriteFile(path(dir, id), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := recall(dir, id); !errors.Is(err, ErrFile) || got != (Result{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if err := remember(dir, id, want); err != nil {
		t.Fatal(err)
	}
	if got, err := recall(dir, id); got != want || err != nil {
		t.Errorf("after a damaged file: %+v, %v", got, err)
	}
}
