package frontier

import (
	"fmt"

	"ringmaster/megakernel/policy"
)

// plan is a job made concrete for a graph and a device.
type plan struct {
	job        *Job
	cfg        *policy.Config
	situation  Situation
	thresholds Thresholds
	geometry   Geometry
	residentAt uint32   // width of the resident kernel
	capacity   uint32   // nodes of a hit buffer
	blocks     []uint32 // pieces of heavy blocks, four words each
	pullBlocks uint32
	pullGroups uint32
	groups     uint32        // of the level kernel in the first round
	sizes      [bindings]int // bytes of the job's own buffers
	bytes      uint64
}

// machine is what a plan needs to know about the device.
type machine struct {
	width  uint32 // invocations of a workgroup
	groups uint32 // workgroups of a dispatch
	block  int64  // bytes of a storage block
	narrow bool   // see Kernels

	teamWidth uint32 // see Kernels
}

func (r *Resident) machine() machine {
	sizeX, groupsX, invocations := r.dev.WorkgroupLimits()
	return machine{
		width:  min(sizeX, invocations),
		groups: min(groupsX, 1<<20),
		block:  r.dev.StorageBlockLimit(),
		narrow: r.kernels.narrow,

		teamWidth: r.kernels.teamWidth,
	}
}

// Widths of workgroups.
const (
	leastWidth  = 32
	mostWidth   = 1024
	wideWidth   = 256
	narrowWidth = 64
)

// Frontiers up to these sizes may run in the resident kernel.
const (
	residentNodes = 8192
	residentEdges = 32_768
)

func (r *Resident) plan(job *Job) (*plan, error) {
	p := &plan{job: job, cfg: job.Config}
	if p.cfg == nil {
		standard := policy.Standard()
		p.cfg = &standard
	}
	p.situation = Situation{Nodes: r.shape.nodes, Edges: r.shape.edges, HotOpcodes: job.HotOpcodes, HotWindows: job.HotWindows,
		MemoryPressureBps: job.MemoryPressureBps, PressureKnown: job.PressureKnown}
	var err error
	if p.thresholds, err = NewThresholds(p.cfg, &p.situation); err != nil {
		return nil, err
	}
	if err := job.check(r.shape.nodes); err != nil {
		return nil, err
	}
	m := r.machine()
	if err := p.chooseGeometry(&m); err != nil {
		return nil, err
	}
	p.heavyBlocks(&m, r)
	return p, p.fit(&m, &r.shape)
}

// check refuses a job that no graph of so many nodes can run.
func (j *Job) check(nodes uint32) error {
	switch {
	case j.Semiring >= semirings:
		return fmt.Errorf("frontier: %s is unknown: %w", j.Semiring, ErrJob)
	case (j.Semiring == User) != (j.Join != nil):
		return fmt.Errorf("frontier: %s: a join belongs to semiring user, and to no other: %w", j.Semiring, ErrJob)
	case j.Join != nil && j.Join.Check() != nil:
		return fmt.Errorf("frontier: %w: %w", j.Join.Check(), ErrJob)
	case j.Semiring != Flow && (j.Gen != nil || j.Kill != nil):
		return fmt.Errorf("frontier: %s: gen and kill belong to semiring flow, and to no other: %w", j.Semiring, ErrJob)
	case j.Gen != nil && len(j.Gen) != int(nodes), j.Kill != nil && len(j.Kill) != int(nodes):
		return fmt.Errorf("frontier: gen of %d nodes and kill of %d for a graph of %d: %w", len(j.Gen), len(j.Kill), nodes, ErrJob)
	case j.From != nil && (j.Semiring != User || len(j.From) != int(nodes)):
		return fmt.Errorf("frontier: %s: values of %d nodes to begin from belong to semiring user, one for each of %d nodes: %w", j.Semiring, len(j.From), nodes, ErrJob)
	case j.Topology > policy.TopologyMemoryConstrained:
		return fmt.Errorf("frontier: topology %d is unknown: %w", j.Topology, ErrJob)
	case j.State.Topology > policy.TopologyMemoryConstrained:
		return fmt.Errorf("frontier: topology %d in the state before is unknown: %w", j.State.Topology, ErrJob)
	case j.Seeds != nil && len(j.Seeds) != len(j.Sources):
		return fmt.Errorf("frontier: %d values for %d sources: %w", len(j.Seeds), len(j.Sources), ErrJob)
	case j.Seeds != nil && j.Semiring == BFS:
		return fmt.Errorf("frontier: levels begin with 0 at every source and take no seeds: %w", ErrJob)
	}
	for _, s := range j.Sources {
		if s >= nodes && j.Semiring != Components {
			return fmt.Errorf("frontier: source %d: the graph has nodes 0 to %d: %w", s, int64(nodes)-1, ErrJob)
		}
	}
	return nil
}

