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
	inUse = 256 // reports since a tuner was used, below which it is in use
	// convincing is after how many launches of another kernel in a row the
	// suggestions become those of its tuner: a kernel that stands in for one
	// that is being built is no change.
	convincing = 8
)

var (
	// ErrUnknownKernel says that a report names no kernel, or one more than a
	// queue's tuners have room for.
	ErrUnknownKernel = errors.New("report of an unknown kernel")
	// ErrBeyondLimits says that no launch on the device has such a geometry.
	ErrBeyondLimits = errors.New("geometry beyond the device's limits")
)

// FirstMoment is the moment of what was measured here, by this process or one
// before it. What is recalled at any other is a hint: others may have measured it.
const FirstMoment = 1

// Memory is what is known beyond the session and its process.
type Memory interface {
	// Recall finds an entry that has become known after a moment, 0 being
	// before any, and the moment at which it became known; see FirstMoment.
	Recall(device string, key cache.Key, after uint64) (e cache.Entry, moment uint64, ok bool)
	// Remember keeps an entry in place of what was known of its key.
	Remember(device string, e cache.Entry)
}

// Env is what a session needs to know of its surroundings.
type Env struct {
	Mode   Mode
	Spaces *Spaces
	Limits policy.Limits
	Device string // identity of device and driver; "" remembers nothing
	Memory Memory // nil remembers nothing
	// Asked and Given are what the newest plan was asked for and what it says.
	Asked, Given policy.Geometry
}

// Report is a launch as a session needs to know it.
type Report struct {
	Program     [32]byte // identity of the kernel
	Named       bool     // Program was given
	Source      uint8    // what measured Ns
	Geometry    policy.Geometry
	Recommended policy.Geometry // without depth
	Slots       uint64          // that it ran
	Ns          uint64          // on the device
	WallNs      uint64          // by the host's clock, 0 if not known
}

// View is what decisions are asked for, by bucket; zero for no opinion.
type View [Buckets]policy.Geometry

// For is what to ask for with a queue of some length. A size that nothing is
// known of is asked for as the nearest below it, else above, but for the depth.
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
	current [Buckets]*entry // whose suggestions the view has
	others  [Buckets]int    // launches in a row of another kernel
	lent    [Buckets]bool   // whose view is that of the launches to which longer queues are cut
	clock   uint64
	view    View
	refused uint64
	unused  uint64
}

// View is what the next decisions are asked for.
func (s *Session) View() View { return s.view }

// Refused counts the reports that were refused, Unused those of geometries that
// tuners do not choose from.
func (s *Session) Refused() uint64 { return s.refused }

// Unused counts the reports that were possible and taught nothing.
func (s *Session) Unused() uint64 { return s.unused }

// Observe is [Session.Take] and [Session.Think].
func (s *Session) Observe(env *Env, r *Report) (changed bool, err error) {
	before := s.view
	_, err = s.Take(env, r)
	s.Think(env)
	return s.view != before, err
}

