package natsio

import (
	"errors"
	"fmt"
	"slices"

	"ringmaster/telemetry"
)

// slate holds what a publisher knows of its queues and what of it is due. It
// does no I/O and knows no time; its owner guards it.
type slate struct {
	cfg   *PublisherConfig
	names telemetry.Subjects
	form  telemetry.Form

	loads    map[queueName]*load
	subjects map[string]*route
	workers  map[string]*announcement
	due      []*route // with something to send, each once, the longest waiting first
	waiting  int      // records due

	coalesced, resent, dropped uint64

	floor   uint64 // where the numbers of a new subject start
	draft   load
	trial   []byte // a record that is being judged
	decoder telemetry.Decoder
	verdict telemetry.Record
}

type queueName struct{ worker, queue string }

// route is one subject and what is due on it.
type route struct {
	subject      string
	shared       bool          // records name their queues
	seq          uint64        // of the last record
	users        int           // queues
	announcement *announcement // of a worker subject
	launches     launchRing
	loads        []*load // with something due, each once
	listed       bool    // in slate.due
}

// announcement is the newest of a worker.
type announcement struct {
	route  *route
	worker telemetry.Worker
	at     int64
	due    bool
}

// The kinds of which a queue has one record, in the order in which they are
// sent: a queue record triggers a decision, so what it depends on goes first.
const (
	ofPriority = iota
	ofGraph
	ofQueue
	stateKinds
)

// load is what is known of one queue.
type load struct {
	name     queueName
	route    *route
	priority telemetry.Priority
	graph    telemetry.Graph
	queue    telemetry.Queue
	at       [stateKinds]int64 // when it was reported, Unix nanoseconds; 0: never
	due      [stateKinds]bool
	listed   bool // in route.loads
}

func (s *slate) init(cfg *PublisherConfig, names telemetry.Subjects, form telemetry.Form) {
	s.cfg, s.names, s.form = cfg, names, form
	s.loads = make(map[queueName]*load)
	s.subjects = make(map[string]*route)
	s.workers = make(map[string]*announcement)
}

// load finds a queue or makes room for it.
func (s *slate) load(name queueName) (*load, error) {
	if l, ok := s.loads[name]; ok {
		return l, nil
	}
	if len(s.loads) >= s.cfg.MaxQueues {
		s.dropped++
		return nil, fmt.Errorf("%w: %d queues are known", ErrBacklog, len(s.loads))
	}
	l := &load{name: name}
	if s.cfg.PerQueue {
		l.route = s.route(s.names.Telemetry(name.worker, name.queue))
	} else {
		l.route = s.route(s.names.Telemetry(name.worker, telemetry.BatchQueue))
		l.route.shared = true
	}
	l.route.users++
	s.loads[name] = l
	return l, nil
}

// route finds a subject or begins one.
func (s *slate) route(subject string) *route {
	r := s.subjects[subject]
	if r == nil {
		r = &route{subject: subject, seq: s.floor}
		s.subjects[subject] = r
	}
	return r
}

// judge fails as the receiver would. The record is encoded as an array, which
// is quicker and carries the same.
func judge[T any](s *slate, encode encodeFunc[T], body *T) error {
	h := telemetry.Header{Incarnation: s.cfg.Incarnation, Seq: 1}
	s.trial = encode(s.trial[:0], telemetry.FormArray, &h, body)
	s.decoder.Reset(s.trial)
	return s.decoder.Next(&s.verdict)
}

type encodeFunc[T any] func(dst []byte, f telemetry.Form, h *telemetry.Header, body *T) []byte

func (s *slate) reportQueue(name queueName, q *telemetry.Queue, at int64) error {
	if l := s.loads[name]; l != nil && (q.Has.Has(telemetry.HasExecutedCount) && q.ExecutedCount < l.queue.ExecutedCount ||
		q.Has.Has(telemetry.HasRequeueCount) && q.RequeueCount < l.queue.RequeueCount) {
		return errRewind
	}
	return reportState(s, name, ofQueue, at, (*load).queueState, (*telemetry.Queue).Merge, telemetry.AppendQueue, q)
}

var errRewind = &telemetry.RecordError{
	Kind: telemetry.KindQueue, Reason: telemetry.ReasonInconsistent,
	Err: errors.New("a counter fell; counters are cumulative for the publisher's life"),
}

