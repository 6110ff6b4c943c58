package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"ringmaster/actors"
	"ringmaster/telemetry"
	"ringmaster/telemetry/complaint"
	"ringmaster/telemetry/decisionlog"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/decided"
	"ringmaster/telemetry/natsio/ownership"
)

const (
	// catchUp bounds how long a node that starts waits for the stream of decisions, and for what is in
	// it. Without them it starts all the same: a decision that is made on too little is not stored.
	catchUp = 5 * time.Second
	// staleAfter is how old a decision may be that a node takes over when it hears of it. Queues of older
	// ones are idle, and known to nobody any more; their next decision meets the last one in the stream.
	staleAfter = 10 * time.Minute
)

// Role is what a node does of deciding and executing.
type Role string

// Roles.
const (
	RoleBoth        Role = "decides and executes"
	RoleDecideOnly  Role = "decides only"
	RoleExecuteOnly Role = "executes what others decide"
)

// role is the role that a configuration asks for.
func (c *Config) role() Role {
	switch {
	case c.Device == nil:
		return RoleDecideOnly
	case c.ExecuteOnly:
		return RoleExecuteOnly
	}
	return RoleBoth
}

// fleet is a node's place among the processes that decide. Its stream and follower are nil where
// decisions are not stored: then a decision counts when it is made, and nobody else may make it.
type fleet struct {
	role     Role
	members  *ownership.Membership
	stream   *decided.Store
	follower *decided.Follower
	unstored error // why there is no stream
}

// ErrRival says that another process decides for the same workers, and that nothing keeps the two apart.
var ErrRival = errors.New("another process decides for the same workers")

// openStream begins to store decisions, where the server can.
func (n *Node) openStream(ctx context.Context, cfg *Config, actorCfg *actors.Config) error {
	n.role = cfg.role()
	n.unstored = decided.Check(ctx, n.conn)
	switch {
	case errors.Is(n.unstored, decided.ErrOldServer) || errors.Is(n.unstored, decided.ErrNoJetStream):
		if cfg.ExecuteOnly {
			return fmt.Errorf("no other process can decide for this worker, start it without --execute-only: %w", n.unstored)
		}
		cfg.Log.Warn("decisions are not stored: a restart forgets them, and no other process takes over", "error", n.unstored)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	n.unstored = nil // what else is wrong passes, or is told by the store
	store := decided.DefaultConfig()
	store.Bounds, store.Changed = cfg.Stored, n.advise.storing
	store.Policy, store.PolicyText, store.Log = decisionlog.ConfigName(&cfg.Policy), decisionlog.ConfigText(&cfg.Policy), cfg.Log
	stream, err := decided.Open(n.conn, store)
	if err != nil {
		return err
	}
	n.stream = stream
	actorCfg.Store = n.stream
	if !within(ctx, n.stream.Ready()) {
		cfg.Log.Warn("the stream of decisions is not there yet; decisions are not stored before it is", "error", n.stream.Stats().Problem)
	}
	return nil
}

// join lets the other processes know of this one, and takes over what they have decided.
func (n *Node) join(ctx context.Context, cfg *Config) (err error) {
	claims := ownership.Config{
		Worker: cfg.Name, Role: ownership.RoleDecides, Process: processName(cfg.Name, n.role), Log: cfg.Log, Changed: n.reconsider, Lost: n.advise.lost,
	}
	switch n.role {
	case RoleDecideOnly:
		claims.Worker = ownership.AnyWorker
	case RoleExecuteOnly:
		claims.Role = ownership.RoleFallback
	}
	if n.members, err = ownership.Join(n.conn, claims); err != nil {
		return err
	}
	if n.stream == nil {
		return n.alone(claims.Worker)
	}
	n.stream.OnReady(func() { n.reconsider(ownership.AnyWorker) }) // what waited for the stream
	follow := complaint.New(cfg.Log)
	n.follower, err = decided.Follow(n.conn, claims.Worker, cfg.Log, func(worker, queue string, m *telemetry.Stored) {
		if time.Since(time.Unix(0, m.Header.SentNs)) > staleAfter {
			return
		}
		if err := n.system.Heard(worker, queue, m); err != nil {
			follow.Warn("a stored decision is not taken over", worker, queue, "error", err)
		}
	})
	if err != nil {
		return err
	}
	if !within(ctx, n.follower.CaughtUp()) {
		cfg.Log.Warn("the stored decisions were not read in time; queues go on from them when they decide")
	}
	return ctx.Err()
}

// alone refuses to decide beside another process, where nothing tells the two apart.
func (n *Node) alone(worker string) error {
	for _, c := range n.members.Claims()[1:] {
		if c.Worker == worker && c.Deciding {
			return fmt.Errorf("%w (%s), and without a stream of decisions the two would contradict each other: stop one of them, give them different --worker names, or use a NATS server of version %s or newer with JetStream: %w",
				ErrRival, c.Process, natsio.MinServerVersion, n.unstored)
		}
	}
	return nil
}

// reconsider has queues look again whether this node decides for them.
func (n *Node) reconsider(worker string) {
	if worker == ownership.AnyWorker {
		worker = ""
	}
	n.system.Reconsider(worker)
}

// tellEvery is how often a worker that others decide for looks whether a queue's length is another.
const tellEvery = 10 * time.Millisecond

// tellBacklogs tells others the lengths of this worker's queues where no publisher does: who decides
// elsewhere sees nothing of what was submitted here. It returns what ends that.
func (n *Node) tellBacklogs(worker string) (stop func()) {
	told := newBacklogs()
	return every(tellEvery, func() {
		if !n.conn.NATS().IsConnected() {
			return
		}
		all := func(visit func(queue string, slots uint32)) { n.system.Backlogs(worker, visit) }
		told.round(n.conn.Session(), all, func(queue string, slots uint32) {
			n.outlet.Load(worker, queue, &telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: slots})
		})
	})
}

