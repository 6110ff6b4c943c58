package main

import (
	"errors"
	"fmt"
	"time"

	"ringmaster/megakernel/fixedpoint"
	"ringmaster/megakernel/tuner/natural"
)

// benchNatural times the integer steps of the natural gradient on the device beside
// those on the host; transfers count, but the root is on the device already. It ends
// with the sizes from which on the tuner gives the steps to the device.
func benchNatural(s *session) (err error) {
	engine, err := fixedpoint.New(s.device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	start := time.Now()
	clock := func() time.Duration { return time.Since(start) }
	for _, step := range []struct {
		name  string
		sizes []int
		time  func(natural.Engine, int, func() time.Duration) (time.Duration, error)
	}{
		{"softmax", []int{1_024, 16_384, 262_144}, fixedpoint.TimeSoftmax},
		{"dense", []int{64, 256, 1024, natural.MaxDense}, fixedpoint.TimePrecondition},
		{"lowrank", []int{natural.MaxDense + 1, 65_536, 262_144}, fixedpoint.TimePrecondition},
	} {
		for _, n := range step.sizes {
			name := fmt.Sprintf("natural/%s/%d", step.name, n)
			onDevice, err := step.time(engine, n, clock)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			host, err := step.time(natural.Host{}, n, clock)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			s.row(row{Name: name, Value: micros(onDevice), Unit: "µs", Yardstick: "the host, one core", YardstickValue: micros(host)})
		}
	}
	switchover, err := fixedpoint.Calibrate(engine, clock)
	if err != nil {
		return err
	}
	for _, from := range []struct {
		name string
		n    int
	}{{"softmax", switchover.SoftmaxFrom}, {"dense", switchover.DenseFrom}, {"lowrank", switchover.LowRankFrom}} {
		r := row{Name: "natural/from/" + from.name, Value: float64(from.n), Unit: "candidates", Yardstick: "none: the device is used from here"}
		if from.n == fixedpoint.Never {
			r.Value, r.Yardstick = 0, "none: the device is not faster at any size tried"
		}
		s.row(r)
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
