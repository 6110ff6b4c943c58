package telemetry

// LateQueue is the newest body of a queue record that nobody has asked for yet.
// Of the records between two looks at a queue only the last one's values are
// read, if the ones before it said nothing that it does not. The zero value
// holds none.
type LateQueue struct {
	shape *shape // nil: none
	body  [lateMargin + lateBody]byte
}

const (
	lateBody   = 56 // bytes of the largest body that waits; in full ones of small numbers are 35 to 50
	lateMargin = 8  // bytes before a body that its shape looks at, rounded up
)

// Merge has the effect that r.MergeQueue(q) has, at the latest with Settle.
// The record's memory may be used again afterwards.
func (l *LateQueue) Merge(r *Flat, q *Queue) {
	s := r.shape
	if s == nil || s.size > lateBody {
		l.Settle(q)
		r.MergeQueue(q)
		return
	}
	if l.shape != s {
		if l.shape != nil && l.shape.has&^s.has != 0 {
			l.Settle(q)
		}
		l.shape = s
	}
	l.body = [lateMargin + lateBody]byte(r.body[bodyMargin-lateMargin:])
}

// Settle merges what is held into q.
func (l *LateQueue) Settle(q *Queue) {
	if l.shape == nil {
		return
	}
	var w bodyWindow
	copy(w[bodyMargin-lateMargin:], l.body[:])
	late := Flat{shape: l.shape, body: &w}
	late.MergeQueue(q)
	l.shape = nil
}

// Drop forgets what is held.
func (l *LateQueue) Drop() { l.shape = nil }
