package actors

import (
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
