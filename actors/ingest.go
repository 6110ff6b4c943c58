package actors

import (
	"errors"
	"fmt"
	"runtime"

	"ringmaster/telemetry"
)

// Ingest folds a queue, graph, priority or launch record of a queue into its
// cell. reply, if not empty, is answered with the next decision. It never
// blocks on a decision and copies what it keeps. The error says why the record
// was refused; an echo of an own launch report or walk is dropped without one.
func (s *System) Ingest(worker, queue string, r *telemetry.Record, reply string) error {
	switch r.Kind {
	case telemetry.KindQueue, telemetry.KindPriority:
	case telemetry.KindLaunch, telemetry.KindGraph: // an own graph record is the copy of a walk
		if r.Incarnation == s.cfg.Incarnation {
			s.echoes.Add(1)
			return nil
		}
	default:
		s.refused.Add(1)
		return fmt.Errorf("%w: %v", ErrKind, r.Kind)
	}
	s.payloads.Add(1)
	err := s.with(worker, queue, func(f *family) error { return f.ingest(r, reply, s.tick.Load()) })
	if err != nil {
		s.refused.Add(1)
	}
	return err
}

// IngestFlat is Ingest for the records of one payload, which all belong to one
// worker and name their queues. refused is called with the index of each record
// that is refused. It returns the number of the others, echoes included.
func (s *System) IngestFlat(worker string, records []telemetry.Flat, refused func(place int, why error)) (taken int) {
	s.payloads.Add(1)
	behind := false
	for done := 0; done < len(records); {
		n, w, err := s.foldAll(worker, records[done:])
		taken, done = taken+n, done+n
		behind = behind || w&fallenBehind != 0
		if err == errUnknownQueue {
			if err = s.introduce(worker, records[done].Header.Queue); err == nil {
				continue
			}
		}
		if err != nil {
			s.refused.Add(1)
			refused(done, err)
			done++
		}
	}
	if behind {
		runtime.Gosched()
	}
	return taken
}

// errUnknownQueue asks for a queue to be introduced.
var errUnknownQueue = errors.New("actors: unknown queue")

// foldAll folds records until one is refused, and returns how many it folded.
func (s *System) foldAll(worker string, records []telemetry.Flat) (folded int, all wakes, why error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed.Load() {
		return 0, 0, ErrClosed
	}
	d := s.devices[worker]
	if d == nil {
		return 0, 0, errUnknownQueue
	}
	tick := s.tick.Load()
	d.folding.Lock()
	defer d.folding.Unlock()
	for i := range records {
		r := &records[i]
		if r.Kind == telemetry.KindGraph && r.Header.Incarnation == s.cfg.Incarnation {
			s.echoes.Add(1)
			continue
		}
		place := &s.found[r.Place%telemetry.TokenPlaces]
		h := place.Load()
		if h == nil || h.device != d || h.name != r.Header.Queue {
			f := d.families[r.Header.Queue]
			if f == nil {
				return i, all, errUnknownQueue
			}
			h = f.cell.hot
			place.Store(h)
		}
		w, err := h.foldFlat(r, tick)
		if err != nil {
			return i, all, err
		}
		if all |= w; w&^fallenBehind != 0 {
			d.folding.Unlock() // an actor's lock is taken before a cell's
			h.family.dispatch(w)
			d.folding.Lock()
		}
	}
	return len(records), all, nil
}

func (f *family) ingest(r *telemetry.Record, reply string, tick uint64) error {
	launch := r.Kind == telemetry.KindLaunch
	if launch && f.device.view.Load().local {
		return ErrForeignLaunch
	}
	w, err := f.cell.fold(r, reply, tick)
	if err != nil {
		return err
	}
	if launch {
		f.device.reports(r.Incarnation)
	}
	f.dispatch(w)
	if w&fallenBehind != 0 {
		runtime.Gosched()
	}
	return nil
}
