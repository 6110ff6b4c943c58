package actors

import (
	"slices"
	"time"
)

// sweepChunk is how many heartbeats are sent before a pause, if there are more queues.
const sweepChunk = 256

// beat looks at every queue once a heartbeat, on one goroutine for all.
func (s *System) beat() {
	ticker := time.NewTicker(s.cfg.heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			s.tick.Add(1)
			s.sweep()
			s.forgetDevices()
		}
	}
}

// idleTicks is idleAfter in heartbeats.
func (s *System) idleTicks() uint64 { return uint64(s.cfg.idleAfter / s.cfg.heartbeat) }

// sweep repeats the last recommendations, ends quarantines and forgets what is
// idle. The heartbeats of many queues are spread over half of the time to the next
// ones, so that they do not come in one burst.
func (s *System) sweep() {
	s.mu.RLock()
	families := slices.Clone(s.roster)
	s.mu.RUnlock()
	chunks := time.Duration(len(families)/sweepChunk + 1)
	for i, f := range families {
		if i > 0 && i%sweepChunk == 0 {
			select {
			case <-s.stop:
				return
			case <-time.After(s.cfg.heartbeat / 2 / chunks):
			}
		}
		if s.idle(f) {
			s.forget(f)
		}
		f.beat()
	}
}

// beat is the family's part of a heartbeat. A queue repeats its recommendation
// itself, in order with its decisions; a stopped one has it repeated here.
func (f *family) beat() {
	f.life.Lock()
	defer f.life.Unlock()
	if f.gone.Load() {
		return
	}
	q := f.quarantine.Load()
	switch {
	case q == nil:
		f.deliver(f.queueAddr, beat{})
	case time.Now().Before(q.until):
		f.publishOutside(f.repeated(), true)
	default:
		f.release()
	}
}

// idle reports whether nobody has mentioned the queue for IdleAfter and nothing of it is on
// a device here.
func (s *System) idle(f *family) bool {
	return s.tick.Load()-f.cell.lastTouched() >= s.idleTicks() && !f.atWork() && !f.cell.resident()
}

// forget frees an idle queue, if it still is idle once the registry is locked:
// nobody uses a family without holding that lock.
func (s *System) forget(f *family) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle(f) && f.leave() {
		s.remove(f)
	}
}

// leave stops the actors for good, unless they have something to do. Nobody else can
// send to them meanwhile: the family's own actors would have to be busy, all others
// need f.life. A launch under way counts as work that waits, so its news comes later.
func (f *family) leave() bool {
	f.life.Lock()
	defer f.life.Unlock()
	if f.gone.Load() || f.busy.Load() != 0 {
		return false
	}
	f.gone.Store(true)
	f.system.shell.stop(f.supervisor)
	f.tuner.leave()
	f.endQuarantine()
	f.works(false)
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
	s.retired.add(f.cell.totals())
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
