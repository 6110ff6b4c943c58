package main

import (
	"errors"
	"fmt"
	"time"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/lease"
)

// leaseFlags say how launches reach the device.
type leaseFlags struct {
	Mode          string        `enum:"wave,lease,auto" default:"auto" env:"RINGMASTER_MODE" help:"How launches run. wave: each is a dispatch of its own, at the recommended geometry. lease: those of at most 256 slots go to a kernel that stays on the device, if its self-test passes. auto: as lease for slots without long loops; on a software renderer, as wave."`
	LeaseDuration time.Duration `default:"50ms" env:"RINGMASTER_LEASE_DURATION" help:"Longest time that a lease's kernel stays on the device, more than 0 and at most 1s. It ends sooner when no work comes or something else needs the device."`
}

// check refuses a duration that no lease can have.
func (f *leaseFlags) check() error {
	if f.LeaseDuration <= 0 || f.LeaseDuration > lease.MaxDuration {
		return fmt.Errorf("--lease-duration %v: want more than 0 and at most %v; for no resident kernel, --mode wave", f.LeaseDuration, lease.MaxDuration)
	}
	return nil
}

// launchMode says how launches run on a device.
func (f *leaseFlags) launchMode(device worker.Device) megakernel.LaunchMode {
	switch {
	case f.Mode == "lease":
		return megakernel.ModeLease
	case f.Mode == "auto" && !device.Info().Software:
		return megakernel.ModeAuto
	}
	return megakernel.ModeWave
}

// leaseState says, for doctor, whether a device can keep a kernel resident.
func leaseState(device *glcompute.Device) string {
	const bytes = 1024
	var heap gpu.Buffer
	err := device.Do(func() (err error) {
		heap, err = device.NewBuffer(bytes)
		return err
	})
	if err != nil {
		return "lease: not tried: " + err.Error()
	}
	l, err := lease.Open(device, lease.Config{Heap: heap, HeapBytes: bytes})
	var support lease.Support
	if err == nil {
		support = l.Support()
		err = l.Close()
	}
	err = errors.Join(err, device.Do(func() error {
		device.DeleteBuffer(heap)
		return nil
	}))
	if err != nil {
		return "lease: none, small launches run as waves: " + err.Error()
	}
	return "lease: " + support.String()
}
