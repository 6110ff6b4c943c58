package natsio

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// Every runtime hears the telemetry of all workers, and no two of them may answer one
// record. So each says on one subject, <prefix>.decider, for which workers it decides:
// for its own, or as AnyWorker for all that have no runtime of their own. Of two that
// claim the same, the one that decides already goes on, and of two that decide, the
// one that started first; the other stands by and takes over when the claim has been
// silent for claimLife. There is no consensus in this: a network that is cut in two has a
// decider on each side until it is whole again.

// AnyWorker claims every worker that no other runtime claims by its name.
const AnyWorker = "*"

const (
	claimEvery   = time.Second
	claimLife    = 3 * claimEvery
	claimAnswers = 250 * time.Millisecond // for the answers of those who are there already
	maxClaim     = 1 << 10                // bytes
	maxRivals    = 1024
)

// Claim is what a runtime says about the workers that it decides for.
type Claim struct {
	Incarnation uint64 `json:"incarnation,string"`
	Worker      string `json:"worker"`   // a name, or AnyWorker
	Deciding    bool   `json:"deciding"` // and does not stand by
	SinceNs     int64  `json:"since_ns"` // start of the process, Unix nanoseconds by its own clock
	Process     string `json:"process"`  // for people
}

// before reports whether c keeps the workers that both claim. Both sides compare the
// same values, so they agree.
func (c *Claim) before(o *Claim) bool {
	switch {
	case c.Deciding != o.Deciding:
		return c.Deciding
	case c.SinceNs != o.SinceNs:
		return c.SinceNs < o.SinceNs
	}
	return c.Incarnation < o.Incarnation
}

// Verdict is who decides for a worker.
type Verdict uint8

// Verdicts.
const (
	DecidesNobody Verdict = iota
	DecidesAnother
	DecidesThis // this process
)

// rival is what another process claims.
type rival struct {
	Claim
	heard time.Time
}

// verdict is who decides for a worker, given this process's claim and those of others.
func verdict(own *Claim, rivals map[uint64]rival, worker string) Verdict {
	covered, named := false, false
	for _, r := range rivals {
		covered = covered || r.Worker == worker || r.Worker == AnyWorker
		named = named || r.Worker == worker
	}
	switch {
	case own.Deciding && (own.Worker == worker || own.Worker == AnyWorker && !named):
		return DecidesThis
	case covered || own.Worker == worker || own.Worker == AnyWorker:
		return DecidesAnother
	}
	return DecidesNobody
}

// leader is the rival that keeps this process from deciding, or nil.
func leader(own *Claim, rivals map[uint64]rival) *Claim {
	for _, r := range rivals {
		if r.Worker == own.Worker && r.before(own) {
			return &r.Claim
		}
	}
	return nil
}

// Deciders knows which workers this process decides for. The nil Deciders decides for all.
type Deciders struct {
	conn    *Conn
	subject string
	sub     *nats.Subscription
	quit    chan struct{}
	ended   chan struct{}
	asked   bool // of ask and its goroutine

	mu     sync.RWMutex
	own    Claim
	rivals map[uint64]rival // by incarnation
	ledBy  uint64           // incarnation that decides for the claimed workers; 0: not known yet
}

// Claim begins to decide for a worker, or for AnyWorker. With a connection it returns when
// it is known who decides already, at most claimAnswers later; without one this process
// stands by until there is one. process is shown to people.
func (c *Conn) Claim(worker, process string) (*Deciders, error) {
	if worker != AnyWorker && !telemetry.ValidToken(worker) {
		return nil, fmt.Errorf("%w: worker %q", ErrBadName, worker)
	}
	d := &Deciders{
		conn: c, subject: c.prefix() + ".decider", quit: make(chan struct{}), ended: make(chan struct{}),
		own:    Claim{Incarnation: c.cfg.Incarnation, Worker: worker, SinceNs: time.Now().UnixNano(), Process: clip(process, telemetry.MaxText)},
		rivals: make(map[uint64]rival),
	}
	status := c.nc.StatusChanged(nats.CONNECTED)
	d.ask()
	go d.run(status)
	return d, nil
}

