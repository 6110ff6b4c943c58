package frontier

import (
	"fmt"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/policy"
)

// plan is a job made concrete for a graph and a device.
type plan struct {
	job        *Job
	cfg        *policy.Config
	situation  Situation
	thresholds Thresholds
	geometry   policy.Geometry
	capacity   uint32   // nodes of a hit buffer
	blocks     []uint32 // pieces of heavy blocks, four words each
	pullBlocks uint32
	groups     uint32        // of the level kernel
	sizes      [bindings]int // bytes of the job's own buffers
	bytes      uint64
}

// machine is what a plan needs to know about the device.
type machine struct {
	software, subgroups bool
	width               uint32 // invocations of a workgroup
	groups              uint32 // workgroups of a dispatch
	block               int64  // bytes of a storage block
}

func machineOf(t gpu.Traits) machine {
	return machine{t.Software, t.Subgroups, min(t.MaxWidth, t.MaxInvocations), min(t.MaxGroups, 1<<20), t.StorageBlockBytes}
}

// team is how many workgroups of how many invocations the persistent kernel has.
func (m *machine) team() (groups, width uint32) {
	if m.software {
		return 1, min(m.width, softwareWidth)
	}
	return teamGroups, min(m.width, teamWidth)
}

func (r *Graph) plan(job *Job) (*plan, error) {
	p := &plan{job: job, cfg: job.Config, situation: r.Situation(job)}
	if p.cfg == nil {
		standard := policy.Standard()
		p.cfg = &standard
	}
	var err error
	if p.thresholds, err = newThresholds(p.cfg, &p.situation); err != nil {
		return nil, err
	}
	if err := job.check(r.shape.nodes); err != nil {
		return nil, err
	}
	m := machineOf(r.traits)
	if err := p.chooseGeometry(&m); err != nil {
		return nil, err
	}
	p.share(&m, &r.shape, r.pair.In.Offsets)
	return p, p.fit(&m, &r.shape)
}

// check refuses a job that no graph of so many nodes can run.
func (j *Job) check(nodes uint32) error {
	switch {
	case j.Semiring >= semirings:
		return fmt.Errorf("%s is unknown: %w", j.Semiring, ErrJob)
	case (j.Semiring == User) != (j.Join != nil):
		return fmt.Errorf("%s: a join belongs to semiring user, and to no other: %w", j.Semiring, ErrJob)
	case j.Join != nil && j.Join.Check() != nil:
		return fmt.Errorf("%w: %w", j.Join.Check(), ErrJob)
	case j.Semiring != Flow && (j.Gen != nil || j.Kill != nil):
		return fmt.Errorf("%s: gen and kill belong to semiring flow, and to no other: %w", j.Semiring, ErrJob)
	case j.Gen != nil && len(j.Gen) != int(nodes), j.Kill != nil && len(j.Kill) != int(nodes):
		return fmt.Errorf("gen of %d nodes and kill of %d for a graph of %d: %w", len(j.Gen), len(j.Kill), nodes, ErrJob)
	case j.From != nil && (j.Semiring != User || len(j.From) != int(nodes)):
		return fmt.Errorf("%s: values of %d nodes to begin from belong to semiring user, one for each of %d nodes: %w", j.Semiring, len(j.From), nodes, ErrJob)
	case j.Topology > policy.TopologyMemoryConstrained:
		return fmt.Errorf("topology %d is unknown: %w", j.Topology, ErrJob)
	case j.State.Topology > policy.TopologyMemoryConstrained:
		return fmt.Errorf("topology %d in the state before is unknown: %w", j.State.Topology, ErrJob)
	case j.Seeds != nil && len(j.Seeds) != len(j.Sources):
		return fmt.Errorf("%d values for %d sources: %w", len(j.Seeds), len(j.Sources), ErrJob)
	case j.Seeds != nil && j.Semiring == BFS:
		return fmt.Errorf("levels begin with 0 at every source and take no seeds: %w", ErrJob)
	}
	for _, s := range j.Sources {
		if s >= nodes && j.Semiring != Components {
			return fmt.Errorf("source %d: the graph has nodes 0 to %d: %w", s, int64(nodes)-1, ErrJob)
		}
	}
	return nil
}

func (p *plan) chooseGeometry(m *machine) error {
	g := p.job.Geometry
	switch {
	case g.Width == 0 && m.software:
		g.Width = softwareWidth
	case g.Width == 0:
		g.Width = hardwareWidth
	}
	if g.Width < leastWidth || g.Width > mostWidth || g.Width&(g.Width-1) != 0 || g.Width > m.width {
		return fmt.Errorf("width %d: want a power of two from %d to %d: %w", g.Width, leastWidth, min(m.width, mostWidth), ErrJob)
	}
	if g.Groups == 0 || g.Groups > m.groups {
		g.Groups = m.groups
	}
	p.geometry = g
	return nil
}

