package actors

import (
	"math/bits"
	"slices"
	"time"
)

// sweepChunk is how many heartbeats are sent before a pause, if there are more queues: decisions wait for those of a
// chunk, about 20 µs each.
const sweepChunk = 16

// Bounds of the heartbeats in an interval: those of one worker's queues, and those of all.
const (
	workerBeats = 1 << 11
	allBeats    = 1 << 13
)

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
			s.beatAt.Store(int64(time.Since(s.started)))
			s.spread()
			s.sweep()
			s.forgetDevices()
		}
	}
}

// BeatAt is when the system looked after its queues last, as it does every second.
func (s *System) BeatAt() time.Time { return s.started.Add(time.Duration(s.beatAt.Load())) }

// idleTicks is idleAfter in heartbeats.
func (s *System) idleTicks() uint64 { return uint64(s.cfg.idleAfter / s.cfg.heartbeat) }

// spread says how often the queues of each worker repeat their recommendations: in every interval, or
// in every second one, every fourth and so on where that would be more than the bounds.
func (s *System) spread() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := 0
	for _, d := range s.devices {
		all += min(len(d.families), workerBeats)
	}
	for _, d := range s.devices {
		d.slowTo(atLeast(len(d.families), workerBeats)*atLeast(all, allBeats), s.tick.Load())
	}
}

// atLeast is how many parts of some size hold n, at least one.
func atLeast(n, size int) int { return max(1, (n+size-1)/size) }

// slowTo has the worker's queues repeat their recommendations in every so many intervals, or a few more.
// That number is a power of two. It doubles only after each queue has said that it is valid for as
// long: a recommendation is valid for three times the number, so that none expires meanwhile.
func (d *device) slowTo(intervals int, tick uint64) {
	every := d.every.Load()
	switch wanted := uint64(1) << bits.Len(uint(intervals-1)); {
	case wanted < every:
		d.every.Store(wanted)
	case wanted > every && tick%(2*every) == 0:
		d.every.Store(2 * every)
	}
}

// validForMs is how long a recommendation of the queue may be acted on.
func (f *family) validForMs() uint32 {
	return uint32(3 * f.system.cfg.heartbeat / time.Millisecond * time.Duration(f.device.every.Load()))
}

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
		f.beat((s.tick.Load()+f.number)%f.device.every.Load() == 0)
	}
}

