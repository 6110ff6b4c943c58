package order

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ringmaster/telemetry"
)

// Reasons for a refusal.
var (
	// ErrStale says that a record is not newer than what its publisher already sent.
	ErrStale = errors.New("stale sequence number")
	// ErrLive says that another publisher reports the queue: the record's incarnation
	// may follow when that one is silent, or at once with take_over in the record.
	ErrLive = errors.New("another publisher reports this queue")
	// ErrRetired says that a newer announcement has replaced the worker's incarnation.
	ErrRetired = errors.New("a newer process announces this worker")
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

// Source orders the records of one kind of one queue. Publishers count their
// records from 1 within a random incarnation, which is not 0. One incarnation at a
// time reports; while it is live, the records of others are refused.
type Source struct {
	Incarnation uint64        `json:"incarnation,string"` // 0: nobody has published
	Seq         uint64        `json:"seq"`
	Last        time.Time     `json:"-"`                    // when its last record came
	Interval    time.Duration `json:"interval_ns,omitzero"` // longest of late between two of its records; 0: it sent only one
}

// Known reports whether a record was accepted.
func (s *Source) Known() bool { return s.Incarnation != 0 }

// Check says whether a record is newer than everything accepted so far, and
// whether it starts a new incarnation. It changes nothing.
func (s *Source) Check(h *telemetry.Header, takeOver bool, now time.Time) (fresh bool, err error) {
	silent := now.Sub(s.Last)
	switch {
	case h.Incarnation == s.Incarnation && h.Seq > s.Seq:
		return false, nil
	case h.Incarnation == s.Incarnation:
		return false, ErrStale
	case takeOver || s.Interval == 0 || silent >= s.patience():
		return true, nil
	default:
		return false, fmt.Errorf("%w: incarnation %016x reported %v ago; stop it, or take over from it (take_over)", ErrLive, s.Incarnation, silent.Round(time.Millisecond))
	}
}

// patience is how long the incarnation may be silent and is still taken to be live.
func (s *Source) patience() time.Duration {
	return min(max(silentIntervals*s.Interval, minSilence), maxSilence)
}

// Accept notes a record that Check found in order.
func (s *Source) Accept(h *telemetry.Header, now time.Time) {
	if h.Incarnation != s.Incarnation {
		*s = Source{Incarnation: h.Incarnation}
	} else {
		s.Interval = max(now.Sub(s.Last), s.Interval-s.Interval/intervalDecay, 1)
	}
	s.Seq, s.Last = h.Seq, now
}

// PublishedBy reports whether the current values came from that incarnation.
func (s *Source) PublishedBy(incarnation uint64) bool {
	return s.Known() && s.Incarnation == incarnation
}

// Announcer orders the announcements of a worker. The newest incarnation counts at
// once: a worker that was restarted says what its device is now. The last ones that it
// replaced are refused, so that late announcements do not bring them back.
type Announcer struct {
	incarnation, seq uint64
	retired          []uint64 // the last maxRetired, oldest first
}

const maxRetired = 4

// Accept takes an announcement's place in the order, or refuses it.
func (a *Announcer) Accept(h *telemetry.Header) (fresh bool, err error) {
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
