package live

import (
	"math"

	"ringmaster/megakernel/policy"
)

// maxBarred bounds the geometries that an exploration gives up; an exploration
// that has to give up more ends.
const maxBarred = 16

// Bar tells the tuner that a geometry it suggested does not run here, because a
// plan or the engine turns it into another one. It is not suggested again until
// the next exploration begins. A geometry that is not in the space is ignored.
func (t *Tuner) Bar(g policy.Geometry) {
	config, ok := t.space.index[g]
	if !ok || t.isBarred(config) {
		return
	}
	full := t.bars == maxBarred
	if !full {
		t.barred[t.bars] = config
		t.bars++
	}
	if t.look.open && t.look.config == config {
		t.look = look{}
		t.thinks = t.before.ran
	}
	if config == t.current {
		t.leave()
	}
	if full && t.left > 0 {
		t.settle()
	}
	t.suggest(t.current)
	t.Think()
}

// leave keeps another geometry than the incumbent, which does not run: one that ran,
// or else the best by the model among those not barred. A plan or an engine turns a
// geometry into a smaller one; therefore that one has fewer workgroups and invocations
// than any barred geometry, if there are such geometries.
func (t *Tuner) leave() {
	t.before = launch{}
	if ran := t.everRan(); len(ran) > 0 {
		var p process
		p.condition(t.space, t.pairs[:t.n])
		from, least := t.current, math.Inf(1)
		for _, c := range ran {
			if d, _ := p.difference(c, from); d < least {
				t.current, least = c, d
			}
		}
		return
	}
	width, groups := uint32(math.MaxUint32), uint32(math.MaxUint32)
	for _, b := range t.barred[:t.bars] {
		g := &t.space.shapes[b]
		width, groups = min(width, g.Width), min(groups, g.Groups)
	}
	rank := func(c int32) (n int) {
		g := &t.space.shapes[c]
		if t.isBarred(c) {
			return 3
		}
		if g.Width >= width && width > t.space.shapes[0].Width {
			n++
		}
		if g.Groups >= groups && groups > 1 {
			n++
		}
		return n
	}
	pick, best := t.current, rank(t.current)
	for c := range int32(t.space.Len()) {
		if n := rank(c); n < best || n == best && t.space.expected(c, pick) < 0 {
			pick, best = c, n
		}
	}
	t.current = pick
}

func (t *Tuner) isBarred(config int32) bool {
	for _, b := range t.barred[:t.bars] {
		if b == config {
			return true
		}
	}
	return false
}
