package session

import (
	"errors"
	"fmt"
	"math"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/live"
)

// MaxTuners bounds the tuners of a session. The one that has not been used for
// the longest makes room for another, unless it is in use.
const MaxTuners = 16

const (
	inUse = 256 // a tuner that was used within so many reports is in use
	// convincing is the number of launches in a row of another kernel after which
	// its tuner's suggestions are used: a kernel that only stands in for one that
	// is being built must not change them.
	convincing = 8
)

var (
	// ErrUnknownKernel says that a report names no kernel.
	ErrUnknownKernel = errors.New("report of an unknown kernel")
	// ErrBeyondLimits says that no launch on the device has such a geometry.
	ErrBeyondLimits = errors.New("geometry beyond the device's limits")
)

// FirstMoment is the moment of what was measured here, by this process or an
// earlier one. What is recalled with any other moment is a hint: others may have
// measured it.
const FirstMoment = 1

// Memory is what is known outside the session and beyond its process.
type Memory interface {
	// Recall finds an entry that became known after a moment (0 is before all of
	// them), and the moment at which it became known; see FirstMoment.
	Recall(device string, key cache.Key, after uint64) (e cache.Entry, moment uint64, ok bool)
	// Remember keeps an entry in place of what was known about its key.
	Remember(device string, e cache.Entry)
}

// Env is what a session needs to know of its surroundings.
type Env struct {
	Mode   Mode
	Spaces *Spaces
	Limits policy.Limits
	Device string // identity of device and driver; "" remembers nothing
	Memory Memory // nil remembers nothing
	Room   *Room  // for tuners beside those of other sessions; nil: no bound
}

// Plan is what a launch was planned by.
type Plan struct {
	Asked    policy.Geometry // what the decision was asked for, of a session's view
	Given    policy.Geometry // what the plan says
	QueueLen uint32          // slots that the decision saw queued
}

// Report is what a session needs to know about a launch.
type Report struct {
	Program  [32]byte // identity of the kernel
	Named    bool     // Program was given
	Source   uint8    // what measured Ns
	Geometry policy.Geometry
	Plan     Plan
	Slots    uint64 // that the launch ran
	Ns       uint64 // time on the device, as Source measures it
	WallNs   uint64 // time by the host's clock, 0 if not known
}

// View holds the geometries that decisions are asked for, by bucket; zero for no opinion.
type View [Buckets]policy.Geometry

// For is the geometry to ask for with a queue of some length. For a size about
// which nothing is known it is that of the nearest known size, of the smaller one
// when two are as near, without the depth.
func (v View) For(queueLen uint32) policy.Geometry {
	at := BucketOf(queueLen)
	if v[at] != (policy.Geometry{}) {
		return v[at]
	}
	for d := 1; d < Buckets; d++ {
		for _, b := range [...]int{at - d, at + d} {
			if b >= 0 && b < Buckets && v[b] != (policy.Geometry{}) {
				g := v[b]
				g.Depth = 0
				return g
			}
		}
	}
	return policy.Geometry{}
}

// Session tunes the launches of one queue. The zero value is ready.
type Session struct {
	tuners  []*entry
	current [Buckets]*entry // tuners whose suggestions the view has
	others  [Buckets]int    // launches in a row of another kernel
	lent    [Buckets]bool   // the view is that of the launches to which the policy cuts longer queues
	clock   uint64
	view    View
}

// View holds the geometries that the next decisions are asked for.
func (s *Session) View() View { return s.view }

// Observe is [Session.Take] and [Session.Think].
func (s *Session) Observe(env *Env, r *Report) (changed bool, err error) {
	before := s.view
	_, err = s.Take(env, r)
	s.Think(env)
	return s.view != before, err
}

// Take takes a report and says whether the view has changed; it takes a microsecond
// or two. The error says why the report was refused. While a tuner explores, what to
// look at next may be left open until [Session.Think]; until then the view has what
// is best so far.
func (s *Session) Take(env *Env, r *Report) (changed bool, err error) {
	if env.Mode == Off {
		return false, nil
	}
	s.clock++
	if err := r.check(&env.Limits); err != nil {
		return false, err
	}
	e, err := s.tuner(env, r)
	if err != nil {
		return false, err
	}
	e.used = s.clock
	if err := e.observe(env, r); err != nil {
		return false, err
	}
	s.follow(e)
	before := s.view
	s.show(env, e.bucket, s.current[e.bucket].ask())
	return s.view != before, nil
}

// Think completes the view after reports and says whether it has changed.
func (s *Session) Think(env *Env) (changed bool) {
	before := s.view
	for _, e := range s.tuners {
		if e.live != nil && e.live.Think() {
			e.tell(env)
			if s.current[e.bucket] == e {
				s.show(env, e.bucket, e.ask())
			}
		}
	}
	return s.view != before
}

