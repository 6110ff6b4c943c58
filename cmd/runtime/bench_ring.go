package main

import (
	"fmt"

	"ringmaster/glcompute"
	"ringmaster/megakernel"
)

// hardwareSlots and hardwareGeometries suit a GPU: 4 Mi slots of 64 bytes are
// several times its cache, and it takes thousands of workgroups to fill it.
// hardwareSmall fits the cache.
const (
	hardwareSlots = 4 << 20
	hardwareSmall = 256 << 10
	hardwareWords = 40
)

// hardwareGeometries are those among which the best ones for a large ring were
// found. Groups times chunk of the last ones cover the ring, so that they take no
// tickets.
var hardwareGeometries = []megakernel.Geometry{
	{Width: 256, Groups: 1056, Chunk: 2048},
	{Width: 512, Groups: 512, Chunk: 2048}, {Width: 512, Groups: 528, Chunk: 1024}, {Width: 512, Groups: 528, Chunk: 2048}, {Width: 512, Groups: 528, Chunk: 4096},
	{Width: 512, Groups: 512, Chunk: 4096}, {Width: 512, Groups: 1056, Chunk: 4096},
	{Width: 1024, Groups: 256, Chunk: 1024}, {Width: 1024, Groups: 256, Chunk: 2048}, {Width: 1024, Groups: 256, Chunk: 4096}, {Width: 1024, Groups: 256, Chunk: 8192},
	{Width: 1024, Groups: 264, Chunk: 1024}, {Width: 1024, Groups: 264, Chunk: 2048}, {Width: 1024, Groups: 264, Chunk: 4096}, {Width: 1024, Groups: 264, Chunk: 8192},
	{Width: 1024, Groups: 512, Chunk: 4096}, {Width: 1024, Groups: 528, Chunk: 1024}, {Width: 1024, Groups: 528, Chunk: 2048}, {Width: 1024, Groups: 528, Chunk: 4096},
	{Width: 512, Groups: 2048, Chunk: 2048}, {Width: 1024, Groups: 1024, Chunk: 4096},
}

// smallGeometries are the same for a small ring.
var smallGeometries = []megakernel.Geometry{
	{Width: 256, Groups: 264, Chunk: 1024}, {Width: 256, Groups: 528, Chunk: 256}, {Width: 512, Groups: 264, Chunk: 512},
	{Width: 1024, Groups: 132, Chunk: 1024}, {Width: 1024, Groups: 264, Chunk: 1024},
	{Width: 256, Groups: 1024, Chunk: 256}, {Width: 512, Groups: 512, Chunk: 512}, {Width: 512, Groups: 256, Chunk: 1024},
	{Width: 1024, Groups: 256, Chunk: 1024}, {Width: 1024, Groups: 128, Chunk: 2048},
}

// repeatedGeometries and repeatedSmall are the best of these.
var (
	repeatedGeometries = []megakernel.Geometry{
		{Width: 512, Groups: 512, Chunk: 2048}, {Width: 512, Groups: 528, Chunk: 2048}, {Width: 1024, Groups: 256, Chunk: 2048},
		{Width: 1024, Groups: 256, Chunk: 4096}, {Width: 1024, Groups: 264, Chunk: 2048},
	}
	repeatedSmall = []megakernel.Geometry{
		{Width: 512, Groups: 512, Chunk: 512}, {Width: 512, Groups: 256, Chunk: 1024}, {Width: 1024, Groups: 256, Chunk: 1024}, {Width: 256, Groups: 1024, Chunk: 256},
	}
)

const bareKernel = "bare four-opcode kernel, same slots and geometry"

