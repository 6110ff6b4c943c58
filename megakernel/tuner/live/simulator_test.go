package live

import (
	"math"
	"math/rand/v2"
	"testing"

	"ringmaster/megakernel/policy"
)

// machine is a simulated device. It shares no code and no constants with the
// model that the tuner starts from. Times are nanoseconds.
type machine struct {
	name     string
	limits   policy.Limits
	units    float64 // that run workgroups independently
	resident float64 // invocations a unit holds
	slots    float64 // workgroups a unit holds
	simd     float64 // invocations that run in step
	issue    float64 // invocations of a unit that run at full speed
	dispatch float64 // launch overhead
	spawn    float64 // of a workgroup, on its unit
	claim    float64 // of a ticket, in the workgroup
	atomic   float64 // of a ticket, one at a time over the device
	barrier  float64 // of a ticket, for each doubling of subgroups in the workgroup
	bytes    float64 // per nanosecond, past the cache
	cache    float64 // bytes that the cache holds
	host     float64 // per slot, overlapped except for the first dispatch
}

var simulatedH200 = machine{
	name:   "H200-like",
	limits: policy.Limits{MaxWorkgroupSizeX: 1024, MaxInvocationsPerWorkgroup: 1024, MaxWorkgroupsPerDimension: 1 << 30, SubgroupSize: 32},
	units:  132, resident: 2048, slots: 32, simd: 32, issue: 256,
	dispatch: 4500, spawn: 60, claim: 900, atomic: 1.1, barrier: 110, bytes: 3800, cache: 40e6, host: 0.02,
}

var simulatedLlvmpipe = machine{
	name:   "llvmpipe-like",
	limits: policy.Limits{MaxWorkgroupSizeX: 1024, MaxInvocationsPerWorkgroup: 1024, MaxWorkgroupsPerDimension: 65535, SubgroupSize: 8},
	units:  4, resident: 1024, slots: 1, simd: 8, issue: 8,
	dispatch: 28_000, spawn: 1500, claim: 160, atomic: 25, barrier: 210, bytes: 9, cache: 3e6, host: 1.5,
}

// load is a workload: slots of a launch, nanoseconds of a slot in one
// invocation, and how much longer its slowest opcodes take.
type load struct {
	slots uint32
	work  float64
	skew  float64
}

// loads are 12 workloads, ring lengths 256 to 1 Mi, light, heavy and skewed.
func loads(scale float64) (out []load) {
	for _, n := range []uint32{256, 4096, 65_536, 1 << 20} {
		out = append(out, load{n, 60 * scale, 0}, load{n, 2500 * scale, 0}, load{n, 300 * scale, 8})
	}
	return out
}

// ns is the time to drain the ring once, without noise.
func (m *machine) ns(l load, g policy.Geometry) float64 {
	total := 0.0
	for left := float64(l.slots); left > 0; left -= float64(g.Depth) {
		total += m.dispatchNs(l, g, math.Min(left, float64(g.Depth)))
	}
	first := math.Min(float64(g.Depth), float64(l.slots))
	return math.Max(total, m.host*float64(l.slots)) + m.host*first
}

func (m *machine) dispatchNs(l load, g policy.Geometry, slots float64) float64 {
	width, groups, chunk := float64(g.Width), float64(g.Groups), float64(g.Chunk)
	tickets := math.Ceil(slots / chunk)
	perUnit := math.Max(math.Min(m.slots, math.Floor(m.resident/width)), 1)
	active := math.Min(math.Min(groups, tickets), m.units*perUnit)
	onUnit := math.Ceil(active / m.units)
	rows := math.Ceil(math.Min(chunk, slots) / width)
	subgroups := math.Max(width/m.simd, 1)
	// Lanes in step wait for the slowest; a ticket for its slowest subgroup.
	slowest := 1 + l.skew*(1-math.Exp(-0.08*math.Min(width, m.simd)))*(1+0.15*math.Log2(subgroups))
	sharing := math.Max(onUnit*math.Ceil(width/m.simd)*m.simd/m.issue, 1)
	ticket := m.claim + m.barrier*math.Log2(2*subgroups) + rows*l.work*slowest*sharing
	rounds := tickets / active
	if rounds < 8 { // tickets even out over many rounds; few leave a tail
		rounds = (rounds + math.Ceil(rounds)) / 2
	}
	busy := rounds * ticket
	bytes := 64 * slots
	rate := m.bytes
	if bytes < m.cache {
		rate *= 2.2
	}
	wait := math.Max(bytes/rate, tickets*m.atomic)
	return m.dispatch + m.spawn*math.Ceil(groups/m.units) + math.Pow(math.Pow(busy, 4)+math.Pow(wait, 4), 0.25)
}

func (m *machine) space(l load) *Space {
	s, err := NewSpace(Workload{Limits: m.limits, Slots: l.slots})
	if err != nil {
		panic(err)
	}
	return s
}

// ring is a simulated ring with lognormal noise.
type ring struct {
	machine *machine
	load    load
	noise   float64
	speed   float64 // times are multiplied by it
	random  *rand.Rand
}

func newRing(m *machine, l load, seed uint64) *ring {
	return &ring{m, l, 0.03, 1, rand.New(rand.NewPCG(seed, uint64(l.slots)))}
}

// launch is a launch for which users waited.
func (r *ring) launch(g policy.Geometry) Report {
	ns := r.machine.ns(r.load, g) * r.speed * math.Exp(r.noise*r.random.NormFloat64())
	return Report{Geometry: g, Slots: r.load.slots, Ns: uint64(ns), WallNs: uint64(ns) + 10_000, CountsNs: uint64(ns)}
}

// fresh is a tuner that begins with the policy's own geometry.
func (m *machine) fresh(t testing.TB, l load) *Tuner {
	t.Helper()
	standard := policy.Standard()
	plan, _, err := policy.Decide(&standard, &policy.Request{QueueLen: l.slots, Limits: m.limits}, policy.State{})
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{Space: m.space(l), Own: clamped(plan.Geometry(), l)})
}

// best is what the best geometry takes.
func (m *machine) best(l load) float64 {
	s, best := m.space(l), math.Inf(1)
	for c := range s.Len() {
		best = math.Min(best, m.ns(l, s.At(c)))
	}
	return best
}

// described is a machine that says what it holds.
func (m machine) described(units, lanes uint32) *machine {
	m.limits.Units, m.limits.UnitLanes = units, lanes
	return &m
}

func observe(t testing.TB, u *Tuner, r Report) {
	t.Helper()
	if err := u.Observe(r); err != nil {
		t.Fatal(err)
	}
}

// mostOfAnExploration is more launches than a saturated queue needs until nothing is worth a look.
const mostOfAnExploration = 5000

// explored is a tuner of a saturated queue for which nothing is worth a look any more, and that
// ran for a while since. Tuners are plain data: each machine and load is explored once.
func explored(t testing.TB, m *machine, l load, seed uint64) (*Tuner, *ring) {
	t.Helper()
	of := exploration{m.name, l}
	u, known := exploredOnce[of]
	if !known {
		r := newRing(m, l, 1)
		u = *m.fresh(t, l)
		for n := 0; !u.Over(); n++ {
			if n > mostOfAnExploration {
				t.Fatalf("after %d launches and %d looks: still not over", n, u.Looks())
			}
			observe(t, &u, r.launch(u.Next().Geometry))
		}
		for range 50 {
			observe(t, &u, r.launch(u.Next().Geometry))
		}
		exploredOnce[of] = u
	}
	return &u, newRing(m, l, seed)
}

type exploration struct {
	machine string
	load    load
}

var exploredOnce = map[exploration]Tuner{}
