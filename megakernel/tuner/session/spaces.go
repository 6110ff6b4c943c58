package session

import (
	"sync"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/live"
)

// maxSpaces bounds the spaces that are kept; each takes a few hundred KiB.
const maxSpaces = 32

// Spaces makes the spaces from which tuners choose and keeps them for all queues
// of a process. Its methods may be called from any goroutine.
type Spaces struct {
	cfg  policy.Config
	mu   sync.Mutex
	made map[spaceOf]*live.Space
}

type spaceOf struct {
	limits policy.Limits
	bucket int
}

// NewSpaces returns an empty set of spaces, whose geometries are those that a policy
// would run as they are.
func NewSpaces(cfg *policy.Config) *Spaces {
	return &Spaces{cfg: *cfg, made: make(map[spaceOf]*live.Space)}
}

// Of is the space of a launch size under a device's limits. Its error is
// live.ErrWorkload.
func (s *Spaces) Of(limits policy.Limits, bucket int) (*live.Space, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := spaceOf{limits, bucket}
	if space := s.made[key]; space != nil {
		return space, nil
	}
	slots := BucketSlots(bucket)
	space, err := live.NewSpace(live.Workload{Limits: limits, Slots: slots, Legal: func(g policy.Geometry) bool {
		asked := s.ask(limits, g, slots)
		if asked.Depth == 0 {
			asked.Depth = s.cfg.BatchDepth(&limits)
		}
		return s.cfg.Accepts(&limits, 0, asked)
	}})
	if err != nil {
		return nil, err
	}
	if len(s.made) >= maxSpaces {
		clear(s.made)
	}
	s.made[key] = space
	return space, nil
}

// own is the policy's own geometry for a launch of a bucket's size, zero if it has none.
func (s *Spaces) own(limits policy.Limits, bucket int) policy.Geometry {
	slots := BucketSlots(bucket)
	plan, _, err := policy.Decide(&s.cfg, &policy.Request{QueueLen: slots, Limits: limits}, policy.State{})
	if err != nil {
		return policy.Geometry{}
	}
	return measured(plan.Geometry(), slots)
}

// ask is what the policy is asked for so that it runs a geometry. For a launch that
// is not split no depth is asked for, if the policy's own allows as many slots: a
// queue that has grown since it was measured is then still launched as a whole.
func (s *Spaces) ask(limits policy.Limits, g policy.Geometry, slots uint32) policy.Geometry {
	if g.Depth >= slots && slots <= s.cfg.BatchDepth(&limits) {
		g.Depth = 0
	}
	return g
}

// measured is the geometry, as the space has it, at which a launch ran.
func measured(g policy.Geometry, slots uint32) policy.Geometry {
	if g.Depth == 0 || g.Depth > slots {
		g.Depth = slots
	}
	return g
}
