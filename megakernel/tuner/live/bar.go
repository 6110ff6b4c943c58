package live

import (
	"slices"

	"ringmaster/megakernel/policy"
)

// Bar tells the tuner that a geometry it suggested does not run here, because a
// plan or the engine turns it into another one. It is not suggested again until
// a change. If it was the incumbent, the policy's own takes its place, which always
// runs. A geometry that is not in the space is ignored.
func (t *Tuner) Bar(g policy.Geometry) {
	config, ok := t.space.index[g]
	if !ok || config == t.home || t.isBarred(config) {
		return
	}
	if t.bars == maxBarred {
		t.over = true
	} else {
		t.barred[t.bars] = config
		t.bars++
	}
	if t.look.open && t.look.config == config {
		t.look = look{}
	}
	if config == t.current {
		t.keep(t.home)
	}
	t.suggest()
}

func (t *Tuner) isBarred(config int32) bool {
	return slices.Contains(t.barred[:t.bars], config)
}
