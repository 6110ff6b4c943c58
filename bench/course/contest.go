package course

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ringmaster/bench/course/decider"
	"ringmaster/megakernel/fixed"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
)

// Contestant is a way to decide.
type Contestant struct {
	Name string
	// Online: it knows nothing that a service would not know, and is what a user would do without Ringmaster,
	// or with the policy that its own replaced.
	Online    bool
	ours      bool
	trains    bool // it begins from what a run before has taught
	sweeps    bool // it needs a sweep of the load
	hindsight bool // it needs those of all loads
	setup     func(r *runner, load *Load) setup
}

// Parameters of the rules that users write.
const (
	batchingMost  = 16_384
	batchingDelay = 500 * time.Microsecond
	aimdTarget    = 10 * time.Millisecond
	aimdAdd       = 256
)

// Contestants are all there are, ours first.
func Contestants() []Contestant {
	rule := func(rule decider.Rule) func(*runner, *Load) setup {
		return func(*runner, *Load) setup {
			return setup{policy: policy.Standard(), tuner: session.Off, rival: newRuled(rule), waves: true}
		}
	}
	return []Contestant{
		// the standard policy, its tuner from a cache
		{Name: "warm", ours: true, trains: true, setup: func(r *runner, l *Load) setup {
			return setup{policy: policy.Standard(), tuner: session.On, tunerDir: r.warmed(l)}
		}},
		// warm from an empty cache
		{Name: "cold", ours: true, setup: func(*runner, *Load) setup {
			return setup{policy: policy.Standard(), tuner: session.On}
		}},
		// the standard policy without tuner
		{Name: "off", ours: true, setup: func(*runner, *Load) setup {
			return setup{policy: policy.Standard(), tuner: session.Off}
		}},
		// off, and nobody reports the queues' lengths
		{Name: "untold", ours: true, setup: func(*runner, *Load) setup {
			return setup{policy: policy.Standard(), tuner: session.Off, untold: true}
		}},
		// the original's policy with the original's tuner, from an empty cache
		{Name: "reference", Online: true, setup: func(*runner, *Load) setup {
			return setup{policy: policy.Reference(), tuner: session.Reference}
		}},
		// the original's policy without tuner
		{Name: "untuned", Online: true, setup: func(*runner, *Load) setup {
			return setup{policy: policy.Reference(), tuner: session.Off}
		}},
		// 256 wide, as many groups as the device runs at a time
		{Name: "fill", Online: true, setup: rule(decider.Fill())},
		// fill, at most batchingMost slots after at most batchingDelay
		{Name: "batching", Online: true, setup: rule(decider.Batching(batchingMost, batchingDelay))},
		// fill, slots by additive increase and multiplicative decrease about aimdTarget
		{Name: "aimd", Online: true, setup: rule(decider.AIMD(aimdTarget, aimdAdd))},
		// fill, and all work is in one queue, in the order in which it comes
		{Name: "fifo", Online: true, setup: func(r *runner, l *Load) setup {
			s := rule(decider.Fill())(r, l)
			s.oneQueue = true
			return s
		}},
		// the geometry that was best for all loads, in hindsight
		{Name: "fixed", hindsight: true, setup: func(r *runner, l *Load) setup {
			return rule(decider.Fixed(r.fixed()))(r, l)
		}},
		// the geometry that a sweep found best for the load
		{Name: "clairvoyant", sweeps: true, setup: func(r *runner, l *Load) setup {
			return rule(decider.Fixed(r.sweeps[l.Name].Best))(r, l)
		}},
	}
}

// FindContestants are contestants by name, in the order in which they are asked for; all without names.
func FindContestants(names []string) ([]Contestant, error) {
	return byName("decider", Contestants(), func(c Contestant) string { return c.Name }, names)
}

// warmed is a copy of what the tuner learned of a load, so that no cell teaches the next.
func (r *runner) warmed(l *Load) string {
	r.copies++
	dir := filepath.Join(r.cfg.Dir, fmt.Sprintf("warm-%d-%d", os.Getpid(), r.copies))
	if err := os.CopyFS(dir, os.DirFS(r.cfg.trainedDir(l))); err != nil {
		r.cfg.Log.Warn("the tuner begins cold", "load", l.Name, "error", err)
	}
	return dir
}

// candidates are the geometries of a sweep, the likelier first. fit is the workgroups of 256 that the device
// runs at a time.
func candidates(fit uint32, most int) (all []policy.Geometry) {
	for _, g := range []policy.Geometry{
		{Width: 256, Groups: fit},
		{Width: 64, Groups: 4 * fit},
		{Width: 256, Groups: fit, Depth: 1024},
		{Width: 1024, Groups: max(fit/4, 1)},
		{Width: 64, Groups: fit},
		{Width: 256, Groups: 4 * fit},
		{Width: 32, Groups: 8 * fit},
		{Width: 256, Groups: max(fit/4, 1)},
		{Width: 128, Groups: 2 * fit},
		{Width: 256, Groups: fit, Chunk: 16},
		{Width: 256, Groups: fit, Depth: 4096},
		{Width: 512, Groups: 2 * fit},
		{Width: 64, Groups: fit, Depth: 512},
		{Width: 64, Groups: 16 * fit},
	} {
		if g.Chunk == 0 {
			g.Chunk = g.Width
		}
		if g.Depth == 0 {
			g.Depth = fixed.MostDepth
		}
		all = append(all, g)
	}
	return all[:min(most, len(all))]
}
