package costs

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	leastBlocks = 10 // of time
	resamples   = 1000
)

// Interval holds a number that was made from n things in the order of time with 95 % confidence; of makes it
// from the things with the numbers in drawn, NaN where it cannot. ok is false where too few blocks
// have what it takes.
//
// Launches near each other in time are alike, so whole blocks of neighbours are drawn (H. R. Künsch, Annals of
// Statistics 17, 1989), of n^(1/3) each. The seed is fixed: the same launches give the same interval.
func Interval(n int, of func(drawn []int) float64) (low, high float64, ok bool) {
	length := int(math.Ceil(math.Cbrt(float64(n))))
	if n == 0 || n/length < leastBlocks {
		return 0, 0, false
	}
	random := rand.New(rand.NewPCG(1, 2))
	drawn := make([]int, 0, n+length)
	var all []float64
	for range resamples {
		drawn = drawn[:0]
		for len(drawn) < n {
			at := random.IntN(n - length + 1)
			for i := range length {
				drawn = append(drawn, at+i)
			}
		}
		if v := of(drawn[:n]); !math.IsNaN(v) && !math.IsInf(v, 0) {
			all = append(all, v)
		}
	}
	if len(all) < resamples*95/100 {
		return 0, 0, false
	}
	slices.Sort(all)
	return all[len(all)/40], all[len(all)-1-len(all)/40], true
}