// Who says who decides for a worker. It costs a look into a map.
func (d *Deciders) Who(worker string) Verdict {
	if d == nil {
		return DecidesThis
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return verdict(&d.own, d.rivals, worker)
}

// Claims returns this process's claim, then those of others.
func (d *Deciders) Claims() []Claim {
	d.mu.RLock()
	defer d.mu.RUnlock()
	all := []Claim{d.own}
	for _, r := range d.rivals {
		all = append(all, r.Claim)
	}
	return all
}

// Close ends the claim. Others take over when they miss it.
func (d *Deciders) Close() {
	close(d.quit)
	<-d.ended
}

// ask finds out who decides already, and then begins to decide and to answer others.
func (d *Deciders) ask() {
	if d.asked || !d.conn.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), claimAnswers)
	defer cancel()
	answers, err := d.conn.nc.SubscribeSync(d.conn.nc.NewInbox())
	if err != nil {
		return
	}
	defer func() { _ = answers.Unsubscribe() }()
	if d.conn.nc.PublishRequest(d.subject, answers.Subject, d.message()) != nil {
		return
	}
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil { // nobody is there, or all have answered
			break
		}
		d.hear(m.Data)
	}
	d.settle()
	if d.sub, err = d.conn.nc.Subscribe(d.subject, d.answer); err != nil {
		return
	}
	d.asked = true
	d.say() // to those who began at the same time
	d.conn.settle()
}

// run repeats the claim.
func (d *Deciders) run(status chan nats.Status) {
	defer close(d.ended)
	defer d.conn.nc.RemoveStatusListener(status)
	tick := time.NewTicker(claimEvery)
	defer tick.Stop()
	for {
		select {
		case <-d.quit:
			if d.sub != nil {
				_ = d.sub.Unsubscribe() // fails only if the connection is closed, which unsubscribes too
			}
			return
		case <-status:
			d.ask()
		case <-tick.C:
			d.ask()
			d.forget(time.Now())
		}
		if d.asked {
			d.settle()
			d.say()
		}
	}
}

// answer handles the claim of another process. A newcomer's is answered at once.
func (d *Deciders) answer(m *nats.Msg) {
	news := d.hear(m.Data)
	d.settle()
	switch {
	case m.Reply != "" && answerable(m.Reply):
		_ = d.conn.publish(m.Reply, d.message())
	case news:
		d.say()
	}
}

// say publishes the claim. One that is lost is followed by the next.
func (d *Deciders) say() { _ = d.conn.publish(d.subject, d.message()) }

func (d *Deciders) message() []byte {
	d.mu.RLock()
	defer d.mu.RUnlock()
	b, _ := json.Marshal(&d.own) // a struct of plain values does not fail
	return b
}

// hear takes note of a claim and reports whether its process was unknown.
func (d *Deciders) hear(data []byte) (news bool) {
	var c Claim
	if len(data) > maxClaim || json.Unmarshal(data, &c) != nil || c.Incarnation == 0 ||
		c.Worker != AnyWorker && !telemetry.ValidToken(c.Worker) {
		return false
	}
	c.Process = clip(c.Process, telemetry.MaxText)
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.rivals[c.Incarnation]
	if c.Incarnation == d.own.Incarnation || !known && len(d.rivals) == maxRivals {
		return false
	}
	d.rivals[c.Incarnation] = rival{c, time.Now()}
	return !known
}

// forget drops the claims that have been silent for too long. Without a connection
// nothing is heard, and nobody is forgotten for it.
func (d *Deciders) forget(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for incarnation, r := range d.rivals {
		switch {
		case !d.conn.nc.IsConnected():
			d.rivals[incarnation] = rival{r.Claim, now}
		case now.Sub(r.heard) > claimLife:
			delete(d.rivals, incarnation)
		}
	}
}

// settle decides whether this process decides or stands by, and logs every change.
func (d *Deciders) settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := leader(&d.own, d.rivals)
	d.own.Deciding = first == nil
	ledBy := d.own.Incarnation
	if first != nil {
		ledBy = first.Incarnation
	}
	if ledBy == d.ledBy {
		return
	}
	d.ledBy = ledBy
	if first == nil {
		d.conn.cfg.Logger.Info("this process decides", "worker", d.own.Worker)
		return
	}
	d.conn.cfg.Logger.Warn("another process decides for these workers; this one stands by until that ends",
		"worker", d.own.Worker, "process", first.Process, "incarnation", fmt.Sprintf("%x", first.Incarnation))
}
