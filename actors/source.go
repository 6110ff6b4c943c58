package actors

import "slices"

// retiredPublishers is how many replaced incarnations a source remembers, so that
// late records of a replaced publisher are refused. Older ones are forgotten: their
// records would have to be delayed by that many restarts.
const retiredPublishers = 4

// source orders the records of one kind of one queue. Publishers count their
// records from 1 within a random incarnation; the newest incarnation wins.
type source struct {
	incarnation uint64 // 0: nobody has published
	seq         uint64
	retired     *retired // nil until a publisher was replaced
}

// retired holds the replaced incarnations of a source.
type retired struct {
	incarnations [retiredPublishers]uint64
	oldest       int // index of the entry to overwrite next
}

// known reports whether a record was accepted. Publishers' incarnations are not 0.
func (s *source) known() bool { return s.incarnation != 0 }

// check says whether a record is newer than everything accepted so far, and
// whether it starts a new incarnation. It changes nothing.
func (s *source) check(incarnation, seq uint64) (fresh bool, err error) {
	if !s.known() {
		return true, nil
	}
	if incarnation == s.incarnation {
		if seq <= s.seq {
			return false, ErrStale
		}
		return false, nil
	}
	if s.retired != nil && slices.Contains(s.retired.incarnations[:], incarnation) {
		return false, ErrRetired
	}
	return true, nil
}

// accept records an accepted record.
func (s *source) accept(incarnation, seq uint64) {
	if !s.known() || incarnation != s.incarnation {
		s.begin(incarnation)
	}
	s.seq = seq
}

// begin starts a new incarnation.
func (s *source) begin(incarnation uint64) {
	if s.known() {
		if s.retired == nil {
			s.retired = new(retired)
		}
		s.retired.incarnations[s.retired.oldest] = s.incarnation
		s.retired.oldest = (s.retired.oldest + 1) % retiredPublishers
	}
	s.incarnation = incarnation
}

// publishedBy reports whether the current values came from that incarnation.
func (s *source) publishedBy(incarnation uint64) bool {
	return s.known() && s.incarnation == incarnation
}
