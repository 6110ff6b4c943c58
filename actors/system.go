package actors

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
	"ringmaster/telemetry/complaint"
	"ringmaster/telemetry/decisionlog"
)

// System is all queues and workers of one process.
type System struct {
	cfg       Config
	publisher Publisher
	shell     *shell

	mu              sync.RWMutex // devices, roster, retired; held over folds so that a queue in use is not forgotten
	devices         map[string]*device
	roster          []*family // all queues
	retired         Counts    // of forgotten queues
	introduced      uint64    // queues since the start
	pace, firstPace allowance // of those that become known by telemetry

	stopped  atomic.Int64 // queues that are stopped after panics
	started  time.Time
	tick     atomic.Uint64 // heartbeats since the start
	beatAt   atomic.Int64  // after started, when the newest one came, in ns
	launches atomic.Uint64 // launch numbers, unique over all local workers
	echoes   atomic.Uint64

	config         string          // names cfg.Policy
	spaces         *session.Spaces // of all queues' tuners
	room           *session.Room   // for the tuners of all remote workers' queues
	refusalsMu     sync.Mutex
	refusals       map[string]uint64 // records, by reason
	reportsUntuned atomic.Uint64     // launch reports that the tuner refused
	complain       *complaint.Log

	draining atomic.Bool
	closed   atomic.Bool
	stop     chan struct{}
	ticking  sync.WaitGroup
	once     sync.Once
}

// New starts a system that publishes through pub. Close stops it.
func New(cfg Config, pub Publisher) (*System, error) {
	return start(cfg, pub, tap{})
}

func start(cfg Config, pub Publisher, t tap) (*System, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Meter == nil {
		cfg.Meter = unmetered{}
	}
	if cfg.Adviser == nil {
		cfg.Adviser = unadvised{}
	}
	s := &System{
		cfg: cfg, publisher: pub, shell: newShell(cfg.Logger, t),
		started: time.Now(), devices: make(map[string]*device),
		complain: complaint.New(cfg.Logger), refusals: make(map[string]uint64),
		stop: make(chan struct{}), config: decisionlog.ConfigName(&cfg.Policy), spaces: session.NewSpaces(&cfg.Policy), room: session.NewRoom(remoteTuners, nil),
	}
	s.ticking.Go(s.beat)
	return s, nil
}

// Announce takes over what a worker says of its device and lets its queues
// decide again if that changes their limits. The limits of a local engine win.
func (s *System) Announce(worker string, r *telemetry.Record) error {
	if r.Kind != telemetry.KindWorker {
		return s.refuse(worker, "", r, fmt.Errorf("%w: %v", ErrKind, r.Kind))
	}
	if r.Incarnation == s.cfg.Incarnation {
		s.echoes.Add(1)
		return nil
	}
	changed, err := s.announce(worker, r)
	if err != nil {
		return s.refuse(worker, "", r, err)
	}
	for _, f := range changed {
		f.dispatch(f.cell.requestDecision())
	}
	return nil
}

// announce returns the queues whose decisions depend on what has changed.
func (s *System) announce(worker string, r *telemetry.Record) ([]*family, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.device(worker, true)
	if err != nil {
		return nil, err
	}
	d.mention(s.tick.Load())
	changed, err := d.announce(&r.Header, &r.Worker)
	if err != nil || !changed {
		return nil, err
	}
	return d.queues(), nil
}

// AttachEngine makes a worker local: e executes its work and its limits hold
// whatever is announced. memoryBudget is in bytes, 0 for none.
func (s *System) AttachEngine(worker string, limits policy.Limits, memoryBudget uint64, e Engine) error {
	queues, err := s.attach(worker, limits, memoryBudget, e)
	if err != nil {
		return err
	}
	for _, f := range queues {
		f.dispatch(wakePriority | f.cell.requestDecision())
	}
	return nil
}

func (s *System) attach(worker string, limits policy.Limits, memoryBudget uint64, e Engine) ([]*family, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.device(worker, true)
	if err != nil {
		return nil, err
	}
	if d.worker.Load() != nil {
		return nil, fmt.Errorf("%w: %s", ErrAttached, worker)
	}
	d.attach(limits, memoryBudget, e)
	w := &workerActor{
		system: s, device: d, engine: e,
		lanes: make(map[string]*lane), finished: newFinishedBatches(), tombstones: newTombstones(), freeSince: time.Now(),
	}
	var addresses []address
	d.workerSupervisor, addresses = s.shell.group(worker, member{name: "worker", receiver: w})
	w.self = addresses[0]
	e.OnEnded(func(queue string, done []telemetry.Done) { w.post(&ended{queue, done}) })
	d.worker.Store(w)
	return d.queues(), nil
}

