package frontier

import (
	"fmt"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/policy"
)

// record takes over log records.
func (x *run) record(records []levelRecord) {
	for i := range records {
		r := &records[i]
		l := Level{
			View:       x.view(r.level, r.frontierNodes, r.frontierEdges, r.unexplored, r.previous),
			Raw:        policy.Topology(r.raw),
			Topology:   policy.Topology(r.topology),
			Persistent: r.persistent != 0,
			Passes:     r.passes,
			Requeued:   r.requeued,
			Hits:       r.hits,
			Examined:   r.examined,
			Time:       x.timing.of(r.level),
		}
		if l.Persistent || l.Topology != policy.TopologyDense && l.Topology != policy.TopologyFused {
			l.Examined = l.FrontierEdges
		}
		x.result.Levels = append(x.result.Levels, l)
		x.result.EdgesExamined += uint64(l.Examined)
	}
}

// explain decides levels again by the policy, as the director did on the device, and sets their reasons. A level that ran
// otherwise is an error.
func (s *Situation) explain(cfg *policy.Config, levels []Level) error {
	for i := range levels {
		l := &levels[i]
		c, err := s.Classify(cfg, &l.View)
		if err != nil {
			return fmt.Errorf("level %d: %w", l.Level, err)
		}
		if c.Raw != l.Raw || c.Topology != l.Topology {
			return fmt.Errorf("level %d: the device decided %v, then %v; the policy says %v, then %v", l.Level, l.Raw, l.Topology, c.Raw, c.Topology)
		}
		l.Reason = c.Reason
	}
	return nil
}

// timing has the timestamps of a round: two before its kernels, whose difference is the cost
// of a timestamp, and one at the end.
type timing struct {
	queries [3]gpu.Query
	levels  map[uint32]time.Duration
}

func (t *timing) mark(x *run, i int) {
	if !x.job.Timed || !x.traits.Timestamps {
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
	t.levels[x.now.level] += max(time.Duration(at[2]-at[1])-empty, 0)
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
