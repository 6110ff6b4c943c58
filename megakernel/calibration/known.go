package calibration

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"ringmaster/megakernel/gpu"
)

// Known is what a device is whose driver does not tell: what dir remembers of it, or what is
// measured now and remembered there, and which of the two. It is zero if the device cannot be
// measured; the log says why. A measurement that did not agree with itself is made again.
func Known(dev gpu.Device, dir string, log *slog.Logger) (r Result, how string) {
	vendor, renderer, version := dev.Identity()
	device := fmt.Sprintf("%s; %s; %s", vendor, renderer, version)
	r, err := recall(dir, device)
	if err == nil && r.Agreed {
		return r, "calibrated at an earlier start"
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("what was remembered of the device cannot be used; it is calibrated again", "error", err)
	}
	if r, err = Measure(dev); err != nil {
		log.Warn("the device's units are not known; the limits of the API shape its launches", "error", err)
		return Result{}, ""
	}
	if !r.Agreed {
		log.Warn("two measurements of the device disagree, as on one that is busy; the smaller one holds until the next start", "units", r.Units)
	} else {
		log.Info("the device was calibrated", "units", r.Units, "lanes", r.Lanes)
	}
	if err := remember(dir, device, r); err != nil {
		log.Warn("the calibration cannot be kept; the next start makes it again", "error", err)
	}
	return r, "calibrated now"
}
