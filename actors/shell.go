package actors

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// shell is the actor library as this package uses it: spawn a supervised group,
// send, stop. Only this file knows which library that is. Nothing else of the
// library is used: its bounded mailboxes burn a core when they are full, its
// receive timeouts race, and its back-off strategies do not back off.
type shell struct {
	system      *actor.ActorSystem
	log         *slog.Logger
	deadLetters atomic.Uint64
	restarts    atomic.Uint64
	running     sync.WaitGroup // every actor from spawn to stopped
	closing     atomic.Bool    // actors stop in any order: letters to the dead are expected
	runners     *runners
	tap         tap
}

// tap sees every message before and after its receiver. Tests use it to record
// transcripts and to panic in an actor.
type tap struct {
	before, after func(actor string, msg message) // nil: nothing to do
}

// address is where an actor receives messages.
type address struct {
	pid  *actor.PID
	busy *atomic.Int64 // of the member, may be nil
}

// receiver is the behaviour and the whole state of one actor.
type receiver interface {
	receive(msg message)
	// restarted runs after a panic, with the state as the panic left it and
	// the message that was being handled.
	restarted(lost message)
}

// member names one actor of a group.
type member struct {
	name string
	receiver
	busy *atomic.Int64 // messages sent to it and not handled, nil if nobody counts
}

func newShell(log *slog.Logger, t tap) *shell {
	s := &shell{log: log, runners: newRunners(), tap: t}
	s.system = actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }),
		// After a dead letter the library's log keeps a goroutine for this long.
		// The count below needs no throttle.
		actor.WithDeadLetterThrottleInterval(time.Millisecond),
	)
	s.system.EventStream.Subscribe(func(event any) {
		letter, ok := event.(*actor.DeadLetterEvent)
		if !ok {
			return
		}
		if _, ours := letter.Message.(message); ours && !s.closing.Load() {
			s.deadLetters.Add(1)
		}
	})
	return s
}

// group spawns members under a supervisor of their own and returns the
// supervisor and the members' addresses in order. All are ready to receive.
func (s *shell) group(name string, members ...member) (address, []address) {
	addresses := make([]address, 0, len(members))
	spawnAll := func(ctx actor.Context) {
		for _, m := range members {
			a := &adapter{shell: s, member: m}
			s.running.Add(1)
			props := actor.PropsFromProducer(func() actor.Actor { return a }, actor.WithDispatcher(s.runners))
			addresses = append(addresses, address{ctx.SpawnPrefix(props, m.name), m.busy})
		}
	}
	idle := actor.PropsFromFunc(func(actor.Context) {}, actor.WithOnInit(spawnAll), actor.WithSupervisor(restartAlways{s}))
	supervisor := s.system.Root.SpawnPrefix(idle, name)
	return address{pid: supervisor}, addresses
}

func (s *shell) send(to address, msg message) {
	if to.busy != nil {
		to.busy.Add(1)
	}
	s.system.Root.Send(to.pid, msg)
}

// stop stops a group. Messages in its mailboxes are not handled any more.
func (s *shell) stop(supervisor address) { s.system.Root.Stop(supervisor.pid) }

// wait returns when every actor has stopped; no receiver runs after that.
func (s *shell) wait() {
	s.running.Wait()
	s.system.Shutdown()
	s.runners.close()
}

// adapter is the actor that the library sees. Its producer always returns the
// same adapter, which is how the state survives a restart.
type adapter struct {
	member
	shell      *shell
	inHand     message
	restarting bool
}

// Receive implements the library's actor interface.
func (a *adapter) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case message:
		a.inHand = msg
		if t := a.shell.tap.before; t != nil {
			t(a.name, msg)
		}
		a.receive(msg)
		if t := a.shell.tap.after; t != nil {
			t(a.name, msg)
		}
		a.handled()
	case *actor.Restarting:
		a.restarting = true
	case *actor.Started:
		if a.restarting {
			a.restarting = false
			a.restarted(a.inHand)
			a.handled()
		}
	case *actor.Stopped:
		a.shell.running.Done()
	}
}

// handled ends the message in hand. The receiver's state is not touched any
// more until the next one.
func (a *adapter) handled() {
	a.inHand = nil
	if a.busy != nil {
		a.busy.Add(-1)
	}
}

// restartAlways restarts a member that panicked, at once and without limit: the
// state is kept, and the member paces itself by its own back-off.
type restartAlways struct{ shell *shell }

// HandleFailure implements the library's supervision strategy.
func (r restartAlways) HandleFailure(_ *actor.ActorSystem, supervisor actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, msg any) {
	r.shell.restarts.Add(1)
	r.shell.log.Error("actor panicked and restarts with its state", "actor", child.GetId(), "error", reason, "message", slog.AnyValue(msg).Kind().String())
	supervisor.RestartChildren(child)
}

// maxRunners is how many actors handle messages at the same time. It is more than there are processors, because a
// receiver may wait for a lock.
const maxRunners = 64

// runners are the goroutines on which actors handle messages. They stay, and so do their stacks: in a goroutine of
// its own for each message, as the library has it, growing the stack took a sixth of the time of a decision.
type runners struct {
	mu     sync.Mutex
	wake   *sync.Cond
	ready  []func() // of actors that have messages, the oldest first
	all    int
	idle   int // of all, those that wait to be woken
	closed bool
}

func newRunners() *runners {
	r := &runners{}
	r.wake = sync.NewCond(&r.mu)
	return r
}

// Schedule implements the library's dispatcher.
func (r *runners) Schedule(handle func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = append(r.ready, handle)
	switch {
	case len(r.ready) <= r.idle:
		r.wake.Signal()
	case r.all < maxRunners:
		r.all++
		go r.run()
	}
}

// Throughput implements the library's dispatcher: after so many messages in a row an actor lets other goroutines run.
func (r *runners) Throughput() int { return 300 }

// run handles the messages of one actor after the other.
func (r *runners) run() {
	r.mu.Lock()
	for {
		for len(r.ready) == 0 {
			if r.closed {
				r.all--
				r.mu.Unlock()
				return
			}
			r.idle++
			r.wake.Wait()
			r.idle--
		}
		handle := r.ready[0]
		r.ready[0] = nil
		r.ready = r.ready[1:]
		r.mu.Unlock()
		handle()
		r.mu.Lock()
	}
}

// close ends the goroutines once nothing is ready.
func (r *runners) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.wake.Broadcast()
}