func (p *plan) chooseGeometry(m *machine) error {
	g := p.job.Geometry
	p.residentAt = min(m.width, m.teamWidth)
	switch {
	case g.Width == 0 && m.narrow:
		g.Width = narrowWidth
	case g.Width == 0:
		g.Width = wideWidth
	}
	if g.Width < leastWidth || g.Width > mostWidth || g.Width&(g.Width-1) != 0 || g.Width > m.width {
		return fmt.Errorf("frontier: width %d: want a power of two from %d to %d: %w", g.Width, leastWidth, min(m.width, mostWidth), ErrJob)
	}
	if g.Groups == 0 || g.Groups > m.groups {
		g.Groups = m.groups
	}
	p.geometry = g
	return nil
}

// heavyBlocks lists the pieces of the blocks that have too many in-edges for one
// workgroup, or on narrow devices of the nodes that have too many for one invocation, and
// sizes the pull.
func (p *plan) heavyBlocks(m *machine, r *Resident) {
	width, offsets, nodes := p.geometry.Width, r.pair.In.Offsets, r.shape.nodes
	most := kernel{width: width, narrow: m.narrow}.blockEdges()
	if m.narrow {
		for v := range nodes {
			if first, end := offsets[v], offsets[v+1]; end-first >= most {
				for ; first < end; first += min(narrowPiece, end-first) {
					p.blocks = append(p.blocks, v, first, min(first+narrowPiece, end), 0)
				}
			}
		}
		p.pullBlocks = uint32(len(p.blocks) / 4)
		p.pullGroups = max((nodes-1)/(width*narrowNodes)+1, p.pullBlocks/(width*narrowRows)+1)
		return
	}
	whole := (nodes-1)/width + 1
	for block := range whole {
		first := block * width
		if edges := offsets[min(first+width, nodes)] - offsets[first]; edges >= most {
			parts := edges/most + 1
			for part := range parts {
				p.blocks = append(p.blocks, block, part, parts, 0)
			}
		}
	}
	p.pullBlocks = whole + uint32(len(p.blocks)/4)
	p.pullGroups = min(p.pullBlocks, m.groups)
	p.groups = min(max(p.pullBlocks, r.shape.edges/(4*width), sets), levelGroups) / sets * sets
}

// fit chooses the hit capacity.
func (p *plan) fit(m *machine, s *shape) error {
	bitWords := (int(s.nodes) + 31) / 32
	p.sizes[bindControl] = 4 * (ctlState + sets*slotWords)
	p.sizes[bindTotals] = 4 * totalsWords
	p.sizes[bindArgs] = 4 * argWords
	p.sizes[bindLog] = 4 * logWords * (logRecords + 1)
	p.sizes[bindValues] = 4 * int(s.nodes)
	p.sizes[bindBits] = 3 * 4 * bitWords
	if m.narrow {
		p.sizes[bindBits] = 5 * 4 * bitWords
	}
	p.sizes[bindTiles] = 8 * max(int(s.tiles), 1)
	p.sizes[bindBlocks] = max(4*len(p.blocks), 16)
	switch {
	case p.job.Semiring == Flow:
		p.sizes[bindFacts] = 8 * int(s.nodes)
	case p.job.From != nil:
		p.sizes[bindFacts] = 4 * int(s.nodes)
	}
	if facts := int64(p.sizes[bindFacts]); facts > m.block {
		return fmt.Errorf("frontier: facts of %d nodes take %d bytes, the device's largest storage block is %d: %w", s.nodes, facts, m.block, ErrTooLarge)
	}
	p.capacity = s.nodes
	if c := p.job.HitCapacity; c != 0 {
		p.capacity = min(c, s.nodes)
	}
	fixed := uint64(0)
	for _, size := range p.sizes {
		fixed += uint64(size)
	}
	fixed += 8 * uint64(len(p.job.Sources))
	if b := p.job.Budget; b != 0 {
		least := min(p.capacity, uint32(p.cfg.MinHitCapacity))
		if b < fixed+8*uint64(least) {
			return fmt.Errorf("frontier: values, bitmaps and two hit buffers of %d nodes take %d bytes, the budget is %d: %w", least, fixed+8*uint64(least), b, ErrBudget)
		}
		p.capacity = uint32(min(uint64(p.capacity), (b-fixed)/8))
	}
	p.capacity = uint32(min(int64(p.capacity), m.block/8))
	p.sizes[bindQueue] = 8 * int(p.capacity)
	p.bytes = fixed + uint64(p.sizes[bindQueue])
	return nil
}