// backlogs are the lengths of queues that others were told over a connection.
type backlogs struct {
	session   uint64 // of the connection
	told, now map[string]uint32
}

func newBacklogs() *backlogs {
	return &backlogs{told: make(map[string]uint32), now: make(map[string]uint32)}
}

// round tells the lengths that are others than were told. A new connection is told all of them, as
// what was told last may be lost with the old one.
func (b *backlogs) round(session uint64, all func(visit func(queue string, slots uint32)), tell func(queue string, slots uint32)) {
	if session != b.session {
		b.session = session
		clear(b.told)
	}
	clear(b.now)
	all(func(queue string, slots uint32) {
		if was, known := b.told[queue]; !known || was != slots {
			tell(queue, slots)
		}
		b.now[queue] = slots
	})
	b.told, b.now = b.now, b.told
}

// leave ends what takes part in deciding. Decisions under way have their outcome then.
func (f *fleet) leave() {
	if f.members != nil {
		f.members.Close()
	}
	if f.stream != nil {
		f.stream.Close()
	}
}

// within reports whether a channel was closed in time.
func within(ctx context.Context, ready <-chan struct{}) bool {
	ctx, cancel := context.WithTimeout(ctx, catchUp)
	defer cancel()
	select {
	case <-ready:
		return true
	case <-ctx.Done():
		return false
	}
}

// processName tells people which process this is.
func processName(worker string, role Role) string {
	host, _ := os.Hostname() // without it the process number has to do
	return fmt.Sprintf("ringmaster run --worker %s, which %s, on %s, process %d", worker, role, host, os.Getpid())
}

// announcePeriod bounds how long a node that started later, or missed an
// announcement, does not know a worker's limits.
const announcePeriod = 5 * time.Second

// every does something now and then periodically until stopped.
func every(period time.Duration, do func()) (stop func()) {
	do()
	ticker, quit, done := time.NewTicker(period), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ticker.C:
				do()
			case <-quit:
				ticker.Stop()
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}
