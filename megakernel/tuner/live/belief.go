package live

import "math"

// belief is which model is assumed, and for the one of a software renderer what is assumed of a
// workload and a machine: the numbers of a slot's cost and of the threads in their tables.
type belief struct {
	gpu           bool
	slot, threads int8
	fails         bool // it does not explain what was measured
}

const (
	slotCosts   = 21
	leastSlot   = 0.02 // microseconds
	slotStep    = 0.35 // of the logarithm, from one cost in the table to the next
	threadSteps = 7    // 1, 2, 4 ... threads; 1 if others use all processors but one
	// What is assumed before a launch: a cost of 0.16 microseconds, within a factor of four, and two
	// threads, within a factor of two; costs of this machine within a factor of two of the model's.
	slotSpread = 4.0
	speedVar   = 0.5
	// Variance of the models' logarithms. What a launch on a GPU takes is given up to a factor.
	misfitVar     = 0.01
	gpuMisfitVar  = 0.06
	unlikelyGPU   = 3.0 // standard deviations: what seems to be a software renderer mostly is one
	unlikelyAlone = 2.0 // and it mostly has more than one processor
	// A model fails if it misses more than this share of at least so many geometries by more than
	// two standard deviations.
	failingShare   = 1.0 / 3
	enoughToFailAt = 5
	// This part of what a model that does not fail expects is added to what was measured before a
	// geometry is kept.
	cautious = 0.3
)

// guess is the belief before anything ran. A GPU that is known to be one has no other.
func (s *Space) guess() belief {
	if s.parts == nil {
		return belief{gpu: true}
	}
	return usual
}

var usual = belief{slot: 6, threads: 1}

// parts are the terms of the model of a software renderer's launch: a device that runs few workgroups
// at a time, each to its end, and whose threads share them evenly. Every invocation of a workgroup is set
// up, those of a ticket's last row that have no slot take their time too, and waking other threads costs
// as much as most of a dispatch.
type parts struct {
	dispatches, each, work, slots, groups float64
}

func (r *roughCPU) parts(w *Workload, g Geometry) parts {
	depth := math.Min(float64(g.Depth), float64(w.Slots))
	width, chunk := float64(g.Width), math.Min(float64(g.Chunk), depth)
	tickets := math.Ceil(depth / chunk)
	rows := math.Ceil(chunk / width)
	p := parts{
		dispatches: math.Ceil(float64(w.Slots) / depth),
		each:       r.dispatch,
		work:       float64(g.Groups)*width*r.invocation + tickets*(r.claim+rows*width*r.lane),
		slots:      depth,
		groups:     math.Min(float64(g.Groups), tickets),
	}
	if g.Groups > 1 {
		p.each += r.wake
	}
	return p
}

// us is the cost of a launch in microseconds.
func (p *parts) us(slot, threads float64) float64 {
	return p.dispatches * (p.each + (p.work+p.slots*slot)/math.Min(p.groups, threads))
}

func (b belief) values() (slot, threads float64) {
	return leastSlot * math.Exp(slotStep*float64(b.slot)), float64(int(1) << b.threads)
}

// expected is the log of the cost that a geometry is expected to have, up to a constant.
func (s *Space) expected(c int32, b belief) float64 {
	if b.gpu {
		return s.waves[c]
	}
	return math.Log(s.parts[c].us(b.values()))
}

// unexplained is the part of the variances that a model leaves.
func (b belief) unexplained() float64 {
	if b.gpu || b.fails {
		return 1
	}
	return softwareShare
}

// caution is added to the cost of a geometry over another's before one is kept. What was measured may
// be a passing state of the machine, and the model says what the machine usually is. If the launches look
// as if others used all processors but one, they are converted to two.
func (t *Tuner) caution(of, than int32) float64 {
	b := t.belief
	if b.gpu || b.fails {
		return 0
	}
	measured := 0.0
	if b.threads == 0 {
		measured = t.space.expected(of, b) - t.space.expected(than, b)
		b.threads = usual.threads
	}
	expected := t.space.expected(of, b) - t.space.expected(than, b)
	if measured != 0 {
		return (1+cautious)*expected - measured
	}
	return cautious * expected
}

// best is the geometry that is expected to cost least.
func (s *Space) best(b belief) (best int32) {
	for c := range int32(len(s.shapes)) {
		if s.expected(c, b) < s.expected(best, b) {
			best = c
		}
	}
	return best
}

// likeliest is the belief that agrees best with what was measured: with the times of geometries relative
// to each other, and less with how long they are.
func (t *Tuner) likeliest() belief {
	best := belief{gpu: true}
	if t.space.parts == nil {
		return best
	}
	var e evidence
	e.gather(t, gpuMisfitVar, offsetVar)
	least, missed := e.unlikely(t.space, best)
	e.gather(t, misfitVar, speedVar)
	for slot := range int8(slotCosts) {
		for threads := range int8(threadSteps) {
			b := belief{slot: slot, threads: threads}
			if v, m := e.unlikely(t.space, b); v < least {
				best, least, missed = b, v, m
			}
		}
	}
	best.fails = missed > failingShare
	return best
}

// evidence is what launches took, and how much a model may miss it.
type evidence struct {
	n       int
	config  [MaxArms]int32
	us      [MaxArms]float64 // of a usual launch, as a logarithm
	sd      [MaxArms]float64
	weights float64 // sum of the inverse variances
	spread  float64 // variance of what all have in common
	offset  float64 // of twice the negative logarithm of the probability density
}

func (e *evidence) gather(t *Tuner, misfit, spread float64) {
	*e = evidence{spread: spread}
	noise := t.noise.sd()
	for i := range t.arms[:t.n] {
		a := &t.arms[i]
		if a.Stale {
			continue
		}
		v := misfit + noise*noise/a.Count
		e.config[e.n], e.sd[e.n] = a.config, math.Sqrt(v)
		// Of a slot in nanoseconds it becomes of a launch in microseconds.
		e.us[e.n] = a.Mean + t.level + math.Log(float64(t.space.slots)/1e3)
		e.weights += 1 / v
		e.offset += math.Log(v)
		e.n++
	}
}

// unlikely is twice the negative logarithm of a belief's probability density, up to a constant, and the
// share of the geometries that it misses, 0 where few were measured.
func (e *evidence) unlikely(s *Space, b belief) (v, missed float64) {
	var off [MaxArms]float64
	sum := 0.0
	for i := range e.n {
		off[i] = e.us[i] - s.expected(e.config[i], b)
		sum += off[i] / (e.sd[i] * e.sd[i])
	}
	speed := sum / (e.weights + 1/e.spread)
	v = e.offset + speed*speed/e.spread
	if b.gpu {
		v += unlikelyGPU * unlikelyGPU
	} else {
		fromSlot, fromThreads := float64(b.slot-usual.slot)/slotSpread, float64(b.threads-usual.threads)
		v += fromSlot*fromSlot + fromThreads*fromThreads
		if b.threads == 0 {
			v += unlikelyAlone * unlikelyAlone
		}
	}
	for i := range e.n {
		z := math.Abs(off[i]-speed) / e.sd[i]
		if z > 2 {
			missed++
		}
		v += loss(z)
	}
	if e.n < enoughToFailAt {
		return v, 0
	}
	return v, missed / float64(e.n)
}

// loss is a square, and linear beyond two, because launches are sometimes disturbed (Huber).
func loss(z float64) float64 {
	if z > 2 {
		return 4*z - 4
	}
	return z * z
}
