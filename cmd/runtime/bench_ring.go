package main

import (
	"fmt"

	"ringmaster/glcompute"
	"ringmaster/megakernel"
)

// hardwareSlots and hardwareGeometries suit a GPU: 4 Mi slots of 64 bytes are
// several times its cache, and it takes thousands of workgroups to fill it.
const hardwareSlots = 4 << 20

func hardwareGeometries() (list []megakernel.Geometry) {
	for _, width := range []uint32{256, 512, 1024} {
		for _, groups := range []uint32{264, 528, 1056} {
			for _, rows := range []uint32{1, 4, 8} {
				list = append(list, megakernel.Geometry{Width: width, Groups: groups, Chunk: width * rows})
			}
		}
	}
	return list
}

// benchRing times draining a ring of resident slots by several geometries,
// each beside a bare kernel on the same slots.
func benchRing(device *glcompute.Device, slots int, report *benchReport) error {
	geometries := megakernel.DrainGeometries()
	if !device.Info().Software {
		geometries = hardwareGeometries()
	}
	if slots == 0 {
		slots = megakernel.DrainSlots
		if !device.Info().Software {
			slots = hardwareSlots
		}
	}
	results, err := megakernel.DrainBench(device, slots, megakernel.DrainRuns, geometries)
	if err != nil {
		return err
	}
	var best, bestBare float64
	for i := range results {
		drain, bare := results[i].SlotsPerSecond()
		g := results[i].Geometry
		report.row(benchRow{
			Name:  fmt.Sprintf("ring/drain/%dx%dx%d", g.Width, g.Groups, g.Chunk),
			Value: drain, Unit: "slots/s",
			Yardstick: "bare four-opcode kernel, same slots and geometry", YardstickValue: bare,
		})
		best, bestBare = max(best, drain), max(bestBare, bare)
	}
	report.row(benchRow{
		Name: "ring/drain/best", Value: best, Unit: "slots/s",
		Yardstick: "best of the bare four-opcode kernel", YardstickValue: bestBare,
	})
	return nil
}