// beat is the family's part of an interval. If it is its turn for a heartbeat, a queue repeats its
// recommendation itself, in order with its decisions; a stopped one has it repeated here.
func (f *family) beat(turn bool) {
	f.life.Lock()
	defer f.life.Unlock()
	if f.gone.Load() {
		return
	}
	q := f.quarantine.Load()
	switch {
	case q != nil && !time.Now().Before(q.until):
		f.release()
	case !turn:
	case q == nil:
		f.deliver(f.queueAddr, beat{})
	default:
		f.publishOutside(f.repeated(), true)
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
	f.device.emptied = s.tick.Load()
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
	for _, d := range s.devices {
		if s.silence(max(d.mentioned.Load(), d.emptied)) >= s.idleTicks() && len(d.families) == 0 && d.worker.Load() == nil {
			s.removeDevice(d)
		}
	}
}

// removeDevice takes a worker without queues out of the registry; s.mu is held for writing.
func (s *System) removeDevice(d *device) {
	delete(s.devices, d.name)
	s.shell.stop(d.supervisor)
}

// A name costs nothing to make up, so whoever makes up many could take all places for queues and
// workers. What the server's permissions guard is a worker's name. So where all places are taken:
//
//   - Queues are shared among workers. A worker with less than its share, all places divided by the
//     workers, takes a place from one that has more. Any other takes that of a queue of its own.
//   - What gives way is what has been silent longest, of some that are looked at, and for silentFor at
//     least unless its worker has more than its share. Nothing gives way that has work or data here.
//   - A worker that announces itself takes the place of one that never has, too.
//
// A new queue also costs the time of several decisions. So they become known by telemetry at a pace. What a flood of names
// cannot use up is the pace of a worker that announced itself, and that of the first queues of workers.
const (
	newQueues, newQueuesAtOnce     = 200, 128 // of all workers, a second and after a pause; see bounds
	firstQueues, firstQueuesAtOnce = 100, 64  // of workers without one
	ownQueues, ownQueuesAtOnce     = 1, 8     // of a worker that announced itself

	// silentFor is the silence after which the publisher of a queue is not live in any case.
	silentFor = 10 * time.Second
	// sampled is how many names are looked at to find one that gives way.
	sampled = 16
)

// silence is how many heartbeats ago something was mentioned.
func (s *System) silence(mentioned uint64) uint64 { return s.tick.Load() - mentioned }

func (s *System) isSilent(mentioned uint64) bool {
	return s.silence(mentioned) >= uint64(silentFor/s.cfg.heartbeat)
}

// roomFor makes room for one more queue of a worker, if it can; s.mu is held for writing.
func (s *System) roomFor(d *device) bool {
	if len(s.roster) < s.cfg.MaxQueues {
		return true
	}
	share, from := s.cfg.MaxQueues/len(s.devices), d
	if len(d.families) < share {
		for _, from = range s.devices {
			if len(from.families) > share {
				break
			}
		}
	}
	f := s.quietest(from)
	if f == nil || from == d && !s.isSilent(f.cell.lastTouched()) || !f.leave() {
		return false
	}
	s.remove(f)
	return true
}

// mayIntroduce says whether one more queue of a worker may become known by telemetry now; s.mu is held for writing.
func (s *System) mayIntroduce(d *device, now time.Time) bool {
	return s.pace.allows(now, s.cfg.newQueues, s.cfg.newQueuesAtOnce) ||
		len(d.families) == 0 && s.firstPace.allows(now, firstQueues, firstQueuesAtOnce) ||
		d.view.Load().known && d.pace.allows(now, ownQueues, ownQueuesAtOnce)
}

// allowance is how often something may happen. The zero value has paused for long.
type allowance struct {
	left float64 // times that it may happen at once
	at   time.Time
}

// allows counts one more time, unless that would be too often.
func (p *allowance) allows(now time.Time, perSecond, atOnce float64) bool {
	p.left, p.at = min(p.left+now.Sub(p.at).Seconds()*perSecond, atOnce), now
	if p.left < 1 {
		return false
	}
	p.left--
	return true
}

// quietest is the queue of a worker that has been silent longest, of some that have no work or
// data here, or nil.
func (s *System) quietest(d *device) (quietest *family) {
	looked := 0
	for _, f := range d.families {
		if looked++; looked > sampled {
			break
		}
		if f.atWork() || f.cell.resident() {
			continue
		}
		if quietest == nil || f.cell.lastTouched() < quietest.cell.lastTouched() {
			quietest = f
		}
	}
	return quietest
}

// roomForWorker makes room for one more worker, if it can; s.mu is held for writing.
func (s *System) roomForWorker(announced bool) bool {
	if len(s.devices) < s.cfg.maxWorkers {
		return true
	}
	var least *device
	looked := 0
	for _, d := range s.devices {
		if looked++; looked > sampled {
			break
		}
		if d.worker.Load() == nil && (s.isSilent(d.mentioned.Load()) || announced && !d.view.Load().known) && (least == nil || d.before(least)) {
			least = d
		}
	}
	if least == nil {
		return false
	}
	for _, f := range least.queues() {
		if !f.leave() {
			return false
		}
		s.remove(f)
	}
	s.removeDevice(least)
	return true
}

// before says whether a worker gives way before another: one that never announced itself does, then
// the one that has been silent longer.
func (d *device) before(o *device) bool {
	if known, other := d.view.Load().known, o.view.Load().known; known != other {
		return other
	}
	return d.mentioned.Load() < o.mentioned.Load()
}
