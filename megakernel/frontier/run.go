package frontier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/policy"
)

// Rounds that the host enqueues before it looks at the outcome.
const (
	firstRounds = 8
	mostRounds  = 64

	// flushedRounds is how many of the first rounds of a visit are each flushed to the device at once. With one,
	// breadth-first levels of a Kronecker graph of scale 20 take .374 ms on an H200 instead of .387 ms.
	flushedRounds = 1

	// residentVisits is how often the host looks at a job before sparse levels may run in the resident kernel.
	// Beginning that kernel takes longer than the few small levels of a graph of small diameter.
	residentVisits = 2

	// narrowVisitEdges bounds the rounds of a visit on a narrow device by the edges that they may look at together.
	// llvmpipe on two cores takes 4 to 8 seconds for so many, and nobody else has the device meanwhile.
	narrowVisitEdges = 128 << 20

	// lookedRecords is how many records of levels come with each look at the outcome; more take another transfer.
	lookedRecords = 64
)

// run is a job that is being run.
type run struct {
	*Resident
	*plan
	m        machine
	programs [kinds]gpu.Program
	offers   [kinds]int32 // location of the uniform that offers the resident kernel, or -1
	control  []uint32     // as last read
	result   Result
	timing   timing
	begun    time.Time
	tape     *tape // the rounds that are recorded or run again, or nil
}

// Run runs a job to its end. It uses the device in turns and binds what it needs at the
// beginning of each; ctx is checked between turns. The topologies of the levels are compared
// with the policy's own decisions; a difference is an error that wraps ErrDiffers.
func (r *Resident) Run(ctx context.Context, job Job) (Result, error) {
	return r.run(ctx, job, nil)
}

func (r *Resident) run(ctx context.Context, job Job, t *tape) (Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return Result{}, fmt.Errorf("frontier: run: %w", ErrClosed)
	}
	if r.shape.nodes == 0 {
		return Result{}, job.check(0)
	}
	p, err := r.plan(&job)
	if err != nil {
		return Result{}, err
	}
	x := &run{Resident: r, plan: p, m: r.machine(), tape: t}
	x.result.HitCapacity, x.result.Geometry, x.result.Bytes = p.capacity, p.geometry, p.bytes
	if err := x.build(ctx); err != nil {
		return Result{}, errors.Join(err, x.turn(func() error { return x.tape.unload(x) }))
	}
	err = x.loop(ctx)
	finish := x.turn(func() error {
		x.timing.end(x)
		taken := x.tape.unload(x)
		if err != nil {
			return nil
		}
		return errors.Join(taken, x.readValues())
	})
	if err = errors.Join(err, finish); err != nil {
		return Result{}, err
	}
	return x.result, nil
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
			return fmt.Errorf("frontier: run: %w", err)
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
		switch x.control[ctlState] {
		case stateDone:
			return nil
		case stateLevels:
			if x.job.From != nil {
				return nil
			}
			return fmt.Errorf("frontier: %d levels: %w", x.control[ctlLevel], ErrLevels)
		case stateStuck:
			return fmt.Errorf("frontier: level %d: %w", x.control[ctlLevel], ErrStuck)
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
	return x.job.Turn == nil && x.job.Decide == nil && !x.job.Timed && x.control[ctlState] < stateFull && x.result.Rounds < uint32(x.mostRounds())
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
	if !x.m.narrow {
		return mostRounds
	}
	return max(1, min(mostRounds, narrowVisitEdges/max(int(x.shape.edges), 1)))
}

