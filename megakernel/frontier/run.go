package frontier

import (
	"context"
	"fmt"
	"time"

	"ringmaster/megakernel/policy"
)

// Rounds that the host enqueues before it looks at the outcome.
const (
	firstRounds = 8
	mostRounds  = 64
)

// run is a job on its way.
type run struct {
	*Resident
	*plan
	m        machine
	programs [kinds]uint32
	control  []uint32 // as last read
	result   Result
	timing   timing
}

// Run runs a job to its end. It uses the device in turns and binds what it needs at
// the begin of each; ctx is looked at between them. The levels' topologies are checked against
// the policy's own decision, and a difference is an error.
func (r *Resident) Run(ctx context.Context, job Job) (Result, error) {
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
	x := &run{Resident: r, plan: p, m: r.machine()}
	x.result.HitCapacity, x.result.Geometry, x.result.Bytes = p.capacity, p.geometry, p.bytes
	if err := r.dev.Do(x.prepare); err != nil {
		return Result{}, err
	}
	if err := x.loop(ctx); err != nil {
		return Result{}, err
	}
	return x.result, r.dev.Do(x.readValues)
}

func (x *run) loop(ctx context.Context) error {
	begin := time.Now()
	first := true
	for rounds := firstRounds; ; rounds = min(2*rounds, mostRounds) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("frontier: run: %w", err)
		}
		if x.job.Timed || x.job.Decide != nil {
			rounds = 1
		}
		err := x.dev.Do(func() error {
			if first {
				x.start()
			}
			return x.visit(rounds)
		})
		if err != nil {
			return err
		}
		first = false
		x.result.Visits++
		x.result.Time = time.Since(begin)
		switch x.control[ctlState] {
		case stateDone:
			return nil
		case stateLevels:
			return fmt.Errorf("frontier: %d levels: %w", x.control[ctlLevel], ErrLevels)
		case stateAsk:
			if err := x.ask(); err != nil {
				return err
			}
		}
	}
}

// ask has the host decide the level that waits.
func (x *run) ask() error {
	view := x.view(x.control[ctlLevel], x.control[ctlFrontierNodes], x.control[ctlFrontierEdges], x.control[ctlUnexplored], x.control[ctlTopology])
	topology, err := x.job.Decide(view)
	if err != nil {
		return fmt.Errorf("frontier: deciding level %d: %w", view.Level, err)
	}
	if topology < policy.TopologySparse || topology > policy.TopologyMemoryConstrained {
		return fmt.Errorf("frontier: deciding level %d: topology %d cannot run: %w", view.Level, topology, ErrJob)
	}
	return x.dev.Do(func() error {
		x.dev.WriteBuffer(x.scratch.buffers[bindControl].id, 4*ctlDecided, bytesOf([]uint32{uint32(topology)}))
		return nil
	})
}

func (x *run) view(level, nodes, edges, unexplored, previous uint32) View {
	return View{Level: level, Nodes: x.shape.nodes, Edges: x.shape.edges, FrontierNodes: nodes, FrontierEdges: edges,
		UnexploredEdges: unexplored, Previous: policy.Topology(previous)}
}

// prepare builds what the job needs, and runs each new program once without
// work, because some drivers compile at the first dispatch. Called on the device's thread.
func (x *run) prepare() error {
	if err := x.allocate(); err != nil {
		return err
	}
	x.bind()
	idle := make([]uint32, controlWords)
	idle[ctlState] = stateDone
	x.dev.WriteBuffer(x.scratch.buffers[bindControl].id, 0, bytesOf(idle))
	for k := range kind(kinds) {
		key := kernel{kind: k, semiring: x.job.Semiring, weighted: x.shape.weighted, width: x.geometry.Width}
		if k == kindResident {
			key.width = x.residentAt
		}
		program, fresh, err := x.kernels.get(key)
		if err != nil {
			return err
		}
		x.programs[k] = program
		if fresh {
			x.dev.Dispatch(program, 1)
		}
	}
	x.dev.CommandBarrier()
	x.dev.Finish()
	return x.dev.Check()
}

