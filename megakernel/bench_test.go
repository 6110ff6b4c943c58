//go:build cgo

package megakernel

import (
	"slices"
	"testing"

	"ringmaster/ring"
)

// BenchmarkDrain prints slots/s of each program and its ratio to the yardstick
// for each geometry.
func BenchmarkDrain(b *testing.B) {
	dev := openDevice(b)
	for program := DrainInterpreter; program <= DrainHot; program++ {
		for _, g := range DrainGeometries() {
			b.Run(program.String()+"/"+g.String(), func(b *testing.B) {
				for b.Loop() {
					results, err := DrainBench(dev, DrainConfig{Program: program, Slots: DrainSlots, Runs: DrainRuns, Geometries: []Geometry{g}, Words: DrainWords})
					if err != nil {
						b.Fatal(err)
					}
					if len(results) == 0 {
						b.Skip("beyond the device's limits")
					}
					drain, yardstick := results[0].Best()
					b.ReportMetric(drain, "slots/s")
					b.ReportMetric(drain/yardstick, "ratio")
				}
			})
		}
	}
}

// BenchmarkSubmitAndLaunch is the whole way of a slot through the engine, and
// the part of it that is the host's.
func BenchmarkSubmitAndLaunch(b *testing.B) {
	e := newEngine(b, openDevice(b), nil)
	const n = 1 << 16
	slots := slices.Repeat([]ring.Slot{slot(OpAdd, 2, 1, 0)}, n)
	for i := range slots {
		slots[i].Args[1] = uint32(i)
	}
	var device uint64
	for b.Loop() {
		if err := e.Submit("q", Batch{ID: "b", Slots: slots}); err != nil {
			b.Fatal(err)
		}
		r, err := e.Launch(Order{Queue: "q", Geometry: Geometry{256, 8, 1024}})
		if err != nil {
			b.Fatal(err)
		}
		device += r.ElapsedNs
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/slot")
	b.ReportMetric(float64(uint64(b.Elapsed().Nanoseconds())-device)/float64(b.N)/n, "host-ns/slot")
}