// share sizes the dispatches, and lists the pieces of the blocks that have too many in-edges for one workgroup.
func (p *plan) share(m *machine, s *shape, inOffsets []uint32) {
	width := p.geometry.Width
	whole, most := (s.nodes-1)/width+1, blockEdges(width)
	for block := range whole {
		first := block * width
		if edges := inOffsets[min(first+width, s.nodes)] - inOffsets[first]; edges >= most {
			parts := edges/most + 1
			for part := range parts {
				p.blocks = append(p.blocks, block, part, parts, 0)
			}
		}
	}
	p.pullBlocks = whole + uint32(len(p.blocks)/4)
	p.groups = min(max(p.pullBlocks, s.edges/(4*width)), hardwareGroups, m.groups)
	if m.software {
		p.groups = min(max(p.pullBlocks/softwareNodes, s.edges/(softwareEdges*width), 1), softwareGroups, m.groups)
	}
}

// fit chooses the hit capacity.
func (p *plan) fit(m *machine, s *shape) error {
	bitWords := (int(s.nodes) + 31) / 32
	p.sizes[bindControl] = controlBytes
	p.sizes[bindTotals] = totalsBytes
	p.sizes[bindArgs] = argsBytes
	p.sizes[bindLog] = recordBytes * (logRecords + 1)
	p.sizes[bindValues] = 4 * int(s.nodes)
	p.sizes[bindBits] = 3 * 4 * bitWords
	p.sizes[bindTiles] = 8 * max(int(s.tiles), 1)
	p.sizes[bindBlocks] = max(4*len(p.blocks), 16)
	switch {
	case p.job.Semiring == Flow:
		p.sizes[bindFacts] = 8 * int(s.nodes)
	case p.job.From != nil:
		p.sizes[bindFacts] = 4 * int(s.nodes)
	}
	if facts := int64(p.sizes[bindFacts]); facts > m.block {
		return fmt.Errorf("facts of %d nodes take %d bytes, the device's largest storage block is %d: %w", s.nodes, facts, m.block, ErrTooLarge)
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
			return fmt.Errorf("values, bitmaps and two hit buffers of %d nodes take %d bytes, the budget is %d: %w", least, fixed+8*uint64(least), b, ErrBudget)
		}
		p.capacity = uint32(min(uint64(p.capacity), (b-fixed)/8))
	}
	p.capacity = uint32(min(int64(p.capacity), m.block/8))
	p.sizes[bindQueue] = 8 * int(p.capacity)
	p.bytes = fixed + uint64(p.sizes[bindQueue])
	return nil
}

// control is the control block with which a job begins.
func (p *plan) control(m *machine, s *shape) *controlBlock {
	job := p.job
	c := &controlBlock{job: jobWords{
		nodes: s.nodes, edges: s.edges, hitCapacity: p.capacity, bitWords: (s.nodes + 31) / 32, seeds: uint32(len(job.Sources)),
		allActive: job.active(), hostDecides: bit(job.Decide != nil), maxLevels: p.maxLevels(s), pushGroups: p.pushGroups(m, p.geometry.Groups),
		pullBlocks: p.pullBlocks, persistentNodes: persistentNodes, persistentEdges: persistentEdges, persistentTurns: 1<<32 - 1,
		Thresholds: p.thresholds,
	}}
	if job.Topology != policy.TopologyEmpty {
		c.job.forced = uint32(job.Topology)
	}
	if p.mayPersist() {
		c.job.persistentGroups, _ = m.team()
	}
	if m.software {
		c.job.persistentTurns = softwareTurns
	}
	c.rounds[0] = roundWords{state: stateStart, levelRecord: levelRecord{level: 1<<32 - 1, topology: uint32(job.State.Topology), unexplored: s.edges}}
	return c
}

// maxLevels is the number of levels after which the job ends.
func (p *plan) maxLevels(s *shape) uint32 {
	switch {
	case p.job.From != nil:
		return 1
	case p.job.MaxLevels != 0:
		return p.job.MaxLevels
	case p.job.Semiring == User:
		return saturate(32*uint64(s.nodes) + 1)
	}
	return 1<<32 - 1
}

// pushGroups is the bound on the workgroups of a push, given the one that was ordered.
func (p *plan) pushGroups(m *machine, ordered uint32) uint32 {
	if m.software {
		return softwareGroups // fewer might exceed the loop budget
	}
	return ordered
}

// mayPersist says whether a level of the job may run in the persistent kernel.
func (p *plan) mayPersist() bool { return !p.job.Timed }

// fuses says whether the job can have a fused level.
func (p *plan) fuses() bool {
	fused := uint32(policy.TopologyFused)
	return p.job.Decide != nil || p.job.Topology == policy.TopologyFused || p.job.Ruled() && (p.thresholds.Wide == fused || p.thresholds.Kept == fused)
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