// drainConfig is the configuration of the drain benchmark for a device, which also
// chooses the number of slots if that is 0.
func drainConfig(device *glcompute.Device, slots int) megakernel.DrainConfig {
	cfg := megakernel.DrainConfig{Slots: slots, Runs: megakernel.DrainRuns, Geometries: megakernel.DrainGeometries(), Words: megakernel.DrainWords}
	if hardware := !device.Info().Software; hardware {
		cfg.Geometries, cfg.Words, cfg.Runs = hardwareGeometries, hardwareWords, 15
		cfg.Lead = 3
		if slots == 0 {
			cfg.Slots = hardwareSlots
		}
	} else if slots == 0 {
		cfg.Slots = megakernel.DrainSlots
	}
	return cfg
}

// benchDrain times the kernels for which a hand-written program with the same protocol
// exists as a yardstick. It uses few geometries, so that it can be repeated by turns with
// that program.
func benchDrain(device *glcompute.Device, slots int, report *benchReport) error {
	cfg := drainConfig(device, slots)
	cfg.Program = megakernel.DrainFused4
	if device.Info().Software {
		return drainRows(device, cfg, "ring/fused4", bareKernel, report)
	}
	cfg.Geometries = repeatedGeometries
	if err := drainRows(device, cfg, "ring/fused4", bareKernel, report); err != nil || slots != 0 {
		return err
	}
	cfg.Slots, cfg.Geometries = hardwareSmall, repeatedSmall
	return drainRows(device, cfg, "ring/fused4-small", bareKernel, report)
}

// benchRing times draining a ring of resident slots by several kernels and
// geometries, each beside a yardstick on the same slots.
func benchRing(device *glcompute.Device, slots int, report *benchReport) error {
	hardware := !device.Info().Software
	cfg := drainConfig(device, slots)
	cfg.Program = megakernel.DrainInterpreter
	if err := drainRows(device, cfg, "ring/drain", bareKernel, report); err != nil {
		return err
	}
	cfg.Program = megakernel.DrainFused4
	if err := drainRows(device, cfg, "ring/fused4", bareKernel, report); err != nil {
		return err
	}
	if hardware && slots == 0 {
		small := cfg
		small.Slots, small.Geometries = hardwareSmall, smallGeometries
		if err := drainRows(device, small, "ring/fused4-small", bareKernel, report); err != nil {
			return err
		}
	}
	cfg.Program = megakernel.DrainFused3
	if err := drainRows(device, cfg, "ring/fused3", bareKernel, report); err != nil {
		return err
	}
	cfg.Program = megakernel.DrainHot
	if hardware {
		cfg.Geometries = []megakernel.Geometry{{Width: 256, Groups: 528, Chunk: 1024}, {Width: 256, Groups: 1056, Chunk: 1024}, {Width: 512, Groups: 264, Chunk: 2048}}
	} else {
		cfg.Geometries = []megakernel.Geometry{{Width: 64, Groups: 8, Chunk: 1024}, {Width: 256, Groups: 8, Chunk: 1024}}
	}
	return drainRows(device, cfg, "ring/hot", "interpreter of the same 32 opcodes", report)
}

// drainRows reports a drain benchmark: every geometry, and the best of either
// side.
func drainRows(device *glcompute.Device, cfg megakernel.DrainConfig, name, yardstick string, report *benchReport) error {
	results, err := megakernel.DrainBench(device, cfg)
	if err != nil {
		return err
	}
	var best, bestYardstick float64
	for i := range results {
		// On two cores that other processes use too, only the best run is meaningful.
		drain, yard := results[i].Best()
		if !device.Info().Software {
			drain, yard = results[i].Typical()
		}
		report.row(benchRow{
			Name: fmt.Sprintf("%s/%s", name, results[i].Geometry), Value: drain, Unit: "slots/s",
			Yardstick: yardstick, YardstickValue: yard,
		})
		best, bestYardstick = max(best, drain), max(bestYardstick, yard)
	}
	report.row(benchRow{Name: name + "/best", Value: best, Unit: "slots/s", Yardstick: "best of the " + yardstick, YardstickValue: bestYardstick})
	return nil
}