// show makes a geometry the view of a bucket. If the policy cuts the launches of
// longer queues to the size of this bucket, it becomes their view too, with the
// depth, until launches of their own size are seen: only launches of this bucket
// teach what to ask for with such queues.
func (s *Session) show(env *Env, bucket int, g policy.Geometry) {
	s.view[bucket], s.lent[bucket] = g, false
	if env.Spaces == nil || bucket != env.Spaces.lender(env.Limits) {
		return
	}
	for longer := bucket + 1; longer < Buckets; longer++ {
		if s.lent[longer] || s.view[longer] == (policy.Geometry{}) {
			s.view[longer], s.lent[longer] = g, true
		}
	}
}

// check refuses what cannot be a launch under the limits.
func (r *Report) check(l *policy.Limits) error {
	g := &r.Geometry
	switch {
	case !r.Named:
		return fmt.Errorf("%w: it has no fingerprint", ErrUnknownKernel)
	case l.MaxWidth() == 0:
		return fmt.Errorf("%w: the device's limits are not known", ErrBeyondLimits)
	case g.Width == 0 || g.Groups == 0 || g.Chunk == 0 ||
		g.Width > l.MaxWidth() || g.Groups > l.MaxWorkgroupsPerDimension || g.Chunk > cache.MaxChunk || g.Depth > cache.MaxDepth:
		return fmt.Errorf("%w: %+v", ErrBeyondLimits, *g)
	case r.Slots > math.MaxUint32:
		return fmt.Errorf("%w: %d slots", live.ErrAbsurd, r.Slots)
	}
	return nil
}

// tuner finds the tuner to which a report belongs, or makes it.
func (s *Session) tuner(env *Env, r *Report) (*entry, error) {
	p := Program{r.Program, r.Source, env.Mode}
	bucket := s.bucket(env, r)
	for _, e := range s.tuners {
		if e.program == p && e.bucket == bucket && e.limits == env.Limits && e.device == env.Device {
			return e, nil
		}
	}
	if len(s.tuners) < MaxTuners && env.Room.take() {
		e, err := newEntry(env, p, bucket, s.start(p, bucket))
		if err != nil {
			env.Room.give()
			return nil, err
		}
		e.room = env.Room
		s.tuners = append(s.tuners, e)
		return e, nil
	}
	return s.replace(env, p, bucket)
}

// replace makes a tuner in the place of the one that has not been used for the longest.
func (s *Session) replace(env *Env, p Program, bucket int) (*entry, error) {
	if len(s.tuners) == 0 {
		return nil, fmt.Errorf("%w: other queues have them", ErrCrowded)
	}
	place := 0
	for i, e := range s.tuners {
		if e.used < s.tuners[place].used {
			place = i
		}
	}
	gone := s.tuners[place]
	if s.clock-gone.used < inUse {
		return nil, fmt.Errorf("%w: the queue's %d are in use", ErrCrowded, len(s.tuners))
	}
	e, err := newEntry(env, p, bucket, s.start(p, bucket))
	if err != nil {
		return nil, err
	}
	gone.remember(env)
	e.room = gone.room
	s.tuners[place] = e
	if s.current[gone.bucket] == gone {
		s.current[gone.bucket] = nil
		s.show(env, gone.bucket, policy.Geometry{})
	}
	return e, nil
}

// bucket is the bucket of the launch's size. A launch that was cut at the depth that its
// plan was asked for belongs to the tuner that asked, which is that of a longer queue.
func (s *Session) bucket(env *Env, r *Report) int {
	slots, depth := uint32(r.Slots), r.Geometry.Depth
	at := BucketOf(slots)
	if depth == 0 || slots < depth || depth != r.Plan.Asked.Depth {
		return at
	}
	asking := BucketOf(r.Plan.QueueLen)
	if s.lent[asking] {
		asking = env.Spaces.lender(env.Limits)
	}
	return max(asking, at)
}

// start is the geometry at which a new tuner begins: the best one of the same kernel
// at the nearest size that was tuned; zero leaves it to the tuner.
func (s *Session) start(p Program, bucket int) (g policy.Geometry) {
	nearest := Buckets
	for _, e := range s.tuners {
		if d := max(e.bucket-bucket, bucket-e.bucket); e.program == p && d < nearest && !e.exploring() {
			nearest, g = d, e.next()
			if g.Depth >= BucketSlots(e.bucket) {
				g.Depth = BucketSlots(bucket)
			}
		}
	}
	return g
}

// follow notes which kernel runs at a size.
func (s *Session) follow(e *entry) {
	b := e.bucket
	if s.current[b] == e {
		s.others[b] = 0
		return
	}
	if s.others[b]++; s.current[b] == nil || s.others[b] >= convincing {
		s.current[b], s.others[b] = e, 0
	}
}

// Park frees the tuners after it has remembered what they know; the view stays.
// Without a memory nothing is freed.
func (s *Session) Park(env *Env) {
	if env.Memory == nil || env.Device == "" {
		return
	}
	for _, e := range s.tuners {
		e.remember(env)
	}
	s.Close()
}

// Close frees the tuners, whatever they know; the view stays.
func (s *Session) Close() {
	for _, e := range s.tuners {
		e.room.give()
	}
	s.tuners, s.current, s.others = nil, [Buckets]*entry{}, [Buckets]int{}
}
