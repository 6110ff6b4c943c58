package tuner

// MaxWidths bounds the widths Samples remembers.
const MaxWidths = 16

// Stat sums up the launches at one width. The unit is nanoseconds per slot.
type Stat struct {
	Width uint32  // invocations
	Count uint64  // launches
	Mean  float64 // ns per slot
	M2    float64 // sum of squared differences from the mean

	seen uint64 // Samples.clock at the last launch
}

// Variance is the sample variance of a launch, or 0 with fewer than two.
func (s *Stat) Variance() float64 {
	if s.Count < 2 {
		return 0
	}
	return s.M2 / float64(s.Count-1)
}

// Samples are the measurements of one queue. The zero value is empty. It is
// plain data of fixed size: a copy is a snapshot.
type Samples struct {
	stats [MaxWidths]Stat
	n     int
	clock uint64 // launches observed
}

// Observe folds in one launch: slots done at a width in ns nanoseconds. A
// launch without width, slots or time measured nothing and is ignored. When
// more than MaxWidths widths were seen, the one that has not run for the
// longest is forgotten.
func (s *Samples) Observe(width uint32, slots, ns uint64) {
	if width == 0 || slots == 0 || ns == 0 {
		return
	}
	s.clock++
	st := s.slot(width)
	st.seen = s.clock
	// Welford's update: no sum of squares that could lose its digits. The
	// conversions keep the compiler from fusing.
	x := float64(ns) / float64(slots)
	st.Count++
	d := x - st.Mean
	st.Mean += d / float64(st.Count)
	st.M2 += float64(d * (x - st.Mean))
}

// slot finds or makes room for a width.
func (s *Samples) slot(width uint32) *Stat {
	oldest := 0
	for i := range s.stats[:s.n] {
		if s.stats[i].Width == width {
			return &s.stats[i]
		}
		if s.stats[i].seen < s.stats[oldest].seen {
			oldest = i
		}
	}
	if s.n < MaxWidths {
		oldest = s.n
		s.n++
	}
	s.stats[oldest] = Stat{Width: width}
	return &s.stats[oldest]
}

// Of returns the statistics of a width; its Count is 0 if it was never measured.
func (s *Samples) Of(width uint32) Stat {
	for _, st := range s.stats[:s.n] {
		if st.Width == width {
			return st
		}
	}
	return Stat{Width: width}
}

// All returns the statistics of every width measured, in the order in which they
// were first seen; a width that replaced another one has its place.
func (s *Samples) All() []Stat {
	return append([]Stat(nil), s.stats[:s.n]...)
}
