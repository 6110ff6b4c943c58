package actors

import (
	"fmt"
	"slices"
	"time"

	"ringmaster/telemetry"
)

// A publisher is silent for longer than it is between two of its records before
// another one may take its place: for three of its intervals, but never less than
// minSilence, so that a hiccup is not taken for an end, and never more than maxSilence.
const (
	silentIntervals = 3
	minSilence      = time.Second
	maxSilence      = 10 * time.Second
	// Of the longest interval so much is forgotten with each record.
	intervalDecay = 64
)

// source orders the records of one kind of one queue. Publishers count their
// records from 1 within a random incarnation, which is not 0. One incarnation at a
// time reports; while it is live, the records of others are refused.
type source struct {
	incarnation uint64 // 0: nobody has published
	seq         uint64
	last        time.Time     // when its last record came
	interval    time.Duration // longest of late between two of its records; 0: it sent only one
}

// known reports whether a record was accepted.
func (s *source) known() bool { return s.incarnation != 0 }

// check says whether a record is newer than everything accepted so far, and
// whether it starts a new incarnation. It changes nothing.
func (s *source) check(h *telemetry.Header, takeOver bool, now time.Time) (fresh bool, err error) {
	silent := now.Sub(s.last)
	switch {
	case h.Incarnation == s.incarnation && h.Seq > s.seq:
		return false, nil
	case h.Incarnation == s.incarnation:
		return false, ErrStale
	case takeOver || s.interval == 0 || silent >= s.patience():
		return true, nil
	default:
		return false, fmt.Errorf("%w: incarnation %d reported %v ago", ErrLive, s.incarnation, silent.Round(time.Millisecond))
	}
}

// patience is how long the incarnation may be silent and is still taken to be live.
func (s *source) patience() time.Duration {
	return min(max(silentIntervals*s.interval, minSilence), maxSilence)
}

// accept notes a record that check found in order.
func (s *source) accept(h *telemetry.Header, now time.Time) {
	if h.Incarnation != s.incarnation {
		*s = source{incarnation: h.Incarnation}
	} else {
		s.interval = max(now.Sub(s.last), s.interval-s.interval/intervalDecay, 1)
	}
	s.seq, s.last = h.Seq, now
}

// publishedBy reports whether the current values came from that incarnation.
func (s *source) publishedBy(incarnation uint64) bool {
	return s.known() && s.incarnation == incarnation
}

// announcer orders the announcements of a worker. The newest incarnation counts at
// once: a worker that was restarted says what its device is now. The last ones that it
// replaced are refused, so that late announcements do not bring them back.
type announcer struct {
	incarnation, seq uint64
	retired          []uint64 // the last maxRetired, oldest first
}

const maxRetired = 4

// accept takes an announcement's place in the order, or refuses it.
func (a *announcer) accept(h *telemetry.Header) (fresh bool, err error) {
	switch {
	case h.Incarnation == a.incarnation && h.Seq <= a.seq:
		return false, ErrStale
	case slices.Contains(a.retired, h.Incarnation):
		return false, ErrRetired
	}
	fresh = h.Incarnation != a.incarnation
	if fresh && a.incarnation != 0 {
		a.retired = append(a.retired, a.incarnation)
		a.retired = a.retired[max(0, len(a.retired)-maxRetired):]
	}
	a.incarnation, a.seq = h.Incarnation, h.Seq
	return fresh, nil
}
