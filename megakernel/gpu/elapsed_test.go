package gpu

import "testing"

func TestElapsedBelievesPlausibleReadingsOnly(t *testing.T) {
	for _, c := range []struct {
		device, finish, want uint64
		source               TimeSource
	}{
		{0, 50_000, 50_000, TimeFinish},      // llvmpipe
		{1, 50_000, 50_000, TimeFinish},      // llvmpipe
		{1000, 50_000, 50_000, TimeFinish},   // no dispatch is that short
		{1001, 50_000, 1001, TimeDevice},     //
		{50_000, 50_000, 50_000, TimeDevice}, //
		{50_001, 50_000, 50_000, TimeFinish}, // longer than the host waited
		{^uint64(0), 50_000, 50_000, TimeFinish},
	} {
		if got, source := Elapsed(c.device, c.finish); got != c.want || source != c.source {
			t.Errorf("device %d, finish %d: %d by %s", c.device, c.finish, got, source)
		}
	}
}
