package ownership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry/complaint"
	"ringmaster/telemetry/natsio"
)

// claimAnswers is how long others have to answer a process that starts.
const claimAnswers = 250 * time.Millisecond

// claimsToken ends the subject on which the claims of others are asked for.
const claimsToken = "claims"

// ErrBadClaim says that a claim names no worker, or a role that there is not.
var ErrBadClaim = errors.New("bad claim")

// Config says what a process claims.
type Config struct {
	Worker  string // a name, or AnyWorker
	Role    Role
	Process string // for people, at most 256 bytes
	Log     *slog.Logger
	// Changed is called when the owner of a worker may be another than before, with AnyWorker for
	// all. It must not block, and several goroutines call it. Nil: nobody is told.
	Changed func(worker string)
	// Lost is called when a process that decided is gone without handing over, with why. Of all processes that could
	// decide in its place one is told. It must not block. Nil: nobody is told.
	Lost func(c Claim, why string)
}

// Membership is the place of this process among those that decide. Its methods may be called concurrently.
type Membership struct {
	conn    *natsio.Conn
	cfg     Config
	subject string // of this process's claim
	inbox   string // below it come answers: on "claims" those of others, else that the incarnation named lives
	roster  atomic.Pointer[Roster]

	complaints *complaint.Log

	subs     []*nats.Subscription
	requests *nats.Subscription // of those who ask whether this process lives

	period      time.Duration // of looks at the peers
	alone       chan struct{} // the server says that nobody else listens for claims
	left        atomic.Bool   // it has handed over, and says nothing more
	quit, ended chan struct{}

	mu    sync.Mutex
	peers peers
}

// Join finds out who decides already, and lets others know of this process, which does not decide
// before Begin. With a connection it returns when the others have had claimAnswers to answer, or at once
// if there are none; without one, at once.
func Join(conn *natsio.Conn, cfg Config) (*Membership, error) {
	own := Claim{
		Incarnation: conn.Incarnation(), Worker: cfg.Worker, Role: cfg.Role, SinceNs: time.Now().UnixNano(), Process: clip(cfg.Process),
	}
	if _, err := parse(own.text()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadClaim, err)
	}
	m := &Membership{
		conn: conn, cfg: cfg, subject: subjectOf(conn.Subjects().Root(), cfg.Worker), inbox: conn.NATS().NewInbox(),
		complaints: complaint.New(cfg.Log),
		quit:       make(chan struct{}), ended: make(chan struct{}), alone: make(chan struct{}, 1),
		peers: peers{own: own, known: make(map[uint64]*peer), ticked: time.Now()},
	}
	m.period = m.peers.period()
	m.roster.Store(newRoster([]Claim{own}))
	status := conn.NATS().StatusChanged()
	if err := m.begin(); err != nil {
		conn.NATS().RemoveStatusListener(status)
		m.unsubscribe()
		return nil, fmt.Errorf("claim workers: %w", err)
	}
	go m.run(status)
	return m, nil
}

// begin subscribes, and waits for the claims of others. It listens for claims only after it has asked
// for them, because the server then says at once if nobody else does.
func (m *Membership) begin() (err error) {
	if err = m.subscribe(m.inbox+".*", m.onAnswer); err != nil {
		return err
	}
	if err = m.subscribe(m.node(m.conn.Incarnation()), m.onRequest); err != nil {
		return err
	}
	m.requests = m.subs[len(m.subs)-1]
	if m.meet() == nil {
		select {
		case <-m.alone:
		case <-time.After(claimAnswers):
		}
	}
	all := subjectOf(m.conn.Subjects().Root(), AnyWorker)
	if err = errors.Join(m.subscribe(all, m.onClaim), m.subscribe(all+".*", m.onClaim)); err != nil {
		return err
	}
	_ = m.conn.Flush(context.Background()) // without a connection, the next one begins with the subscriptions
	return nil
}

