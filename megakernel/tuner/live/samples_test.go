package live

import (
	"math"
	"testing"
)

func TestADisturbedLaunchDoesNotDecideWhatAGeometryCosts(t *testing.T) {
	const noise = 0.03
	for name, times := range map[string][]float64{
		"the first":  {300, 1, 1.01, 0.99},
		"the second": {1, 300, 1.01, 0.99},
		"the third":  {1, 1.01, 300, 0.99},
	} {
		var a Arm
		var s spread
		for _, x := range times {
			before := a.Count
			if d := a.fold(math.Log(x), 1, noise); before > 0 {
				s.fold(d, before)
			}
		}
		if a.NsPerSlot() > 1.08 || a.NsPerSlot() < 0.98 || s.sd() > 3*noise {
			t.Errorf("%s was disturbed: the mean is %.3f, the noise %.3f", name, a.NsPerSlot(), s.sd())
		}
	}
}