// Take takes a report and says whether the view has changed, in a microsecond or two. The
// error says why the report was refused. While a tuner explores, what it should look at next may
// be left open until [Session.Think]; the view then has what is best so far.
func (s *Session) Take(env *Env, r *Report) (changed bool, err error) {
	if env.Mode == Off {
		return false, nil
	}
	s.clock++
	if err := r.check(&env.Limits); err != nil {
		s.refused++
		return false, err
	}
	e, err := s.tuner(env, r)
	if err != nil {
		s.refused++
		return false, err
	}
	e.used = s.clock
	switch taught, err := e.observe(env, r); {
	case err != nil:
		s.refused++
		return false, err
	case !taught:
		s.unused++
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

// show makes a geometry the view of a bucket. Where the policy cuts the launches of longer queues to that
// size it is theirs too, the depth included, until launches of their own size are seen: no others teach what
// to ask for with them.
func (s *Session) show(env *Env, bucket int, g policy.Geometry) {
	s.view[bucket], s.lent[bucket] = g, false
	if env.Spaces == nil || bucket != BucketOf(env.Spaces.cfg.Sizing.BatchDepth) {
		return
	}
	for longer := bucket + 1; longer < Buckets; longer++ {
		if s.lent[longer] || s.view[longer] == (policy.Geometry{}) {
			s.view[longer], s.lent[longer] = g, true
		}
	}
}

// check refuses what no launch under the limits is.
func (r *Report) check(l *policy.Limits) error {
	g := &r.Geometry
	switch {
	case !r.Named:
		return fmt.Errorf("session: %w: it has no fingerprint", ErrUnknownKernel)
	case l.MaxWidth() == 0:
		return fmt.Errorf("session: %w: the device's limits are not known", ErrBeyondLimits)
	case g.Width == 0 || g.Groups == 0 || g.Chunk == 0 ||
		g.Width > l.MaxWidth() || g.Groups > l.MaxWorkgroupsPerDimension || g.Chunk > cache.MaxChunk || g.Depth > cache.MaxDepth:
		return fmt.Errorf("session: %w: %+v", ErrBeyondLimits, *g)
	case r.Slots > math.MaxUint32:
		return fmt.Errorf("session: %w: %d slots", live.ErrAbsurd, r.Slots)
	}
	return nil
}

// tuner finds the tuner that a report belongs to, or makes it.
func (s *Session) tuner(env *Env, r *Report) (*entry, error) {
	p := Program{r.Program, r.Source, env.Mode}
	bucket := s.bucket(env, p, r)
	for _, e := range s.tuners {
		if e.program == p && e.bucket == bucket && e.limits == env.Limits && e.device == env.Device {
			return e, nil
		}
	}
	room := -1
	if len(s.tuners) >= MaxTuners {
		room = 0
		for i, e := range s.tuners {
			if e.used < s.tuners[room].used {
				room = i
			}
		}
		if s.clock-s.tuners[room].used < inUse {
			return nil, fmt.Errorf("session: %w: %d are in use", ErrUnknownKernel, MaxTuners)
		}
	}
	e, err := newEntry(env, p, bucket, s.start(p, bucket))
	if err != nil {
		return nil, err
	}
	if room < 0 {
		s.tuners = append(s.tuners, e)
		return e, nil
	}
	gone := s.tuners[room]
	gone.remember(env)
	s.tuners[room] = e
	if s.current[gone.bucket] == gone {
		s.current[gone.bucket] = nil
		s.show(env, gone.bucket, policy.Geometry{})
	}
	return e, nil
}

// bucket is that of the launch's size. A launch that its depth has cut belongs
// to a longer queue: to the one whose tuner asked for just this, or for what a plan made
// this of.
func (s *Session) bucket(env *Env, p Program, r *Report) int {
	slots := uint32(r.Slots)
	at := BucketOf(slots)
	if r.Geometry.Depth == 0 || slots < r.Geometry.Depth {
		return at
	}
	for _, e := range s.tuners {
		if e.program != p || e.bucket <= at {
			continue
		}
		if next := e.next(); next == measured(r.Geometry, BucketSlots(e.bucket)) || e.ask() == env.Asked && next.Depth == r.Geometry.Depth {
			at = e.bucket
		}
	}
	return at
}

// start is where a new tuner begins: at what the same kernel runs best with at
// the nearest size that was tuned, else wherever it likes.
func (s *Session) start(p Program, bucket int) (g live.Geometry) {
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

// Park gives the tuners' memory back and has everything remembered that would
// be lost; the view stays. Without a memory nothing is given back.
func (s *Session) Park(env *Env) {
	if env.Memory == nil || env.Device == "" {
		return
	}
	for _, e := range s.tuners {
		e.remember(env)
	}
	s.tuners, s.current, s.others = nil, [Buckets]*entry{}, [Buckets]int{}
}
