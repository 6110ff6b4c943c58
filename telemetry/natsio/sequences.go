package natsio

import "sync"

// maxSequences bounds the subjects whose sequence numbers are kept.
const maxSequences = 1 << 16

// sequences numbers the records of each subject from 1 upwards. The zero value
// is ready.
type sequences struct {
	mu   sync.Mutex
	last map[string]uint64
	// floor is where subjects start that are not in last. It rises when last
	// is emptied, so that a subject's numbers never fall within an incarnation.
	floor uint64
}

func (s *sequences) next(subject string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, known := s.last[subject]
	if !known {
		if s.last == nil || len(s.last) >= maxSequences {
			for _, used := range s.last {
				s.floor = max(s.floor, used)
			}
			s.last = make(map[string]uint64)
		}
		n = s.floor
	}
	n++
	s.last[subject] = n
	return n
}