func (s *slate) reportGraph(name queueName, g *telemetry.Graph, at int64) error {
	return reportState(s, name, ofGraph, at, (*load).graphState, (*telemetry.Graph).Merge, telemetry.AppendGraph, g)
}

func (s *slate) reportPriority(name queueName, p *telemetry.Priority, at int64) error {
	return reportState(s, name, ofPriority, at, (*load).priorityState, (*telemetry.Priority).Merge, telemetry.AppendPriority, p)
}

func (l *load) queueState() *telemetry.Queue       { return &l.queue }
func (l *load) graphState() *telemetry.Graph       { return &l.graph }
func (l *load) priorityState() *telemetry.Priority { return &l.priority }

// reportState merges a record into what is known, unless the receiver would
// refuse the result.
func reportState[T any](s *slate, name queueName, kind int, at int64,
	state func(*load) *T, merge func(dst, src *T), encode encodeFunc[T], body *T) error {
	whole := state(&s.draft)
	if l := s.loads[name]; l != nil {
		*whole = *state(l)
	} else {
		*whole = *new(T)
	}
	merge(whole, body)
	if err := judge(s, encode, whole); err != nil {
		return err
	}
	l, err := s.load(name)
	if err != nil {
		return err
	}
	*state(l) = *whole
	l.at[kind] = at
	if l.due[kind] {
		s.coalesced++
		return nil
	}
	s.again(l, kind)
	return nil
}

func (s *slate) reportLaunch(name queueName, r *telemetry.Launch, at int64) error {
	if err := judge(s, telemetry.AppendLaunch, r); err != nil {
		return err
	}
	l, err := s.load(name)
	if err != nil {
		return err
	}
	e, lost := l.route.launches.push(s.cfg.MaxLaunches)
	if lost {
		s.dropped++
	} else {
		s.waiting++
	}
	e.load, e.at = l, at
	counts, fingerprint := e.launch.OpcodeCounts, e.launch.Fingerprint
	e.launch = *r
	e.launch.OpcodeCounts = append(counts[:0], r.OpcodeCounts...)
	e.launch.Fingerprint = append(fingerprint[:0], r.Fingerprint...)
	s.list(l.route)
	return nil
}

func (s *slate) announce(worker string, w *telemetry.Worker, at int64) error {
	if err := judge(s, telemetry.AppendWorker, w); err != nil {
		return err
	}
	a := s.workers[worker]
	if a == nil {
		if len(s.workers) >= s.cfg.MaxQueues {
			s.dropped++
			return fmt.Errorf("%w: %d workers are known", ErrBacklog, len(s.workers))
		}
		a = &announcement{route: s.route(s.names.Worker(worker))}
		a.route.announcement = a
		s.workers[worker] = a
	}
	if a.due {
		s.coalesced++
	}
	a.worker, a.at = *w, at
	a.worker.Capabilities, a.worker.Opcodes = slices.Clone(w.Capabilities), slices.Clone(w.Opcodes)
	s.mark(a)
	return nil
}

func (s *slate) announceAgain() {
	for _, a := range s.workers {
		s.mark(a)
	}
}

func (s *slate) mark(a *announcement) {
	if !a.due {
		a.due = true
		s.waiting++
		s.list(a.route)
	}
}

// again makes a record due that is not.
func (s *slate) again(l *load, kind int) {
	l.due[kind] = true
	s.waiting++
	if !l.listed {
		l.listed = true
		l.route.loads = append(l.route.loads, l)
	}
	s.list(l.route)
}

func (s *slate) list(r *route) {
	if !r.listed {
		r.listed = true
		s.due = append(s.due, r)
	}
}

// refresh makes everything that is known due.
func (s *slate) refresh() {
	for _, a := range s.workers {
		if !a.due {
			s.resent++
			s.mark(a)
		}
	}
	for _, l := range s.loads {
		for kind, at := range l.at {
			if at != 0 && !l.due[kind] {
				s.resent++
				s.again(l, kind)
			}
		}
	}
}

// forget drops a queue and what is due of it.
func (s *slate) forget(name queueName) {
	l := s.loads[name]
	if l == nil {
		return
	}
	delete(s.loads, name)
	for kind := range l.due {
		if l.due[kind] {
			l.due[kind] = false
			s.waiting--
		}
	}
	s.waiting -= l.route.launches.forget(l)
	if l.route.users--; l.route.users == 0 {
		// Should the subject be used again, its numbers must not fall.
		s.floor = max(s.floor, l.route.seq)
		delete(s.subjects, l.route.subject)
	}
}
