package tuner

import (
	"math"
	"slices"
)

const (
	// MinSamples is how many launches a candidate needs before it is judged:
	// the fewest that give a variance with a degree of freedom to spare.
	MinSamples = 3
	// noiseErrors is how many standard errors a gain must exceed. Of
	// differences that are mere noise about 19 in 20 stay below two once there
	// are many launches, and somewhat fewer after only MinSamples.
	noiseErrors = 2
)

// Suggest returns the width to use next.
//
// While a candidate has fewer than MinSamples launches it is measured first:
// the current width before any other, so that there is something to compare
// with, then the candidates in the order given. One candidate is finished
// before the next begins, because a change of width costs more than a launch.
// Afterwards the candidate with the lowest mean wins, the first on ties, but a
// current width that is a candidate is kept unless the difference of the means
// exceeds two standard errors of that difference.
//
// Without candidates the current width is returned. Candidates must be widths
// that launches can really get, or one that never runs would be suggested for
// ever.
func Suggest(s *Samples, candidates []uint32, current uint32) uint32 {
	if len(candidates) == 0 {
		return current
	}
	incumbent := slices.Contains(candidates, current)
	if incumbent && s.Of(current).Count < MinSamples {
		return current
	}
	var best Stat
	for i, width := range candidates {
		st := s.Of(width)
		if st.Count < MinSamples {
			return width
		}
		if i == 0 || st.Mean < best.Mean {
			best = st
		}
	}
	if !incumbent {
		return best.Width
	}
	cur := s.Of(current)
	noise := noiseErrors * math.Sqrt(cur.meanVariance()+best.meanVariance())
	if cur.Mean-best.Mean > noise {
		return best.Width
	}
	return current
}
