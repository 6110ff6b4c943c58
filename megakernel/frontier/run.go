package frontier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache"
	"ringmaster/megakernel/policy"
)

// Rounds that the host enqueues before it looks at the outcome.
const (
	firstRounds = 8
	mostRounds  = 64

	// persistentVisits is how often the host looks at a job before sparse levels may run in the persistent kernel.
	// Beginning that kernel takes longer than the few small levels of a graph of small diameter.
	persistentVisits = 2

	// softwareVisitEdges bounds the rounds of a visit on a software renderer by the edges that they may look at together.
	// llvmpipe on two cores takes 4 to 8 seconds for so many, and nobody else has the device meanwhile.
	softwareVisitEdges = 128 << 20

	// lookedRecords is how many records of levels come with each look at the outcome; more take another transfer.
	lookedRecords = 64
)

// run is a job that is being run.
type run struct {
	*Graph
	*plan
	m        machine
	held     []*kernelcache.Program
	programs [kinds]*program // of what is held
	now      roundWords      // as last read
	result   Result
	timing   timing
	begun    time.Time
}

// Run runs a job to its end. It uses the device in turns and binds what it needs at the
// beginning of each; ctx is checked between turns. What the director decided is decided again by
// the policy afterwards, which says why; a difference is an error.
func (r *Graph) Run(ctx context.Context, job Job) (Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return Result{}, fmt.Errorf("run: %w", ErrClosed)
	}
	if r.shape.nodes == 0 {
		return Result{}, job.check(0)
	}
	p, err := r.plan(&job)
	if err != nil {
		return Result{}, err
	}
	x := &run{Graph: r, plan: p, m: machineOf(r.traits)}
	defer x.release()
	x.result.HitCapacity, x.result.Geometry, x.result.Bytes = p.capacity, p.geometry, p.bytes
	if err := x.build(ctx); err != nil {
		return Result{}, err
	}
	err = x.loop(ctx)
	finish := x.turn(func() error {
		x.timing.end(x)
		if err != nil {
			return nil
		}
		return x.readValues()
	})
	if err = errors.Join(err, finish); err != nil {
		return Result{}, err
	}
	if x.job.Ruled() {
		err = x.situation.explain(x.cfg, x.result.Levels)
	}
	return x.result, err
}

// turn uses the device for a while.
func (x *run) turn(fn func() error) error {
	if x.job.Turn == nil {
		return x.dev.Do(fn)
	}
	return x.job.Turn(func() error { return x.dev.Do(fn) })
}

func (x *run) loop(ctx context.Context) error {
	first, seen := true, 0
	for rounds := min(firstRounds, x.mostRounds()); ; rounds = x.moreRounds(rounds) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("run: %w", err)
		}
		if x.job.Timed || x.job.Decide != nil {
			rounds = 1
		}
		err := x.turn(func() error {
			if first {
				if err := x.start(); err != nil {
					return err
				}
			}
			for ; ; rounds = x.moreRounds(rounds) {
				if err := x.visit(rounds); err != nil || !x.stays() {
					return err
				}
			}
		})
		if err != nil {
			return err
		}
		first = false
		if levels := x.result.Levels; x.job.Observe != nil && len(levels) > seen {
			x.job.Observe(levels[seen:])
			seen = len(levels)
		}
		switch x.now.state {
		case stateDone:
			return nil
		case stateLevels:
			if x.job.From != nil {
				return nil
			}
			return fmt.Errorf("%d levels: %w", x.now.level, ErrLevels)
		case stateStuck:
			return fmt.Errorf("level %d: %w", x.now.level, ErrStuck)
		case stateAsk:
			if err := x.ask(); err != nil {
				return err
			}
		}
	}
}

// stays says whether the job goes on in the same turn. If nobody else waits for the device, a short job would otherwise
// wait longer for its own goroutine than for the device.
func (x *run) stays() bool {
	return x.job.Turn == nil && x.job.Decide == nil && !x.job.Timed && x.now.state < stateFull && x.result.Rounds < uint32(x.mostRounds())
}

// moreRounds is how many rounds the next visit enqueues, given those of this one. Idle
// rounds at the end cost as much as a look at the outcome, so that a job that is probably
// nearly done gets few.
func (x *run) moreRounds(rounds int) int {
	if x.result.Visits == 1 {
		return min(firstRounds/2, x.mostRounds())
	}
	return min(2*rounds, x.mostRounds())
}

// mostRounds is how many rounds a visit may have.
func (x *run) mostRounds() int {
	if !x.m.software {
		return mostRounds
	}
	return max(1, min(mostRounds, softwareVisitEdges/max(int(x.shape.edges), 1)))
}

// ask lets the host decide the level that waits.
func (x *run) ask() error {
	view := x.view(x.now.level, x.now.frontierNodes, x.now.frontierEdges, x.now.unexplored, x.now.topology)
	topology, groups, err := x.job.Decide(view)
	if err != nil {
		return fmt.Errorf("deciding level %d: %w", view.Level, err)
	}
	if topology < policy.TopologySparse || topology > policy.TopologyMemoryConstrained {
		return fmt.Errorf("deciding level %d: topology %d cannot run: %w", view.Level, topology, ErrJob)
	}
	if groups = min(groups, x.m.groups); groups == 0 {
		groups = x.geometry.Groups
	}
	return x.turn(func() error {
		return errors.Join(x.putWord(atPushGroups, x.pushGroups(&x.m, groups)), x.putWord(x.roundAt()+atDecided, uint32(topology)))
	})
}

