package ownership

import "time"

const (
	claimEvery = time.Second
	claimLife  = 3 * claimEvery
	// askEvery is how often a process for all workers asks its peers whether they live. The others
	// ask with every claim.
	askEvery = 25 * time.Millisecond
	// hungAfter is how long a peer may leave requests unanswered before it is presumed hung; by name it is three claims.
	// The next request does not wait for that: the one on its way when a process dies is never answered, and only to one
	// after it the server says that nobody listens.
	hungAfter = 150 * time.Millisecond
	// stall is how much later than due a process looks at its peers that was stopped itself.
	stall = 50 * time.Millisecond
	// maxPeers bounds the claims that are known, and maxAsked those among them that are asked.
	// A process asks those that claim all workers, or its own: a few.
	maxPeers, maxAsked = 4096, 64
)

// peer is another process, as far as it is known.
type peer struct {
	Claim
	heard time.Time // when it said its claim last
	watch bool      // it is asked whether it lives, and counts only while it answers
	lives bool      // it has answered, and is not hung
	hung  bool      // it has left requests unanswered for hungAfter since it answered
	asked time.Time // of the first request since it answered, zero for none
}

// counts reports whether the peer's claim is one of the roster.
func (p *peer) counts() bool { return p.lives || !p.watch }

// event is a change of the roster.
type event struct {
	what  string // for people
	claim Claim
}

// What happens to a peer.
const (
	peerJoined  = "joined"
	peerEnded   = "ended"
	peerSilent  = "fell silent"
	peerHung    = "does not answer"
	peerAnswers = "answers again"
	peerHands   = "hands over"
	peerDecides = "begins to decide"
	peerUnknown = "is out of reach"
)

// peers is what a process knows of the others, a value that time is passed to.
type peers struct {
	own    Claim
	known  map[uint64]*peer // by incarnation
	asked  int              // how many are watched
	ticked time.Time
	events []event // since they were taken
	stale  bool    // the roster is, since it was made
}

// tell notes a change of the roster.
func (p *peers) tell(what string, k *peer) {
	p.events, p.stale = append(p.events, event{what, k.Claim}), true
}

// hear takes note of a claim, and reports whether its process has to be asked now whether it lives.
func (p *peers) hear(c Claim, now time.Time) (ask bool) {
	if c.Incarnation == p.own.Incarnation {
		return false
	}
	if k := p.known[c.Incarnation]; k != nil {
		p.update(k, &c, now)
		return false
	}
	k := &peer{Claim: c, heard: now, watch: c.Worker == AnyWorker || c.Worker == p.own.Worker}
	if len(p.known) == maxPeers || k.watch && p.asked == maxAsked {
		return false
	}
	p.known[c.Incarnation] = k
	if !k.watch {
		p.tell(peerJoined, k)
		return false
	}
	p.asked++
	k.asked = now
	return true
}

// update takes note of the claim of a process that is known. No process changes what it claims: somebody
// else uses the incarnation of one that does.
func (p *peers) update(k *peer, c *Claim, now time.Time) {
	if k.Worker != c.Worker || k.Role != c.Role {
		return
	}
	k.heard = now
	if k.Deciding == c.Deciding {
		return
	}
	k.Deciding = c.Deciding
	switch {
	case !k.counts():
	case k.Deciding:
		p.tell(peerDecides, k)
	default:
		p.tell(peerHands, k)
	}
}

// answered takes note that a process lives.
func (p *peers) answered(incarnation uint64) {
	k := p.known[incarnation]
	if k == nil {
		return
	}
	switch {
	case k.counts():
	case k.hung:
		p.tell(peerAnswers, k)
	default:
		p.tell(peerJoined, k)
	}
	k.lives, k.hung, k.asked = true, false, time.Time{}
}

// lost are those events that tell of a process which decided and is gone without handing over, and of which this process is
// the one to tell: of those that could decide in its place, the one with the least incarnation.
func (p *peers) lost() (events []event) {
	for _, e := range p.events {
		gone := e.what == peerEnded || e.what == peerSilent || e.what == peerHung
		if gone && e.claim.Deciding && p.speaks(e.claim.Worker) {
			events = append(events, e)
		}
	}
	return events
}

func (p *peers) speaks(worker string) bool {
	if p.own.Worker != worker && p.own.Worker != AnyWorker {
		return false
	}
	for _, k := range p.known {
		if k.counts() && k.Incarnation < p.own.Incarnation && (k.Worker == worker || k.Worker == AnyWorker) {
			return false
		}
	}
	return true
}

// gone takes note that nobody listens for requests to a process: it has ended, or its connection has.
func (p *peers) gone(incarnation uint64) {
	if k := p.known[incarnation]; k != nil {
		p.forget(k, peerEnded)
	}
}

func (p *peers) forget(k *peer, why string) {
	delete(p.known, k.Incarnation)
	if k.watch {
		p.asked--
	}
	if k.counts() {
		p.tell(why, k)
	}
}

// tick returns those that have to be asked now, and forgets those that have been silent. A process
// that was itself stopped for a while has not heard the others, so all their times begin again.
func (p *peers) tick(now time.Time) (ask []uint64) {
	stopped := now.Sub(p.ticked) > p.period()+stall
	p.ticked = now
	for _, k := range p.known {
		if stopped {
			k.heard, k.asked = now, time.Time{}
		}
		if now.Sub(k.heard) > claimLife {
			p.forget(k, peerSilent)
			continue
		}
		if !k.watch {
			continue
		}
		switch {
		case k.asked.IsZero():
			k.asked = now
		case k.lives && now.Sub(k.asked) >= max(hungAfter, 3*p.period()):
			k.lives, k.hung = false, true
			p.tell(peerHung, k)
		}
		ask = append(ask, k.Incarnation)
	}
	return ask
}

// period is how often tick is called.
func (p *peers) period() time.Duration {
	if p.own.Worker == AnyWorker {
		return askEvery
	}
	return claimEvery
}

// parted takes note that there is no connection: no peer is known to live, and none is
// forgotten for its silence.
func (p *peers) parted(now time.Time) {
	for _, k := range p.known {
		if k.lives {
			p.tell(peerUnknown, k)
		}
		k.heard, k.lives, k.hung, k.asked = now, false, false, time.Time{}
	}
}

// claims returns this process's claim and those of others that count. Without a connection only
// its own does, because what others decide does not arrive.
func (p *peers) claims(connected bool) []Claim {
	all := []Claim{p.own}
	if !connected {
		return all
	}
	for _, k := range p.known {
		if k.counts() {
			all = append(all, k.Claim)
		}
	}
	return all
}
