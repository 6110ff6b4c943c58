package ownership

import (
	"encoding/binary"
	"hash/fnv"
)

// Roster is the claims that count at one moment, ready to be asked for owners. It does not change.
type Roster struct {
	anyone []Claim            // for all workers
	named  map[string][]Claim // for a worker by its name
}

// newRoster makes a roster of claims in any order.
func newRoster(claims []Claim) *Roster {
	r := &Roster{named: make(map[string][]Claim)}
	for _, c := range claims {
		if c.Worker == AnyWorker {
			r.anyone = append(r.anyone, c)
		} else {
			r.named[c.Worker] = append(r.named[c.Worker], c)
		}
	}
	return r
}

// Owner is the claim of the process that decides for a worker, nil if nobody does. It is the
// best of those that cover the worker, in this order: a process that decides comes before
// one that starts or drains; one that decides for the worker by its name, before those that
// decide for all, before the worker's fallback. Of several of a name it is the one that
// started first; of those for all, the one whose rendezvous weight with the worker is
// greatest, so that the end of one moves only its own workers.
func (r *Roster) Owner(worker string) *Claim {
	var owner *Claim
	for _, claims := range [][]Claim{r.named[worker], r.anyone} {
		for i := range claims {
			if c := &claims[i]; owner == nil || c.before(owner, worker) {
				owner = c
			}
		}
	}
	return owner
}

// before reports whether c rather than o decides for a worker that both cover. It orders all claims
// of different incarnations, so the order in which they are compared does not matter.
func (c *Claim) before(o *Claim, worker string) bool {
	if c.Deciding != o.Deciding {
		return c.Deciding
	}
	if a, b := c.rank(), o.rank(); a != b {
		return a < b
	}
	if c.Worker == AnyWorker {
		if a, b := weight(c.Incarnation, worker), weight(o.Incarnation, worker); a != b {
			return a > b
		}
	}
	if c.SinceNs != o.SinceNs {
		return c.SinceNs < o.SinceNs
	}
	return c.Incarnation < o.Incarnation
}

// rank orders kinds of claims, the one that decides first.
func (c *Claim) rank() int {
	switch {
	case c.Role == RoleFallback:
		return 2
	case c.Worker == AnyWorker:
		return 1
	}
	return 0
}

// weight is the rendezvous weight of a process and a worker. Every process computes the same: FNV-1a
// of the incarnation, big-endian, and the worker's name, and then MurmurHash3's finalizer, because the
// high bits of FNV-1a hardly depend on a name's last letters.
func weight(incarnation uint64, worker string) uint64 {
	h := fnv.New64a()
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], incarnation)
	_, _ = h.Write(b[:])
	_, _ = h.Write([]byte(worker))
	w := h.Sum64()
	w = (w ^ w>>33) * 0xff51afd7ed558ccd
	w = (w ^ w>>33) * 0xc4ceb9fe1a85ec53
	return w ^ w>>33
}
