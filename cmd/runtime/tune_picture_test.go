package main

import (
	"bytes"
	"errors"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"ringmaster/megakernel/tuner/trial"
)

// pictured is a sweep over two widths with a known best point.
func pictured() *tuned {
	t := &tuned{Workload: "mixed", Slots: 65536, Device: "a device", Strategy: strategySweep}
	for _, w := range []uint32{64, 256} {
		for g := uint32(1); g <= 256; g *= 2 {
			for c := uint32(64); c <= 4096; c *= 4 {
				ns := 1e6 * (1 + math.Abs(math.Log2(float64(g)/16))) * (1 + float64(c)/4096) * 64 / float64(w)
				t.Rows = append(t.Rows, trial.Row{Width: w, Groups: g, Chunk: c, Depth: 65536, Launches: 3, MeanNs: ns, MedianNs: ns, VsBest: 1})
			}
		}
	}
	return t
}

func picture(t *testing.T, name string, of *tuned) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := writePicture(path, of); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestThePictureOfASweepShowsTheChosenPoint(t *testing.T) {
	plain := pictured()
	marked := pictured()
	marked.Rows[3].Chosen = true
	a, err := png.Decode(bytes.NewReader(picture(t, "a.png", plain)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := png.Decode(bytes.NewReader(picture(t, "b.png", marked)))
	if err != nil {
		t.Fatal(err)
	}
	if a.Bounds() != b.Bounds() || a.Bounds().Dx() < 600 {
		t.Fatalf("pictures of %v and %v", a.Bounds(), b.Bounds())
	}
	red := func(img interface {
		RGBA() (r, g, b, a uint32)
	}) bool {
		r, g, b, _ := img.RGBA()
		return r > 0xc000 && g < 0x4000 && b < 0x4000
	}
	more := 0
	// The legend at the right has the same mark in both.
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() - 150 {
			if red(b.At(x, y)) && !red(a.At(x, y)) {
				more++
			}
		}
	}
	if more < 30 {
		t.Errorf("the chosen point is marked by %d red pixels", more)
	}
}

func TestAPictureIsAnSVGByItsName(t *testing.T) {
	data := picture(t, "sweep.SVG", pictured())
	for _, want := range []string{"<svg", "width 256", "workgroups", "time of a slot (ns)"} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("%q is not in it", want)
		}
	}
}

func TestAPictureThatCannotBeWrittenIsRefusedAndNothingChanged(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept.png")
	if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, ok := range map[string]bool{
		kept:                                    true,
		filepath.Join(dir, "new.svg"):           true,
		filepath.Join(dir, "new.jpeg"):          false,
		filepath.Join(dir, "new"):               false,
		filepath.Join(dir, "absent", "new.png"): false,
		filepath.Join(kept, "new.png"):          false,
	} {
		if err := checkPicture(path); (err == nil) != ok || err != nil && !errors.Is(err, errPicture) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if data, _ := os.ReadFile(kept); string(data) != "kept" {
		t.Errorf("the file has become %q", data)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
