//go:build cgo

package megakernel

import "testing"

// BenchmarkFeed prints slots/s from submit to done, and the ratio to draining
// alone in the same run.
func BenchmarkFeed(b *testing.B) {
	dev := openDevice(b)
	for b.Loop() {
		r, err := FeedBench(dev, FeedConfig{Geometry: Geometry{256, 8, 1024}, Producers: 2, Batch: 4096, Depth: 1 << 16, Waves: 20, Rounds: 3})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(r.Feed, "slots/s")
		b.ReportMetric(r.Drain, "drain-slots/s")
		b.ReportMetric(r.Feed/r.Drain, "ratio")
	}
}

func TestFeedBenchRunsEverySlot(t *testing.T) {
	r, err := FeedBench(openDevice(t), FeedConfig{Geometry: testGeometry, Producers: 2, Batch: 512, Depth: 2048, Waves: 3, Rounds: 1})
	if err != nil || r.Feed <= 0 || r.Drain <= 0 {
		t.Errorf("%+v, error %v", r, err)
	}
}

func TestStagingBenchMovesTheBytes(t *testing.T) {
	r, err := StagingBench(openDevice(t), 4<<20, 3, 1)
	if err != nil || r.Staged <= 0 || r.Updates <= 0 {
		t.Errorf("%+v, error %v", r, err)
	}
}