func (m *Membership) subscribe(subject string, handle nats.MsgHandler) error {
	sub, err := m.conn.NATS().Subscribe(subject, handle)
	if err != nil {
		return fmt.Errorf("subscribe %s: %w", subject, err)
	}
	m.subs = append(m.subs, sub)
	return nil
}

func (m *Membership) unsubscribe() {
	for _, sub := range m.subs {
		_ = sub.Unsubscribe() // fails only if the connection is closed or it is done already
	}
}

// node is the subject on which a process answers that it lives.
func (m *Membership) node(incarnation uint64) string {
	return m.conn.Subjects().Root() + ".node." + strconv.FormatUint(incarnation, 16)
}

// Begin lets this process decide for the workers that are its.
func (m *Membership) Begin() { m.decide(true) }

// HandOver leaves the workers of this process to others, if there are any. It returns when the server
// has told them, or with ctx.
func (m *Membership) HandOver(ctx context.Context) {
	m.decide(false)
	m.left.Store(true)
	_ = m.requests.Unsubscribe() // fails only if the connection is closed, which unsubscribes too
	_ = m.conn.Flush(ctx)        // without a connection there is nobody to tell
}

func (m *Membership) decide(deciding bool) {
	m.update(func(p *peers) { p.own.Deciding, p.stale = deciding, true })
	m.say()
	m.changed(m.cfg.Worker)
}

// Close ends the membership. Others take over what was not handed over when they miss it.
func (m *Membership) Close() {
	close(m.quit)
	<-m.ended
}

// Part is the part of this process in the decisions for a worker. It costs a look into a map.
func (m *Membership) Part(worker string) natsio.Part {
	owner := m.roster.Load().Owner(worker)
	switch {
	case owner != nil && owner.Incarnation == m.conn.Incarnation():
		return natsio.PartDecides
	case m.cfg.Worker == worker || m.cfg.Worker == AnyWorker:
		return natsio.PartFollows
	case owner != nil:
		return natsio.PartElsewhere
	}
	return natsio.PartNone
}

// Owns reports whether this process decides for a worker.
func (m *Membership) Owns(worker string) bool { return m.Part(worker) == natsio.PartDecides }

// Claims returns this process's claim, then those of others that count.
func (m *Membership) Claims() []Claim {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.peers.claims(m.conn.NATS().IsConnected())
}

// Owner returns the claim of the process that decides for a worker, nil if nobody does.
func (m *Membership) Owner(worker string) *Claim { return m.roster.Load().Owner(worker) }

// run keeps the claim and the peers up to date.
func (m *Membership) run(status chan nats.Status) {
	defer close(m.ended)
	defer m.unsubscribe()
	defer m.conn.NATS().RemoveStatusListener(status)
	tick := time.NewTicker(m.period)
	defer tick.Stop()
	for said := time.Now(); ; {
		select {
		case <-m.quit:
			return
		case <-status:
			m.reconnected()
			continue
		case <-tick.C:
		}
		m.tick()
		if now := time.Now(); now.Sub(said) >= claimEvery {
			said = now
			m.say()
		}
	}
}

// reconnected looks at a connection that came or went.
func (m *Membership) reconnected() {
	if m.conn.NATS().IsConnected() {
		_ = m.meet() // fails only if the connection is gone again; the next one follows
	}
	m.update(func(p *peers) { p.stale = true })
	m.changed(AnyWorker)
}

// tick asks those peers that have to be asked.
func (m *Membership) tick() {
	now := time.Now()
	if !m.conn.NATS().IsConnected() {
		m.update(func(p *peers) { p.parted(now) })
		return
	}
	var ask []uint64
	m.update(func(p *peers) { ask = p.tick(now) })
	for _, incarnation := range ask {
		m.ask(incarnation)
	}
}

// ask asks a process whether it lives. A request that is lost counts as one without an answer.
func (m *Membership) ask(incarnation uint64) {
	_ = m.conn.PublishRequest(m.node(incarnation), m.inbox+"."+strconv.FormatUint(incarnation, 16), nil)
}

