package actors

// A queue has running actors only while it has something to do. Their structs
// are their state and belong to the family, so stopping the actors of a quiet
// queue loses nothing and starting them again is invisible: the same cell, the
// same hysteresis, the same samples, the same decision numbers. Only their
// mailboxes and their entries in the actor library are gone, which take several
// times as much memory as all of that.

// awaken starts the actors of a parked queue; f.life is held.
func (f *family) awaken() {
	if f.supervisor.pid != nil {
		return
	}
	var addresses []address
	f.supervisor, addresses = f.system.shell.group(f.device.name+"."+f.name,
		member{"queue", &f.queue, &f.busy},
		member{"topology", &f.topology, &f.busy},
		member{"policy", &f.policy, &f.busy},
		member{"tuner", &f.tuner, &f.busy},
	)
	f.queueAddr, f.topologyAddr, f.policyAddr, f.tunerAddr = addresses[0], addresses[1], addresses[2], addresses[3]
	if f.system.live.Add(1) > int64(f.system.cfg.MaxLive) {
		select {
		case f.system.crowded <- struct{}{}:
		default: // asked for already
		}
	}
}

// park stops the actors of a queue if none of them has anything to do, and
// reports whether it is parked; f.life is held. Nobody else can send to them
// meanwhile: the family's own actors would have to be busy, all others need
// f.life. A launch under way counts as work that waits, so its news comes later.
func (f *family) park() bool {
	if f.supervisor.pid == nil {
		return true
	}
	if f.busy.Load() != 0 || f.atWork() {
		return false
	}
	f.system.shell.stop(f.supervisor)
	f.supervisor, f.queueAddr, f.topologyAddr, f.policyAddr, f.tunerAddr = address{}, address{}, address{}, address{}, address{}
	f.system.live.Add(-1)
	f.cell.shrink()
	f.policy.outcomes = nil
	f.tuner.park()
	if w := f.device.worker.Load(); w != nil {
		f.system.shell.send(w.self, parked{f})
	}
	return true
}

// atWork reports whether somebody waits for work that the queue has.
func (f *family) atWork() bool { return f.waiting.Load() != 0 || f.pending.Load() != 0 }

// close stops the actors when the system closes, whatever they do. They may
// still send to each other, so their addresses stay.
func (f *family) close() {
	f.life.Lock()
	defer f.life.Unlock()
	if f.supervisor.pid != nil {
		f.system.shell.stop(f.supervisor)
	}
}

// shrink frees buffers that a quiet cell no longer needs.
func (c *cell) shrink() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.replies) == 0 {
		c.replies = nil
	}
	if len(c.timings) == 0 {
		c.timings = nil
	}
	if len(c.outcomes) == 0 {
		c.outcomes = nil
	}
}

// beat is the family's part of a heartbeat: a live queue repeats its
// recommendation itself, in order with its decisions, a parked or stopped one
// has it repeated here, where f.life keeps it from deciding meanwhile.
func (f *family) beat(now uint64) {
	f.life.Lock()
	defer f.life.Unlock()
	if f.gone.Load() {
		return
	}
	stopped := f.stopped.Load() != nil
	if stopped && f.rested() {
		f.resume()
		stopped = false
	}
	if now-f.cell.lastTouched() >= f.system.parkTicks() {
		f.park()
	}
	if !stopped && f.supervisor.pid != nil {
		f.send(policyStage, beat{})
		return
	}
	if s := f.latest.Load(); s != nil {
		f.publishOutside(s, true)
	}
}
