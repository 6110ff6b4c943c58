package actors

import "time"

// sweepChunk is how many queues a sweep looks at before it releases the registry
// and, with more queues than that, pauses.
const sweepChunk = 256

// beat looks at every queue once a heartbeat, on one goroutine for all.
func (s *System) beat() {
	ticker := time.NewTicker(s.cfg.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-s.crowded:
			s.relieve()
		case <-ticker.C:
			s.tick.Add(1)
			s.sweep(s.breathe)
			s.forgetDevices()
		}
	}
}

// parkTicks and idleTicks are ParkAfter and IdleAfter in heartbeats.
func (s *System) parkTicks() uint64 { return uint64(s.cfg.ParkAfter / s.cfg.Heartbeat) }
func (s *System) idleTicks() uint64 { return uint64(s.cfg.IdleAfter / s.cfg.Heartbeat) }

// sweep repeats the last recommendations, parks what is quiet and forgets what
// is idle. It goes through the roster from its end: the place of a forgotten queue
// is taken by one that was already looked at, so each has one turn. breathe is
// called between chunks with the number of chunks, and ends the sweep by returning
// false.
func (s *System) sweep(breathe func(chunks int) bool) {
	s.mu.RLock()
	end := len(s.roster)
	s.mu.RUnlock()
	chunks := (end + sweepChunk - 1) / sweepChunk
	for end > 0 {
		begin := max(0, end-sweepChunk)
		s.forget(s.sweepBetween(begin, end))
		if end = begin; end > 0 && !breathe(chunks) {
			return
		}
	}
}

// sweepBetween has a part of the roster beat and returns what to forget.
func (s *System) sweepBetween(begin, end int) (idle []*family) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now := s.tick.Load()
	for i := min(end, len(s.roster)) - 1; i >= begin; i-- {
		f := s.roster[i]
		if s.idle(f, now) {
			idle = append(idle, f)
			continue
		}
		f.beat(now)
	}
	return idle
}

// breathe spreads the heartbeats of many queues over half of the time to the
// next ones, so that they do not come in one burst.
func (s *System) breathe(chunks int) bool {
	pause := time.NewTimer(s.cfg.Heartbeat / 2 / time.Duration(chunks))
	defer pause.Stop()
	for {
		select {
		case <-s.stop:
			return false
		case <-s.crowded:
			s.relieve()
		case <-pause.C:
			return true
		}
	}
}

// relieve parks quiet queues until a quarter of MaxLive is free again. It goes
// round the roster from where it stopped the last time.
func (s *System) relieve() {
	s.mu.RLock()
	chunks := len(s.roster)/sweepChunk + 2
	s.mu.RUnlock()
	for ; chunks > 0 && s.live.Load() > int64(s.cfg.MaxLive-s.cfg.MaxLive/4); chunks-- {
		s.relieveChunk()
	}
}

func (s *System) relieveChunk() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.hand >= len(s.roster) {
		s.hand = 0
	}
	end := min(s.hand+sweepChunk, len(s.roster))
	for _, f := range s.roster[s.hand:end] {
		f.life.Lock()
		f.park()
		f.life.Unlock()
	}
	s.hand = end
}

// idle reports whether nobody has mentioned the queue for IdleAfter and nothing of it is on
// a device here.
func (s *System) idle(f *family, now uint64) bool {
	return now-f.cell.lastTouched() >= s.idleTicks() && !f.atWork() && !f.cell.resident()
}

// forget frees the queues that are idle, if they still are once the registry is
// locked: nobody uses a family without holding that lock.
func (s *System) forget(idle []*family) {
	if len(idle) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.tick.Load()
	for _, f := range idle {
		if s.idle(f, now) && f.leave() {
			s.remove(f)
		}
	}
}

// leave stops the actors for good, unless they have something to do.
func (f *family) leave() bool {
	f.life.Lock()
	defer f.life.Unlock()
	if !f.park() {
		return false
	}
	f.tuner.leave()
	f.gone.Store(true)
	f.unstop()
	return true
}

// remove takes a queue out of the registry; s.mu is held for writing.
func (s *System) remove(f *family) {
	last := s.roster[len(s.roster)-1]
	s.roster[f.place], last.place = last, f.place
	s.roster[len(s.roster)-1] = nil
	s.roster = s.roster[:len(s.roster)-1]
	delete(f.device.families, f.name)
	f.device.touched = s.tick.Load()
	s.retired.add(f.counts())
	s.shell.send(f.device.diffusionAddr, forgotten{f})
	if w := f.device.worker.Load(); w != nil {
		s.shell.send(w.self, forgotten{f})
	}
}

// forgetDevices frees remote workers that have no queues and that nobody has mentioned
// for IdleAfter.
func (s *System) forgetDevices() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.tick.Load()
	for name, d := range s.devices {
		if now-d.touched >= s.idleTicks() && len(d.families) == 0 && d.worker.Load() == nil {
			delete(s.devices, name)
			s.shell.stop(d.supervisor)
		}
	}
}