// meet says the claim and asks everybody for theirs.
func (m *Membership) meet() error {
	return m.conn.PublishRequest(m.subject, m.inbox+"."+claimsToken, m.text())
}

// say says the claim. One that is lost is followed by the next.
func (m *Membership) say() {
	if !m.left.Load() {
		_ = m.conn.PublishRequest(m.subject, "", m.text())
	}
}

func (m *Membership) text() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.peers.own.text()
}

// onRequest answers a process that asks whether this one lives.
func (m *Membership) onRequest(r *nats.Msg) {
	if m.conn.MayAnswer(r) {
		_ = m.conn.PublishRequest(r.Reply, "", nil) // one that is lost is asked for again
	}
}

// onClaim takes note of a claim, and tells who says it of this process's. Who may claim which worker is a
// matter of the server's permissions, so a claim counts on its own subject only.
func (m *Membership) onClaim(r *nats.Msg) {
	m.hear(r.Data, r.Subject)
	if m.conn.MayAnswer(r) {
		_ = m.conn.PublishRequest(r.Reply, "", m.text())
	}
}

// onAnswer takes note of what a process answered, or of the server, that nobody listens.
func (m *Membership) onAnswer(r *nats.Msg) {
	token := r.Subject[len(m.inbox)+1:]
	nobody := r.Header.Get("Status") == "503" && len(r.Data) == 0
	if token == claimsToken {
		if nobody {
			select {
			case m.alone <- struct{}{}:
			default: // known already
			}
			return
		}
		m.hear(r.Data, "")
		return
	}
	incarnation, err := strconv.ParseUint(token, 16, 64)
	if err != nil {
		return // nobody was asked under that name
	}
	m.update(func(p *peers) {
		if nobody {
			p.gone(incarnation)
		} else {
			p.answered(incarnation)
		}
	})
}

// hear takes note of a claim that came on a subject, "" for an answer to this process.
func (m *Membership) hear(text []byte, on string) {
	c, err := parse(text)
	if err == nil && on != "" && on != subjectOf(m.conn.Subjects().Root(), c.Worker) {
		err = errSubject
	}
	if err != nil {
		m.complaints.Warn("a claim of who decides is malformed and does not count", "", "", "error", err)
		return
	}
	ask := false
	m.update(func(p *peers) { ask = p.hear(c, time.Now()) })
	if ask {
		m.ask(c.Incarnation)
	}
}

// update changes what is known of the peers, and tells of what came of that.
func (m *Membership) update(change func(*peers)) {
	m.mu.Lock()
	change(&m.peers)
	events, lost := m.peers.events, m.peers.lost()
	if m.peers.stale {
		m.roster.Store(newRoster(m.peers.claims(m.conn.NATS().IsConnected())))
	}
	m.peers.events, m.peers.stale = nil, false
	m.mu.Unlock()
	for _, e := range events {
		m.log(e)
		m.changed(e.claim.Worker)
	}
	for _, e := range lost {
		if m.cfg.Lost != nil {
			m.cfg.Lost(e.claim, e.what)
		}
	}
}

// log tells people of a change. Workers come and go in numbers, and decide for themselves.
func (m *Membership) log(e event) {
	level := slog.LevelDebug
	switch {
	case e.what == peerHung, e.what == peerJoined && e.claim.Worker == m.cfg.Worker && e.claim.Worker != AnyWorker: // two of one name
		level = slog.LevelWarn
	case e.claim.Worker == AnyWorker || e.claim.Worker == m.cfg.Worker:
		level = slog.LevelInfo
	}
	m.cfg.Log.Log(context.Background(), level, "another process that decides "+e.what, "worker", e.claim.Worker, "role", e.claim.Role,
		"process", e.claim.Process, "incarnation", e.claim.Incarnation)
}

func (m *Membership) changed(worker string) {
	if m.cfg.Changed != nil {
		m.cfg.Changed(worker)
	}
}
