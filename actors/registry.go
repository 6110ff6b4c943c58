package actors

import (
	"context"
	"fmt"
	"time"

	"ringmaster/telemetry"
)

// with runs use on a queue's family, made on first use, and keeps it from
// being passivated meanwhile.
func (s *System) with(worker, queue string, use func(*family) error) error {
	for {
		s.mu.RLock()
		if s.closed.Load() {
			s.mu.RUnlock()
			return ErrClosed
		}
		if f := s.families[queueKey{worker, queue}]; f != nil {
			err := use(f)
			s.mu.RUnlock()
			return err
		}
		s.mu.RUnlock()
		if err := s.activate(worker, queue); err != nil {
			return err
		}
	}
}

// activate makes the family of a queue.
func (s *System) activate(worker, queue string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := queueKey{worker, queue}
	if s.closed.Load() || s.families[key] != nil {
		return nil
	}
	if !telemetry.ValidToken(queue) {
		return fmt.Errorf("%w: queue %q", ErrName, queue)
	}
	if len(s.families) >= s.cfg.MaxQueues {
		return fmt.Errorf("%w: %d are active", ErrQueueLimit, len(s.families))
	}
	d, err := s.device(worker)
	if err != nil {
		return err
	}
	f := newFamily(s, d, queue)
	f.cell.touch(s.tick.Load())
	s.families[key] = f
	d.families[queue] = f
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
	d := newDevice(s, worker)
	d.touched = s.tick.Load()
	s.devices[worker] = d
	return d, nil
}

// poke asks every queue of the worker to decide again; System.mu is held.
func (d *device) poke() {
	for _, f := range d.families {
		f.dispatch(f.cell.poke())
	}
}

// beat repeats the last recommendations and passivates what is idle, on one
// ticker for all queues.
func (s *System) beat() {
	ticker := time.NewTicker(s.cfg.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		}
		s.tick.Add(1)
		s.passivate()
		s.mu.RLock()
		for _, f := range s.families {
			s.shell.send(f.policyAddr, beat{})
		}
		s.mu.RUnlock()
	}
}

// passivate gives back the queues, then the workers, that nobody has spoken of
// for IdleAfter. A queue with unsettled work stays.
func (s *System) passivate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := uint64(s.cfg.IdleAfter / s.cfg.Heartbeat)
	now := s.tick.Load()
	for key, f := range s.families {
		if now-f.cell.lastTouched() >= idle && f.waiting.Load() == 0 && f.pending.Load() == 0 {
			s.dismiss(key, f)
		}
	}
	for name, d := range s.devices {
		if now-d.touched >= idle && len(d.families) == 0 && d.worker.Load() == nil {
			delete(s.devices, name)
			s.shell.stop(d.supervisor)
		}
	}
}

func (s *System) dismiss(key queueKey, f *family) {
	f.gone.Store(true)
	delete(s.families, key)
	delete(f.device.families, f.name)
	f.device.touched = s.tick.Load()
	s.retired.add(f.counts())
	s.shell.stop(f.supervisor)
	s.shell.send(f.device.diffusionAddr, forgotten{f})
	if w := f.device.worker.Load(); w != nil {
		s.shell.send(w.self, forgotten{f})
	}
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
			return fmt.Errorf("actors: drain: %w", ctx.Err())
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
		for _, f := range s.families {
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
		for _, d := range s.devices {
			if w := d.worker.Load(); w != nil {
				w.abandon()
			}
		}
	})
}
