package course

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// switchback is a rival that launches at the neighbours of the usual geometry for a while each, by turns with the
// usual one: what `ringmaster whatif` estimates from single audits, it runs. Before each neighbour's turn the usual
// geometry has one, so that the two of a pair share the state of the machine.
type switchback struct {
	policy policy.Config // with audits
	draws  []uint64      // of the neighbours
	turn   time.Duration
	seed   uint64
	began  time.Time

	mu       sync.Mutex
	launches map[string][]turnLaunch // by queue
}

// turnLaunch is a launch and the turn in which it was reported.
type turnLaunch struct {
	decision  uint64
	turn      int
	slots, ns float64
}

func newSwitchback(by policy.Config, turn time.Duration, seed uint64) *switchback {
	return &switchback{policy: by, draws: by.AuditDraws()[:len(policy.MoveNames())], turn: turn, seed: seed, began: time.Now(), launches: make(map[string][]turnLaunch)}
}

// now is the number of the turn.
func (s *switchback) now() int { return int(time.Since(s.began) / s.turn) }

// draw is that of a turn's neighbour, policy.Usual of every other turn. Each round of turns has another order.
func (s *switchback) draw(turn int) uint64 {
	if turn%2 == 0 {
		return policy.Usual
	}
	round, place := turn/2/len(s.draws), turn/2%len(s.draws)
	return s.draws[rand.New(rand.NewPCG(s.seed, uint64(round))).Perm(len(s.draws))[place]]
}

// decide has the policy draw the turn's neighbour, and takes it for a plan like any other: an audit is launched once.
// The draw goes to the log with the request.
func (s *switchback) decide(_ string, req *policy.Request, before policy.State) (plan policy.Recommendation, after policy.State, hold time.Duration, err error) {
	req.Draw = s.draw(s.now())
	plan, after, err = policy.Decide(&s.policy, req, before)
	isAudit := func(r policy.Reason) bool { return r.Rule == policy.RuleAudit }
	kept := slices.DeleteFunc(plan.Reasons[:plan.ReasonCount], isAudit)
	plan.ReasonCount = uint8(len(kept))
	return plan, after, 0, err
}

func (s *switchback) observe(queue string, l *telemetry.Launch) {
	if l.Status != telemetry.LaunchOK || l.Kernel == "" || l.Executed == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.launches[queue] = append(s.launches[queue], turnLaunch{l.Decision, s.now(), float64(l.Executed), float64(l.ElapsedNs)})
}

// pairs are the device's nanoseconds for the same slots in each neighbour's turns, and in the usual geometry's turn before
// each. draws are those of a queue's decisions.
func (s *switchback) pairs(queue string, draws map[uint64]uint64) map[uint64][][2]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	turns := make(map[int]sizes)
	for _, l := range s.launches[queue] {
		if draws[l.decision] != s.draw(l.turn) {
			continue // it was decided in the turn before
		}
		if turns[l.turn] == nil {
			turns[l.turn] = make(sizes)
		}
		turns[l.turn].add(l.slots, l.ns)
	}
	all := make(map[uint64][][2]float64)
	for turn, of := range turns {
		if turn%2 == 0 || turn/2 < len(s.draws) { // kernels are built in the first round
			continue
		}
		if ns, usual := turns[turn-1].at(of); usual > 0 {
			draw := s.draw(turn)
			all[draw] = append(all[draw], [2]float64{ns, usual})
		}
	}
	return all
}

// sizes are the slots and nanoseconds of launches, by the binary logarithm of their slots.
type sizes map[int]struct{ slots, ns float64 }

func (s sizes) add(slots, ns float64) {
	size := math.Ilogb(slots)
	of := s[size]
	of.slots += slots
	of.ns += ns
	s[size] = of
}

// at is how long the launches would have taken at what a slot of a launch of their size takes in another turn, and how
// long they took; sizes that had no launch there are left out. Where launches take longer more work waits for the
// next, which is larger and cheaper by the slot: that comes of the load, and estimates are of launches as they came.
func (s sizes) at(other sizes) (there, here float64) {
	for size, of := range s {
		if o, ok := other[size]; ok {
			there += o.ns / o.slots * of.slots
			here += of.ns
		}
	}
	return there, here
}