// ask lets the host decide the level that waits.
func (x *run) ask() error {
	view := x.view(x.control[ctlLevel], x.control[ctlFrontierNodes], x.control[ctlFrontierEdges], x.control[ctlUnexplored], x.control[ctlTopology])
	topology, err := x.job.Decide(view)
	if err != nil {
		return fmt.Errorf("frontier: deciding level %d: %w", view.Level, err)
	}
	if topology < policy.TopologySparse || topology > policy.TopologyMemoryConstrained {
		return fmt.Errorf("frontier: deciding level %d: topology %d cannot run: %w", view.Level, topology, ErrJob)
	}
	groups := x.geometry.Groups
	if x.job.Groups != nil {
		if asked := x.job.Groups(); asked != 0 {
			groups = min(asked, x.m.groups)
		}
	}
	return x.turn(func() error {
		if groups != x.control[ctlPushGroups] {
			x.control[ctlPushGroups] = groups
			if err := x.putWord(ctlPushGroups, groups); err != nil {
				return err
			}
		}
		return x.putWord(ctlDecided, uint32(topology))
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
	stage := x.scratch.stage
	copy(x.control, x.plan.control(&x.m, &x.shape))
	if err := stage.put(x.scratch.buffers[bindControl].id, 0, x.control); err != nil {
		return err
	}
	width := x.geometry.Width
	x.dev.Dispatch(x.programs[kindBegin], min((x.shape.nodes-1)/width+1, 4096))
	x.dev.Barrier()
	if seeds := x.scratch.seeds; seeds.id.Buffer != 0 {
		x.dev.BindStorage(bindTiles, seeds.id, 0, seeds.size)
		x.dev.Dispatch(x.programs[kindSow], min((uint32(len(x.job.Sources))-1)/width+1, 4096))
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
		if i < flushedRounds {
			x.dev.Flush() // the device begins while the host enqueues the rest
		}
	}
	x.result.Visits++
	records := make([]uint32, logWords*lookedRecords)
	log := x.scratch.buffers[bindLog].id
	err := x.scratch.stage.look(x.slot(), span{log, 0, records})
	x.result.Time = time.Since(x.begun)
	if err != nil {
		return fmt.Errorf("frontier: run: %w", err)
	}
	if x.tape.plays() {
		return nil
	}
	x.timing.take(x)
	logged := int(min(x.control[ctlLogged], logRecords))
	if logged == 0 {
		return nil
	}
	if logged > lookedRecords {
		records = make([]uint32, logWords*logged)
		if err := x.scratch.stage.get(log, 0, records); err != nil {
			return err
		}
	}
	if err := x.putWord(ctlLogged, 0); err != nil {
		return err
	}
	return x.record(records[:logWords*logged])
}

// slotAt is where the slot that the next round reads begins, in words after that of slot 0.
func (x *run) slotAt() int {
	if x.m.narrow {
		return 0
	}
	return int(x.result.Rounds%sets) * slotWords
}

// slot is where the director's words are after the last round, and the memory that takes them.
func (x *run) slot() span {
	if x.tape.plays() {
		return span{x.tape.control.id, 4 * (x.tape.round(x.result.Rounds-1)*tapeWords + ctlState), x.control[ctlState:]}
	}
	return span{x.scratch.buffers[bindControl].id, 4 * (x.slotAt() + ctlState), x.control[ctlState:]}
}

// putWord writes a word of the control block for the next round.
func (x *run) putWord(word int, value uint32) error {
	if word >= ctlState {
		word += x.slotAt()
	}
	return x.scratch.stage.put(x.scratch.buffers[bindControl].id, 4*word, []uint32{value})
}

// round enqueues the kernels of a round. If a job has many levels, or may have fused ones, the resident kernel is in
// every fourth round. Called on the device's thread.
func (x *run) round(i int) {
	resident := i%4 == 0 && x.programs[kindResident].Program != 0 && (x.fuses() || x.result.Visits >= residentVisits)
	if x.m.narrow {
		x.narrowRound(i)
		return
	}
	x.timing.mark(x, 0)
	x.timing.mark(x, 1)
	args, at := x.scratch.buffers[bindArgs].id, 0
	if x.tape.plays() {
		args, at = x.tape.bind(x)
	}
	x.tape.bindAnew(x)
	x.offer(kindLevel, resident)
	x.dev.Dispatch(x.programs[kindLevel], x.groups+x.result.Rounds%sets)
	x.dev.Barrier()
	x.tape.take(x)
	if resident {
		x.dev.DispatchIndirect(x.programs[kindResident], args, at+4*argsFused)
		x.dev.Barrier()
	}
	x.timing.mark(x, 2)
}

// narrowRound is a round of a director and the dispatches that it orders.
func (x *run) narrowRound(i int) {
	args, at := x.scratch.buffers[bindArgs].id, 0
	switch {
	case x.tape.plays():
		args, at = x.tape.bind(x)
		x.dev.DispatchIndirect(x.programs[kindDirector], args, at+4*argsFused)
		x.dev.Barrier()
	default:
		x.tape.bindAnew(x)
		if i == 0 || x.tape != nil && !x.tape.idle { // a recording has idle rounds too
			x.dev.Dispatch(x.programs[kindDirector], 1)
		} else {
			x.dev.DispatchIndirect(x.programs[kindDirector], args, 4*argsDirector)
		}
		x.dev.Barrier()
		x.tape.take(x)
	}
	x.timing.mark(x, 0)
	x.timing.mark(x, 1)
	x.dev.DispatchIndirect(x.programs[kindPull], args, at+4*argsPull)
	x.dev.DispatchIndirect(x.programs[kindPush], args, at+4*argsPush)
	x.dev.Barrier()
	x.dev.DispatchIndirect(x.programs[kindTiles], args, at+4*argsTiles)
	x.dev.Barrier()
	x.timing.mark(x, 2)
}

// offer tells a kernel that decides whether the resident kernel is in its round. It sets the uniform only if its program
// was told otherwise before, by this job or another.
func (x *run) offer(k kind, resident bool) {
	program := x.programs[k]
	if at := x.offers[k]; at >= 0 && x.kernels.offered[program] != resident {
		x.dev.SetUniform(program, at, bit(resident))
		x.kernels.offered[program] = resident
	}
}

// readValues counts the nodes that were reached and reads the values. Called on the device's thread.
func (x *run) readValues() error {
	x.bind()
	x.dev.Dispatch(x.programs[kindCount], min((x.shape.nodes-1)/x.geometry.Width+1, 1024))
	x.dev.Barrier()
	totals := make([]uint32, setWords)
	err := x.scratch.stage.get(x.scratch.buffers[bindTotals].id, 4*totCounted, totals)
	if err == nil && !x.job.Discard {
		x.result.Values = make([]uint32, x.shape.nodes)
		err = x.scratch.stage.get(x.scratch.buffers[bindValues].id, 0, x.result.Values)
	}
	if err != nil {
		return fmt.Errorf("frontier: values: %w", err)
	}
	x.result.Reached, x.result.EdgesTraversed = totals[totReached], uint64(totals[totReachedEdges])
	return x.dev.Check()
}
