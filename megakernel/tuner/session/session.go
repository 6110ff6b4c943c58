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
	Urgent bool   // the queue's users cannot wait: nothing is tried out on them
}

// Plan is what a launch was planned by.
type Plan struct {
	Asked policy.Geometry // what the decision was asked for, of a session's view; zero: nothing
	Given policy.Geometry // what the plan says
	Slots uint32          // slots of a launch about which the view was asked
	Look  uint64          // the number of the look that Asked is, 0 for none
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
	SinceNs  uint64 // since the queue's report before, by the clock of whoever received both; 0 for the first
}

// View is what decisions are asked for: for each size of launch a geometry, and one look.
type View struct {
	kept [Buckets]policy.Geometry
	near bool // an unknown size is asked for like the nearest known one
	look look
}

// look is a geometry to try out with one launch.
type look struct {
	number   uint64 // greater than that of any look before, 0: there is none
	bucket   int
	geometry policy.Geometry
}

// NoLook is a number of a look after which there is none.
const NoLook = math.MaxUint64

// For is the geometry to ask for with launches of some size, zero for the policy's own. It
// is a look, with its number, if there is one for this size that comes after the last one
// that was launched. With the original's tuner a size about which nothing is known
// is asked for like the nearest that is known, the smaller one when two are as near.
func (v View) For(slots uint32, last uint64) (g policy.Geometry, number uint64) {
	b := BucketOf(slots)
	if v.look.number > last && v.look.bucket == b {
		return v.look.geometry, v.look.number
	}
	if !v.near {
		return v.kept[b], 0
	}
	for d := range Buckets {
		for _, b := range [...]int{b - d, b + d} {
			if b >= 0 && b < Buckets && v.kept[b] != (policy.Geometry{}) {
				return v.kept[b], 0
			}
		}
	}
	return policy.Geometry{}, 0
}

// Kept is what a view asks for besides looks: what another process, or the next one, goes on with.
type Kept struct {
	Geometries [Buckets]policy.Geometry `json:"geometries,omitzero"` // by size of launch, zero: the policy's own
	Near       bool                     `json:"near,omitzero"`       // an unknown size is asked for like the nearest known one
}

// Kept returns what the view asks for besides its look.
func (v View) Kept() Kept { return Kept{v.kept, v.near} }

// View is a view that asks for what was kept.
func (k Kept) View() View { return View{kept: k.Geometries, near: k.Near} }

// Session tunes the launches of one queue. The zero value is ready.
type Session struct {
	tuners  []*entry
	current [Buckets]*entry // tuners whose suggestions the view has
	others  [Buckets]int    // launches in a row of another kernel
	looking *entry          // whose look is on offer
	number  uint64          // of this look
	work    work
	clock   uint64
	view    View
}

// Resume returns a session that asks for what was kept until it knows better.
func Resume(k Kept) *Session { return &Session{view: k.View()} }

// View holds what the next decisions are asked for.
func (s *Session) View() View { return s.view }

// Observe is [Session.Take] and [Session.Think].
func (s *Session) Observe(env *Env, r *Report) (changed bool, err error) {
	before := s.view
	_, err = s.Take(env, r)
	s.Think(env)
	return s.view != before, err
}

// Take takes a report and says whether the view has changed; it takes a microsecond
// or two. The error says why the report was refused. What to look at next may be left open
// until [Session.Think].
func (s *Session) Take(env *Env, r *Report) (changed bool, err error) {
	if env.Mode == Off {
		return false, nil
	}
	s.clock++
	s.work.pass(r.SinceNs)
	if err := r.check(&env.Limits); err != nil {
		return false, err
	}
	e, err := s.tuner(env, r)
	if err != nil {
		return false, err
	}
	e.used = s.clock
	looks := e == s.looking && r.Plan.Look == s.number
	if err := e.observe(env, r, looks, s.work.counts(env, r, looks)); err != nil {
		return false, err
	}
	s.work.do(r.Ns, r.SinceNs)
	s.follow(e)
	return s.show(env), nil
}

// Think completes the view after reports and says whether it has changed.
func (s *Session) Think(env *Env) (changed bool) {
	for _, e := range s.tuners {
		if e.live != nil && e.live.Think() {
			e.tell(env)
		}
	}
	return s.show(env)
}

// show renews the view, and says whether it has changed. Looks are offered one at a time,
// and while the device works for this queue.
func (s *Session) show(env *Env) (changed bool) {
	before := s.view
	s.view.near = env.Mode != On && len(s.tuners) > 0
	for b, e := range s.current {
		if e != nil {
			s.view.kept[b] = e.keeps()
		}
	}
	if s.looking != nil && !s.looking.wantsLook() {
		s.looking = nil
	}
	for _, e := range s.current {
		if s.looking == nil && e != nil && e.wantsLook() {
			s.looking = e
			s.offer()
		}
	}
	s.view.look = look{}
	if e := s.looking; e != nil && s.work.busy() && !env.Urgent {
		if e.waited >= lookAgain {
			s.offer()
		}
		s.view.look = look{number: s.number, bucket: e.bucket, geometry: e.ask(e.live.Next().Geometry)}
	}
	return s.view != before
}

// offer gives the look a number of its own: each number is launched at most once.
func (s *Session) offer() {
	s.number++
	s.looking.waited = 0
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
	bucket := r.bucket()
	if s.looking != nil && r.Plan.Look == s.number && s.looking.program == p {
		bucket = s.looking.bucket
	}
	for _, e := range s.tuners {
		if e.program == p && e.bucket == bucket && e.limits == env.Limits && e.device == env.Device {
			return e, nil
		}
	}
	if len(s.tuners) < MaxTuners && env.Room.take() {
		e, err := newEntry(env, p, bucket)
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
	e, err := newEntry(env, p, bucket)
	if err != nil {
		return nil, err
	}
	gone.remember(env)
	e.room = gone.room
	s.tuners[place] = e
	if s.current[gone.bucket] == gone {
		s.current[gone.bucket], s.view.kept[gone.bucket] = nil, policy.Geometry{}
	}
	if s.looking == gone {
		s.looking = nil
	}
	return e, nil
}

// bucket is the bucket of the launch's size. A launch that was cut at the depth that its
// plan was asked for belongs to the tuner that asked, which is that of longer launches.
func (r *Report) bucket() int {
	at := BucketOf(uint32(r.Slots))
	if depth := r.Geometry.Depth; depth != 0 && r.Slots >= uint64(depth) && depth == r.Plan.Asked.Depth {
		at = max(at, BucketOf(r.Plan.Slots))
	}
	return at
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
	s.tuners, s.current, s.others, s.looking = nil, [Buckets]*entry{}, [Buckets]int{}, nil
	s.view.look = look{}
}
