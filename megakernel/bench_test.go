package megakernel

import "testing"

// BenchmarkDrain prints slots/s of the interpreter and its ratio to the bare
// kernel for each geometry.
func BenchmarkDrain(b *testing.B) {
	dev := openDevice(b)
	for _, g := range DrainGeometries() {
		b.Run(g.String(), func(b *testing.B) {
			for b.Loop() {
				results, err := DrainBench(dev, DrainSlots, DrainRuns, []Geometry{g})
				if err != nil {
					b.Fatal(err)
				}
				if len(results) == 0 {
					b.Skip("beyond the device's limits")
				}
				drain, bare := results[0].SlotsPerSecond()
				b.ReportMetric(drain, "slots/s")
				b.ReportMetric(drain/bare, "ratio")
			}
		})
	}
}
