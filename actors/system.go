package actors

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
	"ringmaster/telemetry/complaint"
)

// System is all queues and workers of one process.
type System struct {
	cfg       Config
	publisher Publisher
	shell     *shell

	mu      sync.RWMutex // devices, roster, retired; held over folds so that a queue in use is not forgotten
	devices map[string]*device
	roster  []*family // all queues
	retired Counts    // of forgotten queues

	stopped  atomic.Int64  // queues that are stopped after panics
	tick     atomic.Uint64 // heartbeats since the start
	launches atomic.Uint64 // launch numbers, unique over all local workers
	echoes   atomic.Uint64

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
	s := &System{
		cfg: cfg, publisher: pub, shell: newShell(cfg.Logger, t),
		devices:  make(map[string]*device),
		complain: complaint.New(cfg.Logger), refusals: make(map[string]uint64),
		stop: make(chan struct{}), spaces: session.NewSpaces(&cfg.Policy), room: session.NewRoom(remoteTuners, nil),
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
	d, err := s.device(worker)
	if err != nil {
		return nil, err
	}
	d.touched = s.tick.Load()
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
	d, err := s.device(worker)
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
	if ender, ok := e.(Ender); ok {
		ender.OnEnded(func(queue string, done []telemetry.Done) { w.post(&ended{queue, done}) })
	}
	d.worker.Store(w)
	return d.queues(), nil
}

// Submit gives a batch to the engine of a local worker. settled is called
// exactly once, from any goroutine, possibly before Submit returns. w may be
// reused after the call. workSentNs is the sender's clock, for the done record.
func (s *System) Submit(worker, queue string, w *telemetry.Work, workSentNs int64, settled func(telemetry.Outcome, error)) {
	outcome, err := telemetry.OutcomeRetry, error(ErrDraining)
	if !s.draining.Load() {
		err = s.with(worker, queue, func(f *family) error {
			actor := f.device.worker.Load()
			if actor == nil {
				outcome = telemetry.OutcomeRefused
				return fmt.Errorf("%w: %s", ErrNoEngine, worker)
			}
			b := &batch{family: f, work: *w, sentNs: workSentNs, waiters: []func(telemetry.Outcome, error){settled}}
			b.work.Slots = append([]telemetry.Slot(nil), w.Slots...)
			f.cell.touch(s.tick.Load())
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
	r := f.latest.Load()
	if r == nil {
		return telemetry.Recommendation{}, false
	}
	return *r.recommendation(s.cfg.validForMs()), true
}
