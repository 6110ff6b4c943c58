package searchtest

import (
	"math"
	"testing"

	"ringmaster/megakernel/tuner/space"
)

// Hill is a synthetic kernel: block and tile interact, padding shifts the
// optimum, and large products fail. shape distorts it, as another device would. costs are by
// configuration.
func Hill(t testing.TB, shape float64) (s *space.Space, costs []float64) {
	t.Helper()
	s, err := space.Product([]space.Param{
		space.Ints("block", 16, 32, 48, 64, 96, 128, 192, 256, 384, 512),
		space.Ints("tile", 1, 2, 3, 4, 6, 8),
		space.Ints("unroll", 0, 1, 2, 4),
		space.Ints("pad", 0, 1),
	}, func(l []uint16) bool { return l[1] != 5 || l[2] != 3 })
	if err != nil {
		t.Fatal(err)
	}
	costs = make([]float64, s.Len())
	for c := range costs {
		l := s.Levels(c)
		block, tile := s.Params()[0].Numbers[l[0]], s.Params()[1].Numbers[l[1]]
		work := math.Log2(block*tile) - 8 - shape
		costs[c] = 1 + work*work/4 + math.Abs(float64(l[2])-2+shape)/5 + .3*math.Abs(float64(l[3])-float64(l[0]%2)) + math.Abs(math.Log2(tile)-1.5)/3
		if block*tile > 1_500 {
			costs[c] = math.Inf(1)
		}
	}
	return s, costs
}