// start sows the sources. Called on the device's thread.
func (x *run) start() {
	x.bind()
	x.dev.WriteBuffer(x.scratch.buffers[bindControl].id, 0, bytesOf(x.plan.control(&x.m, &x.shape)))
	totals := make([]uint32, totalWords)
	for group := totPushGroups; group < totalWords; group += 4 {
		totals[group+1], totals[group+2] = 1, 1
	}
	x.dev.WriteBuffer(x.scratch.buffers[bindTotals].id, 0, bytesOf(totals))
	width := x.geometry.Width
	x.dev.Dispatch(x.programs[kindBegin], min((x.shape.nodes-1)/width+1, 4096))
	x.dev.CommandBarrier()
	if seeds := x.scratch.seeds; seeds.id != 0 {
		x.dev.BindStorage(bindTiles, seeds.id, 0, seeds.size)
		x.dev.Dispatch(x.programs[kindSow], min((uint32(len(x.job.Sources))-1)/width+1, 4096))
		x.dev.CommandBarrier()
		x.bindOne(bindTiles)
	}
}

// visit enqueues rounds and looks at the outcome. Called on the device's thread.
func (x *run) visit(rounds int) error {
	x.bind()
	for range rounds {
		x.round()
	}
	control := x.scratch.buffers[bindControl].id
	x.dev.CommandBarrier()
	x.dev.ReadBuffer(control, 0, bytesOf(x.control))
	if err := x.dev.Check(); err != nil {
		return fmt.Errorf("frontier: run: %w", err)
	}
	x.timing.take(x)
	if logged := x.control[ctlLogged]; logged > 0 {
		records := make([]uint32, logWords*min(logged, logRecords))
		x.dev.ReadBuffer(x.scratch.buffers[bindLog].id, 0, bytesOf(records))
		x.dev.WriteBuffer(control, 4*ctlLogged, bytesOf([]uint32{0}))
		return x.record(records)
	}
	return nil
}

// round enqueues the director and the kernels it may choose among.
func (x *run) round() {
	totals := x.scratch.buffers[bindTotals].id
	x.timing.mark(x, 0)
	x.dev.Dispatch(x.programs[kindDirector], 1)
	x.dev.CommandBarrier()
	x.timing.mark(x, 1)
	x.dev.DispatchIndirect(x.programs[kindSweep], totals, 4*totSweepGroups)
	x.dev.DispatchIndirect(x.programs[kindPull], totals, 4*totPullGroups)
	x.dev.DispatchIndirect(x.programs[kindResident], totals, 4*totFusedGroups)
	x.dev.DispatchIndirect(x.programs[kindPush], totals, 4*totPushGroups)
	x.dev.CommandBarrier()
	if x.shape.tiles > 0 {
		x.dev.DispatchIndirect(x.programs[kindTiles], totals, 4*totTileGroups)
		x.dev.CommandBarrier()
	}
	x.timing.mark(x, 2)
}

// readValues takes the values over and counts. Called on the device's thread.
func (x *run) readValues() error {
	x.bind()
	x.dev.Dispatch(x.programs[kindCount], min((x.shape.nodes-1)/x.geometry.Width+1, 1024))
	x.dev.CommandBarrier()
	totals := make([]uint32, totalWords)
	x.dev.ReadBuffer(x.scratch.buffers[bindTotals].id, 0, bytesOf(totals))
	x.result.Values = make([]uint32, x.shape.nodes)
	x.dev.ReadBuffer(x.scratch.buffers[bindValues].id, 0, bytesOf(x.result.Values))
	x.result.Reached, x.result.EdgesTraversed = totals[totReached], uint64(totals[totReachedEdges])
	return x.dev.Check()
}