// Submit gives a batch to the engine of a local worker. sentTo is the name that it was sent
// to, and its done record goes out under: the worker's, or that of a pool. settled is called
// exactly once, from any goroutine, possibly before Submit returns. w belongs
// to the system. workSentNs is the sender's clock, for the done record.
func (s *System) Submit(sentTo, worker, queue string, w *telemetry.Work, workSentNs int64, settled func(telemetry.Outcome, error)) {
	outcome, err := telemetry.OutcomeRetry, error(ErrDraining)
	if !s.draining.Load() {
		err = s.with(worker, queue, func(f *family) error {
			actor := f.device.worker.Load()
			if actor == nil {
				outcome = telemetry.OutcomeRefused
				return fmt.Errorf("%w: %s", ErrNoEngine, worker)
			}
			b := &batch{family: f, sentTo: sentTo, work: *w, sentNs: workSentNs, waiters: []func(telemetry.Outcome, error){settled}}
			f.cell.touch(s.tick.Load())
			f.device.mention(s.tick.Load())
			f.waiting.Add(1)
			if !actor.post(b) {
				f.waiting.Add(-1)
				return ErrClosed
			}
			return nil
		})
	}
	if err != nil {
		settled(outcome, err)
	}
}

// Latest returns the last recommendation of a known queue.
func (s *System) Latest(worker, queue string) (telemetry.Recommendation, bool) {
	s.mu.RLock()
	f := s.family(worker, queue)
	s.mu.RUnlock()
	if f == nil {
		return telemetry.Recommendation{}, false
	}
	r := f.newestTold()
	if r == nil {
		return telemetry.Recommendation{}, false
	}
	return *f.recommendation(r), true
}

// Heard takes a message of the store that came by: each queue's last one when the process
// starts, then those of others. Its state is taken over before this process decides for the
// queue, and at once by a queue of a local worker, which launches by it.
func (s *System) Heard(worker, queue string, m *telemetry.Stored) error {
	return s.with(worker, queue, func(f *family) error {
		for {
			was := f.heard.Load()
			if was != nil && was.Recommendation.Decision >= m.Recommendation.Decision {
				return nil // numbers rise along a queue's messages; sequences go back where the stream is made anew
			}
			if f.heard.CompareAndSwap(was, m) {
				if was == nil {
					f.recallFirst(m)
				}
				if was == nil || f.device.worker.Load() != nil {
					f.post(heard{})
				}
				return nil
			}
		}
	})
}

// Reconsider has the queues of a worker, or of all for "", look again whether it is this process
// that decides for them, and whether the store answers.
func (s *System) Reconsider(worker string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, f := range s.roster {
		if worker == "" || f.device.name == worker {
			f.post(owned{})
		}
	}
}

// with runs use on a queue's family, which it makes if necessary, and keeps the
// family from being forgotten meanwhile.
func (s *System) with(worker, queue string, use func(*family) error) error {
	return s.withPaced(worker, queue, false, use)
}

// withPaced is with, for a queue that may have to wait with becoming known.
func (s *System) withPaced(worker, queue string, paced bool, use func(*family) error) error {
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
		if err := s.introduce(worker, queue, paced); err != nil {
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

// introduce makes the family of a queue, unless it is paced and there are too many of them.
func (s *System) introduce(worker, queue string, paced bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() || s.family(worker, queue) != nil {
		return nil
	}
	if !telemetry.ValidToken(queue) {
		return fmt.Errorf("%w: queue %q", ErrName, queue)
	}
	d, err := s.device(worker, false)
	if err != nil {
		return err
	}
	if paced && !s.mayIntroduce(d, time.Now()) {
		return ErrNewQueues
	}
	if !s.roomFor(d) {
		return fmt.Errorf("%w: %d are known", ErrQueueLimit, len(s.roster))
	}
	f := newFamily(s, d, strings.Clone(queue))
	s.introduced++
	f.number = s.introduced
	f.cell.touch(s.tick.Load())
	f.place = int32(len(s.roster))
	s.roster = append(s.roster, f)
	d.families[f.name] = f
	return nil
}

// device returns a worker, made on first use; s.mu is held for writing. announced says that the worker
// itself is there, not only a record of one of its queues.
func (s *System) device(worker string, announced bool) (*device, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	if d := s.devices[worker]; d != nil {
		return d, nil
	}
	if !telemetry.ValidToken(worker) {
		return nil, fmt.Errorf("%w: worker %q", ErrName, worker)
	}
	if !s.roomForWorker(announced) {
		return nil, fmt.Errorf("%w: %d are known", ErrWorkerLimit, len(s.devices))
	}
	d := newDevice(s, strings.Clone(worker))
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
