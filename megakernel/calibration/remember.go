package calibration

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// ErrFile says that a file of a calibration is not one, or not of this device.
var ErrFile = errors.New("not a calibration of this device")

const maxFileBytes = 4 << 10

// file is what is kept of a device.
type file struct {
	Device string `json:"device"` // identity of device and driver
	Result
}

// path is the file of a device, named by its identity.
func path(dir, device string) string {
	return filepath.Join(dir, fmt.Sprintf("%x.json", sha256.Sum256([]byte(device)))[:32+len(".json")])
}

// recall reads what was remembered of a device, named by an identity of it and its driver.
// The error is fs.ErrNotExist where nothing was, or ErrFile.
func recall(dir, device string) (Result, error) {
	at := path(dir, device)
	from, err := os.Open(at)
	if err != nil {
		return Result{}, err
	}
	defer from.Close()
	data, err := io.ReadAll(io.LimitReader(from, maxFileBytes+1))
	if err != nil {
		return Result{}, err
	}
	var f file
	if len(data) > maxFileBytes {
		return Result{}, fmt.Errorf("%s has more than %d bytes: %w", at, maxFileBytes, ErrFile)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return Result{}, fmt.Errorf("%s: %w: %w", at, ErrFile, err)
	}
	if f.Device != device || f.Units < 1 || f.Units > MaxUnits || f.Lanes != width {
		return Result{}, fmt.Errorf("%s says %d units of %d invocations for %q: %w", at, f.Units, f.Lanes, f.Device, ErrFile)
	}
	return f.Result, nil
}

// remember keeps what was measured of a device. The file is replaced whole.
func remember(dir, device string, r Result) error {
	data, err := json.Marshal(file{device, r})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return renameio.WriteFile(path(dir, device), append(data, '\n'), 0o600)
}
