package natsio

import (
	"slices"

	"ringmaster/telemetry"
)

// parcelRecords bounds the records of a payload. The longest record, a launch
// report, is 90 values, so that these stay below the receiver's bound on values.
const parcelRecords = 256

// parcel is one payload on its way and what it consists of.
type parcel struct {
	to      *route
	payload []byte
	records int

	announcement *announcement
	first        uint64 // place of the first launch report in the route's ring
	launches     int
	states       []stateRef
}

type stateRef struct {
	load *load
	kind int
}

// next fills p with what has waited longest, up to limit bytes, or reports that
// nothing is due. sent or restore has to follow before the next call.
func (s *slate) next(p *parcel, limit int) bool {
	for len(s.due) > 0 {
		r := s.due[0]
		*p = parcel{to: r, payload: p.payload[:0], states: p.states[:0], first: r.launches.first}
		if s.fillAnnouncement(p, limit) && s.fillLaunches(p, limit) {
			s.fillStates(p, limit)
		}
		if p.records > 0 {
			return true
		}
		s.sent(p)
	}
	return false
}

// The fill functions report whether there is room for more.
func (s *slate) fillAnnouncement(p *parcel, limit int) bool {
	a := p.to.announcement
	if a == nil || !a.due {
		return true
	}
	h := s.header(p.to, "", a.at)
	p.payload = telemetry.AppendWorker(p.payload, s.form, &h, &a.worker)
	a.due = false
	s.waiting--
	p.announcement = a
	return p.keep(0, limit)
}

func (s *slate) fillLaunches(p *parcel, limit int) bool {
	ring := &p.to.launches
	for ; p.launches < ring.n; p.launches++ {
		e := ring.at(p.launches)
		if e.load == nil {
			continue // forgotten
		}
		before := len(p.payload)
		h := s.header(p.to, e.load.name.queue, e.at)
		p.payload = telemetry.AppendLaunch(p.payload, s.form, &h, &e.launch)
		if !p.keep(before, limit) {
			return false
		}
	}
	return true
}

func (s *slate) fillStates(p *parcel, limit int) {
	r := p.to
	done := 0
	for _, l := range r.loads {
		if !s.fillState(p, l, limit) {
			break
		}
		l.listed = false
		done++
	}
	r.loads = slices.Delete(r.loads, 0, done)
}

func (s *slate) fillState(p *parcel, l *load, limit int) bool {
	for kind := range l.due {
		if !l.due[kind] {
			continue
		}
		before := len(p.payload)
		h := s.header(p.to, l.name.queue, l.at[kind])
		p.payload = l.encode(p.payload, s.form, &h, kind)
		if !p.keep(before, limit) {
			return false
		}
		l.due[kind] = false
		s.waiting--
		p.states = append(p.states, stateRef{l, kind})
	}
	return true
}

func (l *load) encode(dst []byte, form telemetry.Form, h *telemetry.Header, kind int) []byte {
	switch kind {
	case ofPriority:
		return telemetry.AppendPriority(dst, form, h, &l.priority)
	case ofGraph:
		return telemetry.AppendGraph(dst, form, h, &l.graph)
	default:
		return telemetry.AppendQueue(dst, form, h, &l.queue)
	}
}

// keep leaves the record that begins at before in the payload if it fits. A record that
// is alone stays in any case: whether it is too long is for the server to say.
func (p *parcel) keep(before, limit int) bool {
	if p.records > 0 && (len(p.payload) > limit || p.records == parcelRecords) {
		p.payload = p.payload[:before]
		p.to.seq--
		return false
	}
	p.records++
	return true
}

func (s *slate) header(r *route, queue string, at int64) telemetry.Header {
	r.seq++
	h := telemetry.Header{Minor: telemetry.Minor, Incarnation: s.cfg.Incarnation, Seq: r.seq, SentNs: at}
	if r.shared {
		h.Queue = queue
	}
	return h
}

// sent takes the parcel off the slate.
func (s *slate) sent(p *parcel) {
	s.waiting -= p.to.launches.drop(p.first + uint64(p.launches))
	s.turn(p.to)
}

// restore makes what is in the parcel due again.
func (s *slate) restore(p *parcel) {
	if p.announcement != nil {
		s.mark(p.announcement)
	}
	for _, ref := range p.states {
		if s.loads[ref.load.name] == ref.load && !ref.load.due[ref.kind] {
			s.again(ref.load, ref.kind)
		}
	}
	s.turn(p.to)
}

// turn ends a route's turn, which is the first of those due.
func (s *slate) turn(r *route) {
	s.due = append(s.due[:0], s.due[1:]...)
	r.listed = false
	if r.launches.n > 0 || len(r.loads) > 0 || r.announcement != nil && r.announcement.due {
		s.list(r)
	}
}

// launchRing is a queue of launch reports that uses its memory again.
type launchRing struct {
	reports []launchReport
	front   int    // index of the oldest
	n       int    // reports inside
	first   uint64 // place of the oldest since the beginning
}

type launchReport struct {
	load   *load // nil: forgotten
	at     int64 // Unix nanoseconds
	launch telemetry.Launch
}

func (r *launchRing) at(i int) *launchReport {
	return &r.reports[(r.front+i)%len(r.reports)]
}

// push makes room for a report and returns it to be filled. With limit reports
// inside the oldest gives way; lost tells whether it was one to be sent.
func (r *launchRing) push(limit int) (e *launchReport, lost bool) {
	switch {
	case r.n == limit:
		lost = r.pop()
	case r.n == len(r.reports):
		grown := make([]launchReport, min(max(8, 2*r.n), limit))
		for i := range r.n {
			grown[i] = *r.at(i)
		}
		r.reports, r.front = grown, 0
	}
	r.n++
	return r.at(r.n - 1), lost
}

// pop drops the oldest and reports whether it was one to be sent.
func (r *launchRing) pop() (live bool) {
	live = r.at(0).load != nil
	r.at(0).load = nil
	r.front = (r.front + 1) % len(r.reports)
	r.n--
	r.first++
	return live
}

// drop drops the reports before a place and returns how many were to be sent.
func (r *launchRing) drop(place uint64) (live int) {
	for r.n > 0 && r.first < place {
		if r.pop() {
			live++
		}
	}
	return live
}

// forget marks the reports of a queue as not to be sent and returns how many.
func (r *launchRing) forget(l *load) (n int) {
	for i := range r.n {
		if e := r.at(i); e.load == l {
			e.load = nil
			n++
		}
	}
	return n
}