// control is the control block with which a job begins.
func (p *plan) control(m *machine, s *shape) []uint32 {
	job := p.job
	c := make([]uint32, controlWords)
	c[ctlNodes], c[ctlEdges] = s.nodes, s.edges
	c[ctlHitCapacity] = p.capacity
	c[ctlBitWords] = (s.nodes + 31) / 32
	c[ctlSeeds] = uint32(len(job.Sources))
	c[ctlAllActive] = job.active()
	if job.Topology != policy.TopologyEmpty {
		c[ctlForced] = uint32(job.Topology)
	}
	c[ctlHostDecides] = bit(job.Decide != nil)
	c[ctlMaxLevels] = job.MaxLevels
	switch {
	case job.From != nil:
		c[ctlMaxLevels] = 1
	case job.MaxLevels != 0:
	case job.Semiring == User:
		c[ctlMaxLevels] = saturate(32*uint64(s.nodes) + 1)
	default:
		c[ctlMaxLevels] = 1<<32 - 1
	}
	c[ctlPushGroups] = p.geometry.Groups
	c[ctlPullGroups] = p.pullGroups
	c[ctlPullBlocks] = p.pullBlocks
	k := kernel{width: p.geometry.Width, narrow: m.narrow}
	turns := tileEdges(m.narrow)/k.width + stagedHits/k.width + 8 // of a tile
	if m.narrow {
		turns = tileEdges(true)/k.width + 1
	}
	c[ctlTileGroups] = min(max(p.geometry.Groups, s.tiles/(loopBudget/turns)+1), m.groups)
	if s.tiles == 0 {
		c[ctlTileGroups] = 0
	}
	c[ctlHybridDegree] = hybridDegree(m.narrow)
	if p.mayResident() {
		c[ctlResident] = 2 | bit(c[ctlForced] == 0)
	}
	c[ctlResidentNodes], c[ctlResidentEdges] = residentNodes, residentEdges
	if m.narrow {
		c[ctlResidentNodes], c[ctlResidentEdges] = narrowResident, narrowResident
	}
	words := p.thresholds.words()
	copy(c[ctlThresholds:], words[:])
	c[ctlState] = stateStart
	c[ctlLevel] = 1<<32 - 1
	c[ctlTopology] = uint32(job.State.Topology)
	c[ctlUnexplored] = s.edges
	c[ctlBitsNext], c[ctlQueueNext] = 0, 0 // the sources are sown there
	p.planFirst(c)
	return c
}

// planFirst writes the plan of the first round, as write_plan in plan.glsl does for those behind it.
func (p *plan) planFirst(c []uint32) {
	t, prev := &p.thresholds, p.job.State.Topology
	if !hasSettled(c) || t.Wide == uint32(policy.TopologyFused) || prev == policy.TopologyFused || c[ctlMaxLevels] == 0 || p.capacity == 0 {
		return
	}
	lowMost, low, mid, high := t.options(prev)
	option := func(kind policy.Topology) uint32 {
		if kind == policy.TopologyDense {
			return uint32(kind) | statePull<<4
		}
		return uint32(kind) | statePush<<4
	}
	copy(c[ctlPlan:], []uint32{
		planCompletes, lowMost, option(low) | option(mid)<<8 | option(high)<<16, c[ctlUnexplored],
		0, 0, t.PullNodes, p.capacity,
		c[ctlNodes], c[ctlBitWords], c[ctlPushGroups], c[ctlPullBlocks],
		c[ctlHybridDegree],
	})
}

// mayResident says whether a level of the job may run in the resident kernel.
func (p *plan) mayResident() bool { return !p.job.NotResident && !p.job.Timed }

// fuses says whether the job can have a fused level.
func (p *plan) fuses() bool {
	fused := uint32(policy.TopologyFused)
	return p.job.Decide != nil || p.job.Topology == policy.TopologyFused || p.ruled() && (p.thresholds.Wide == fused || p.thresholds.Kept == fused)
}

// active is the control block's word for the nodes that are active at first.
func (j *Job) active() uint32 {
	switch {
	case j.Semiring == Components:
		return activeNumbered
	case j.Semiring == Flow, j.From != nil:
		return activeEmpty
	}
	return activeSources
}

// facts are what a job knows about each node: with Flow, pairs of what the node generates and kills.
func (j *Job) facts(nodes uint32) []uint32 {
	if j.Semiring != Flow {
		return j.From
	}
	pairs := make([]uint32, 2*nodes)
	for v, gen := range j.Gen {
		pairs[2*v] = gen
	}
	for v, kill := range j.Kill {
		pairs[2*v+1] = kill
	}
	return pairs
}

// seeds are the pairs of a source and its value.
func (j *Job) seeds() []uint32 {
	if j.Semiring == Components {
		return nil
	}
	pairs := make([]uint32, 0, 2*len(j.Sources))
	for i, s := range j.Sources {
		value := uint32(0)
		switch {
		case j.Seeds != nil:
			value = j.Seeds[i]
		case j.Semiring == Reach:
			value = 1 << (i & 31)
		case j.Join != nil:
			value = j.Join.Seed
		}
		pairs = append(pairs, s, value)
	}
	return pairs
}
