package actors

import (
	"context"
	"fmt"
	"strings"

	"ringmaster/telemetry"
)

// with runs use on a queue's family, which it makes if necessary, and keeps the
// family from being forgotten meanwhile.
func (s *System) with(worker, queue string, use func(*family) error) error {
	for {
		s.mu.RLock()
		if s.closed.Load() {
			s.mu.RUnlock()
			return ErrClosed
		}
		if f := s.family(worker, queue); f != nil {
			err := use(f)
			s.mu.RUnlock()
			return err
		}
		s.mu.RUnlock()
		if err := s.introduce(worker, queue); err != nil {
			return err
		}
	}
}

// family returns a known queue, or nil; s.mu is held.
func (s *System) family(worker, queue string) *family {
	d := s.devices[worker]
	if d == nil {
		return nil
	}
	return d.families[queue]
}

// introduce makes the family of a queue.
func (s *System) introduce(worker, queue string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() || s.family(worker, queue) != nil {
		return nil
	}
	if !telemetry.ValidToken(queue) {
		return fmt.Errorf("%w: queue %q", ErrName, queue)
	}
	if len(s.roster) >= s.cfg.MaxQueues {
		return fmt.Errorf("%w: %d are known", ErrQueueLimit, len(s.roster))
	}
	d, err := s.device(worker)
	if err != nil {
		return err
	}
	f := newFamily(s, d, strings.Clone(queue))
	f.cell.touch(s.tick.Load())
	f.place = int32(len(s.roster))
	s.roster = append(s.roster, f)
	d.families[f.name] = f
	return nil
}

// device returns a worker, made on first use; s.mu is held for writing.
func (s *System) device(worker string) (*device, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	if d := s.devices[worker]; d != nil {
		return d, nil
	}
	if !telemetry.ValidToken(worker) {
		return nil, fmt.Errorf("%w: worker %q", ErrName, worker)
	}
	if len(s.devices) >= s.cfg.MaxWorkers {
		return nil, fmt.Errorf("%w: %d are known", ErrWorkerLimit, len(s.devices))
	}
	d := newDevice(s, strings.Clone(worker))
	d.touched = s.tick.Load()
	s.devices[d.name] = d
	return d, nil
}

// Drain stops launching, waits for the launches under way and the delivery of
// their done records, and lets work that has not run be delivered elsewhere.
// Telemetry is still decided on. It returns the context's error if that ends first.
func (s *System) Drain(ctx context.Context) error {
	s.draining.Store(true)
	var idle []chan struct{}
	s.mu.RLock()
	for _, d := range s.devices {
		if w := d.worker.Load(); w != nil {
			done := make(chan struct{})
			if w.post(&drain{done}) {
				idle = append(idle, done)
			}
		}
	}
	s.mu.RUnlock()
	for _, done := range idle {
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("drain: %w", ctx.Err())
		}
	}
	return nil
}

// Close stops all actors and waits for them; nothing of this package runs
// afterwards. Work that is not settled by then is given back for another
// delivery. Call Drain first to let launches finish.
func (s *System) Close() {
	s.once.Do(func() {
		s.draining.Store(true)
		close(s.stop)
		s.ticking.Wait()
		s.mu.Lock()
		s.closed.Store(true)
		s.shell.closing.Store(true)
		for _, f := range s.roster {
			s.shell.stop(f.supervisor)
		}
		for _, d := range s.devices {
			s.shell.stop(d.supervisor)
			if d.worker.Load() != nil {
				s.shell.stop(d.workerSupervisor)
			}
		}
		s.mu.Unlock()
		s.shell.wait()
		for _, f := range s.roster {
			f.tuner.remember()
		}
		for _, d := range s.devices {
			if w := d.worker.Load(); w != nil {
				w.abandon()
			}
		}
	})
}