func (x *run) view(level, nodes, edges, unexplored, previous uint32) View {
	return View{Level: level, Nodes: x.shape.nodes, Edges: x.shape.edges, FrontierNodes: nodes, FrontierEdges: edges,
		UnexploredEdges: unexplored, Previous: policy.Topology(previous)}
}

// start sows the sources. Called on the device's thread.
func (x *run) start() error {
	x.bind()
	x.begun = time.Now()
	control := x.plan.control(&x.m, &x.shape)
	if err := x.scratch.stage.put(x.scratch.buffers[bindControl].id, 0, gpu.BytesAt(control)); err != nil {
		return err
	}
	width := x.geometry.Width
	x.dev.Dispatch(x.programs[kindBegin].id, min((x.shape.nodes-1)/width+1, 4096))
	x.dev.Barrier()
	if seeds := x.scratch.seeds; seeds.id.Buffer != 0 {
		x.dev.BindStorage(bindTiles, seeds.id, 0, seeds.size)
		x.dev.Dispatch(x.programs[kindSow].id, min((uint32(len(x.job.Sources))-1)/width+1, 4096))
		x.dev.Barrier()
		x.bindOne(bindTiles)
	}
	return nil
}

// visit enqueues rounds and looks at the outcome. Called on the device's thread.
func (x *run) visit(rounds int) error {
	x.bind()
	for i := range rounds {
		x.round(i)
		x.result.Rounds++
		if i == 0 {
			x.dev.Flush() // the device begins while the host enqueues the rest
		}
	}
	x.result.Visits++
	records := make([]levelRecord, lookedRecords)
	log := x.scratch.buffers[bindLog].id
	err := x.scratch.stage.look(span{x.scratch.buffers[bindControl].id, x.roundAt(), gpu.BytesAt(&x.now)}, span{log, 0, gpu.Bytes(records)})
	x.result.Time = time.Since(x.begun)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	x.timing.take(x)
	logged := int(min(x.now.logged, logRecords))
	if logged == 0 {
		return nil
	}
	if logged > lookedRecords {
		records = make([]levelRecord, logged)
		if err := x.scratch.stage.get(log, 0, gpu.Bytes(records)); err != nil {
			return err
		}
	}
	if err := x.putWord(x.roundAt()+atLogged, 0); err != nil {
		return err
	}
	x.record(records[:logged])
	return nil
}

// roundAt is where the words that the next round reads begin in the control block, in bytes.
func (x *run) roundAt() int { return atRounds + int(x.result.Rounds%slots)*roundBytes }

// putWord writes a word of the control block for the next round.
func (x *run) putWord(offset int, value uint32) error {
	return x.scratch.stage.put(x.scratch.buffers[bindControl].id, offset, gpu.BytesAt(&value))
}

// round enqueues the kernels of a round. If a job has many levels, or may have fused ones, the persistent kernel is in
// every fourth round. Called on the device's thread.
func (x *run) round(i int) {
	persistent := i%4 == 0 && x.programs[kindPersistent] != nil && (x.fuses() || x.result.Visits >= persistentVisits)
	x.timing.mark(x, 0)
	x.timing.mark(x, 1)
	level := x.tell(kindLevel, persistent)
	x.dev.Dispatch(level, x.groups)
	x.dev.Barrier()
	if persistent {
		x.dev.DispatchIndirect(x.tell(kindPersistent, persistent), x.scratch.buffers[bindArgs].id, 0)
		x.dev.Barrier()
	}
	x.timing.mark(x, 2)
}

// tell sets the uniforms of a kernel's next dispatch: which round it is, and whether the persistent kernel is in it.
func (x *run) tell(k kind, persistent bool) gpu.Program {
	p := x.programs[k]
	x.dev.SetUniform(p.id, p.round, x.result.Rounds)
	if p.offers >= 0 {
		x.dev.SetUniform(p.id, p.offers, bit(persistent))
	}
	return p.id
}

// readValues counts the nodes that were reached and reads the values. Called on the device's thread.
func (x *run) readValues() error {
	x.bind()
	x.dev.Dispatch(x.programs[kindCount].id, min((x.shape.nodes-1)/x.geometry.Width+1, 1024))
	x.dev.Barrier()
	reached := make([]uint32, 2)
	err := x.scratch.stage.get(x.scratch.buffers[bindTotals].id, atReached, gpu.Bytes(reached))
	if err == nil && !x.job.Discard {
		x.result.Values = make([]uint32, x.shape.nodes)
		err = x.scratch.stage.get(x.scratch.buffers[bindValues].id, 0, gpu.Bytes(x.result.Values))
	}
	if err != nil {
		return fmt.Errorf("values: %w", err)
	}
	x.result.Reached, x.result.EdgesTraversed = reached[0], uint64(reached[1])
	return x.dev.Check()
}
