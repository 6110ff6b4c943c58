package fpm

import (
	"encoding/binary"
	"fmt"
)

// Counts are what a stream has had.
type Counts struct {
	Iterations uint64 // messages that say how many requests wait
	Heartbeats uint64 // messages without an iteration: the publisher lives, the queue is unknown
	Lost       uint64 // messages that the publisher counted and that never came
	Restarts   uint64 // times that the publisher began to count anew, or was another one
	Refused    uint64 // messages that are not ForwardPassMetrics
}

// Stream follows the messages of one publisher.
type Stream struct {
	Counts Counts

	begun bool
	last  uint64 // number of the last message
	id    string
	rank  uint32
}

// Take takes the frames of a message. It says what waits only after an iteration: a nil
// without an error is a heartbeat, and of the queue nothing is known by it.
func (s *Stream) Take(frames [][]byte) (*Metrics, error) {
	m, number, err := s.read(frames)
	if err != nil {
		s.Counts.Refused++
		return nil, err
	}
	switch {
	case !s.begun:
	case number <= s.last, m.WorkerID != s.id, m.Rank != s.rank:
		s.Counts.Restarts++
	default:
		s.Counts.Lost += number - s.last - 1
	}
	s.begun, s.last, s.id, s.rank = true, number, m.WorkerID, m.Rank
	if m.Heartbeat() {
		s.Counts.Heartbeats++
		return nil, nil
	}
	s.Counts.Iterations++
	return &m, nil
}

func (s *Stream) read(frames [][]byte) (m Metrics, number uint64, err error) {
	if len(frames) != 3 || len(frames[1]) != 8 {
		return m, 0, fmt.Errorf("a message of %d frames: want a topic, a number of eight bytes and the metrics", len(frames))
	}
	m, err = Decode(frames[2])
	return m, binary.BigEndian.Uint64(frames[1]), err
}
