package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"

	"ringmaster/glcompute"
	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner"
)

// programFlags say where compiled GPU programs are kept.
type programFlags struct {
	ProgramCache   string `placeholder:"DIR" env:"RINGMASTER_PROGRAM_CACHE" help:"Directory for compiled GPU programs; only this user may have access (default: under the user's cache directory)."`
	NoProgramCache bool   `env:"RINGMASTER_NO_PROGRAM_CACHE" help:"Keep no compiled GPU programs; compile them at every start."`
}

func (f *programFlags) programDir() string {
	if f.ProgramCache != "" {
		return f.ProgramCache
	}
	return filepath.Join(cacheDir(), "programs")
}

// binaries opens the directory of compiled programs, or returns nil if f is nil. Without
// a directory everything works, only more slowly, so a problem with it is logged and is
// no error.
func (f *programFlags) binaries(log *slog.Logger) *disk.Dir {
	if f == nil || f.NoProgramCache {
		return nil
	}
	dir, err := disk.Open(disk.DefaultConfig(f.programDir()))
	if err != nil {
		log.Warn("no program cache; every start compiles its kernels", "err", err)
		return nil
	}
	return dir
}

// programState is doctor's line about the directory.
func (f *programFlags) programState() string {
	if f.NoProgramCache {
		return "program cache: off"
	}
	usage, err := disk.Inspect(f.programDir())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("program cache: %s, made on first use", f.programDir())
	case errors.Is(err, disk.ErrUnsafe):
		return fmt.Sprintf("program cache: not used: %v", err)
	case err != nil:
		return fmt.Sprintf("program cache: not readable: %v", err)
	}
	return fmt.Sprintf("program cache: %s, %d programs, %d KiB", f.programDir(), usage.Entries, (usage.Bytes+1023)>>10)
}

// candidateKernels are the kernels of the widths that the tuner tries.
func candidateKernels(device glDevice) []megakernel.Kernel {
	limits := policy.Limits{SubgroupSize: device.Info().Capabilities.SubgroupSize}
	limits.MaxWorkgroupSizeX, limits.MaxWorkgroupsPerDimension, limits.MaxInvocationsPerWorkgroup = device.WorkgroupLimits()
	var kernels []megakernel.Kernel
	for _, width := range tuner.Candidates(limits) {
		kernels = append(kernels, megakernel.Kernel{Kind: megakernel.Interpreter, Width: width})
	}
	return kernels
}

// adjustedBecause reduces the reason why a launch was not as recommended to its kind: it
// leaves out the name of the kernel, of which there may be many.
func adjustedBecause(reason string) string {
	if rest, ok := strings.CutPrefix(reason, "kernel "); ok {
		if _, why, ok := strings.Cut(rest, ": "); ok {
			return "kernel: " + why
		}
	}
	return reason
}

// beside opens a second context of the device, for building kernels. Only a real GL
// device has one; others give nil.
func beside(dev gpu.Device) (gpu.Device, error) {
	d, ok := dev.(interface {
		OpenShared() (*glcompute.Device, error)
	})
	if !ok {
		return nil, errors.New("the device cannot open one")
	}
	shared, err := d.OpenShared()
	if err != nil {
		return nil, err // and no Device that holds a nil
	}
	return shared, nil
}
