package frontier

import (
	"errors"
	"fmt"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/policy"
)

// ErrDiffers says that the device decided a level differently from the policy.
var ErrDiffers = errors.New("device and policy decided differently")

// record takes over log records.
func (x *run) record(words []uint32) error {
	for ; len(words) >= logWords; words = words[logWords:] {
		l := Level{
			View:     x.view(words[logLevel], words[logNodes], words[logEdges], words[logUnexplored], words[logPrevious]),
			Raw:      policy.Topology(words[logRaw]),
			Topology: policy.Topology(words[logTopology]),
			Resident: words[logResident] != 0,
			Passes:   words[logPasses],
			Requeued: words[logRequeued],
			Hits:     words[logHits],
			Examined: words[logExamined],
			Time:     x.timing.of(words[logLevel]),
		}
		if l.Resident || l.Topology != policy.TopologyDense && l.Topology != policy.TopologyFused {
			l.Examined = l.FrontierEdges
		}
		if l.Requeued > 0 {
			l.MaxAge = l.Passes - 1
		}
		if x.plan.ruled() {
			c, err := x.situation.Classify(x.cfg, &l.View)
			if err != nil {
				return fmt.Errorf("frontier: level %d: %w", l.Level, err)
			}
			if c.Raw != l.Raw || c.Topology != l.Topology {
				return fmt.Errorf("frontier: level %d: %v, then %v; policy says %v, then %v: %w", l.Level, l.Raw, l.Topology, c.Raw, c.Topology, ErrDiffers)
			}
			l.Reason = c.Reason
		}
		x.result.Levels = append(x.result.Levels, l)
		x.result.EdgesExamined += uint64(l.Examined)
	}
	return nil
}

// ruled says whether the policy's rule decides the levels, on the device.
func (p *plan) ruled() bool {
	return p.job.Decide == nil && (p.job.Topology == policy.TopologyNone || p.job.Topology == policy.TopologyEmpty)
}

// timing has the timestamps of a round: two before its kernels, whose difference is the cost
// of a timestamp, and one at the end.
type timing struct {
	queries [3]gpu.Query
	levels  map[uint32]time.Duration
}

func (t *timing) mark(x *run, i int) {
	if !x.job.Timed || !x.dev.Supports("timestamp") {
		return
	}
	if t.levels == nil {
		t.levels = make(map[uint32]time.Duration)
		for i := range t.queries {
			t.queries[i] = x.dev.NewQuery()
		}
	}
	x.dev.Timestamp(t.queries[i])
}

// take reads the timestamps of a round that is done. Called on the device's thread.
func (t *timing) take(x *run) {
	if t.levels == nil {
		return
	}
	x.dev.Finish()
	var at [3]uint64
	for i, q := range t.queries {
		ns, ready := x.dev.QueryResult(q)
		if !ready {
			return
		}
		at[i] = ns
	}
	empty := time.Duration(at[1] - at[0])
	t.levels[x.control[ctlLevel]] += max(time.Duration(at[2]-at[1])-empty, 0)
}

func (t *timing) of(level uint32) time.Duration { return t.levels[level] }

// end deletes the queries. Called on the device's thread.
func (t *timing) end(x *run) {
	if t.levels == nil {
		return
	}
	for _, q := range t.queries {
		x.dev.DeleteQuery(q)
	}
}
