package fleetview

import (
	"encoding/json"
	"math/bits"
	"time"
)

// Figure is a number that may be unknown. As JSON it is a number, or null.
type Figure struct {
	Value float64
	Known bool
}

// known is a figure that is known.
func known(value float64) Figure { return Figure{Value: value, Known: true} }

// MarshalJSON writes a number, or null where it is unknown.
func (f Figure) MarshalJSON() ([]byte, error) {
	if !f.Known {
		return []byte("null"), nil
	}
	return json.Marshal(f.Value)
}

const (
	rateOver  = 5 // complete seconds over which a rate is taken
	rateSlots = 8 // seconds that are kept, more than rateOver by the one under way
)

// rate counts what happens in each second.
type rate struct {
	seconds [rateSlots]uint64
	newest  int64 // Unix second of the newest slot
	total   uint64
}

// add counts n at a moment. A clock that goes back adds to the newest second.
func (r *rate) add(now time.Time, n uint64) {
	r.reach(now.Unix())
	r.seconds[r.newest%rateSlots] += n
	r.total += n
}

// reach begins the seconds until one, with nothing in them.
func (r *rate) reach(second int64) {
	if second-r.newest >= rateSlots {
		r.seconds, r.newest = [rateSlots]uint64{}, second
	}
	for r.newest < second {
		r.newest++
		r.seconds[r.newest%rateSlots] = 0
	}
}

// perSecond is the mean over the last complete seconds, at most rateOver of them and none before the
// count began. Until the first of them is over it is unknown.
func (r *rate) perSecond(now, began time.Time) Figure {
	over := min(now.Unix()-began.Unix()-1, rateOver)
	if over < 1 {
		return Figure{}
	}
	r.reach(now.Unix())
	sum := uint64(0)
	for back := int64(1); back <= over; back++ {
		sum += r.seconds[(r.newest-back+rateSlots)%rateSlots]
	}
	return known(float64(sum) / float64(over))
}

const (
	spreadHalf = 30 * time.Second // quantiles are of the last one to two of these
	fineBits   = 3                // a bucket is an eighth of its power of two wide, so a quantile is within 6 %
	buckets    = 32 << fineBits   // the last holds all beyond an hour
)

// spread counts durations by their logarithm, in two halves of which the older is dropped in turn.
type spread struct {
	halves [2][buckets]uint32
	counts [2]uint32
	begun  time.Time // of the half that grows, which is the first
}

// add counts a duration. Less than nothing, of two clocks that differ, is left out.
func (s *spread) add(now time.Time, d time.Duration) {
	if d < 0 {
		return
	}
	s.turn(now)
	s.halves[0][bucketOf(d)]++
	s.counts[0]++
}

func (s *spread) turn(now time.Time) {
	switch over := now.Sub(s.begun); {
	case over >= 2*spreadHalf:
		*s = spread{begun: now}
	case over >= spreadHalf:
		s.halves[1], s.counts[1] = s.halves[0], s.counts[0]
		s.halves[0], s.counts[0] = [buckets]uint32{}, 0
		s.begun = s.begun.Add(spreadHalf)
	}
}

// quantiles are durations in seconds, of which so many of a thousand are not longer. They are unknown without a count.
func (s *spread) quantiles(now time.Time, permille ...uint64) []Figure {
	out := make([]Figure, len(permille))
	s.turn(now)
	all := uint64(s.counts[0]) + uint64(s.counts[1])
	if all == 0 {
		return out
	}
	seen, at := uint64(0), 0
	for b := range s.halves[0] {
		seen += uint64(s.halves[0][b]) + uint64(s.halves[1][b])
		for at < len(out) && seen*1000 >= all*permille[at] {
			out[at] = known(middleOf(b).Seconds())
			at++
		}
		if at == len(out) {
			break
		}
	}
	return out
}

// bucketOf is the bucket of a duration, of its microseconds.
func bucketOf(d time.Duration) int {
	us := uint64(d / time.Microsecond)
	if us < 1<<fineBits {
		return int(us)
	}
	shift := bits.Len64(us) - 1 - fineBits
	return min((shift+1)<<fineBits+int(us>>shift)&(1<<fineBits-1), buckets-1)
}

// middleOf is the middle of what a bucket holds.
func middleOf(bucket int) time.Duration {
	if bucket < 1<<fineBits {
		return time.Duration(bucket)*time.Microsecond + time.Microsecond/2
	}
	shift := bucket>>fineBits - 1
	low := uint64(1<<fineBits|bucket&(1<<fineBits-1)) << shift
	return time.Duration(low+1<<shift/2) * time.Microsecond
}
