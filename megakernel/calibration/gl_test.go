//go:build cgo

package calibration

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel/gpu"
)

// A driver that tells nothing: the real device is measured, once.
func TestADeviceIsMeasuredOnceAndRemembered(t *testing.T) {
	dev, dir := gltest.Open(t), t.TempDir()
	vendor, renderer, version := dev.Identity()
	id := vendor + "; " + renderer + "; " + version
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))

	r, how := Known(dev, dir, log)
	if how != "calibrated now" || r.Units < 1 || r.Units > 1<<10 || r.Lanes != width {
		t.Fatalf("%+v, %s\n%s", r, how, &out)
	}
	if kept, err := recall(dir, id); err != nil || kept != r {
		t.Errorf("kept %+v, %v; measured %+v", kept, err, r)
	}
	// What agreed is not measured again: the file is believed.
	told := Result{Units: 777, Lanes: width, Agreed: true}
	if err := remember(dir, id, told); err != nil {
		t.Fatal(err)
	}
	if r, how := Known(dev, dir, log); r != told || how != "calibrated at an earlier start" {
		t.Errorf("%+v, %s", r, how)
	}
	// What did not, and what is damaged, is.
	told.Agreed = false
	if err := remember(dir, id, told); err != nil {
		t.Fatal(err)
	}
	if r, how := Known(dev, dir, log); r.Units == told.Units || how != "calibrated now" {
		t.Errorf("%+v, %s", r, how)
	}
	if err := os.WriteFile(path(dir, id), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, how := Known(dev, dir, log); r.Units < 1 || how != "calibrated now" || !strings.Contains(out.String(), "calibrated again") {
		t.Errorf("%+v, %s\n%s", r, how, &out)
	}
	// Without a directory the device is known all the same.
	if r, _ := Known(dev, "/dev/null/units", log); r.Units < 1 || !strings.Contains(out.String(), "cannot be kept") {
		t.Errorf("%+v\n%s", r, &out)
	}
	if buffers, programs := dev.Live(); buffers != 0 || programs != 0 {
		t.Errorf("%d buffers and %d programs are left", buffers, programs)
	}
}

// broken is a device that compiles nothing.
type broken struct{ gpu.Device }

func (broken) CompileCompute(string) (gpu.Program, error) { return gpu.Program{}, os.ErrInvalid }

func TestADeviceThatCannotBeMeasuredIsNotKnown(t *testing.T) {
	dev, dir := gltest.Open(t), t.TempDir()
	var out bytes.Buffer
	r, how := Known(broken{dev}, dir, slog.New(slog.NewTextHandler(&out, nil)))
	if r != (Result{}) || how != "" || !strings.Contains(out.String(), "not known") {
		t.Errorf("%+v, %s\n%s", r, how, &out)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("%d files are kept", len(files))
	}
}
