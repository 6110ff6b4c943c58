package live

import "math"

const (
	// While an exploration trusts the machine, the geometry that is kept runs after every so many looks.
	proofEvery = 4
	// Until it has run so often it runs after each look, which tells how noisy launches are.
	firstLaunches = 3
)

// proof is a launch of the geometry that is kept, to see that a machine has not changed.
type proof struct {
	due  bool
	at   uint64  // when it last had not changed
	jump float64 // by how much it had changed
}

// prove lets an exploration that trusts the machine notice when the machine changes its state:
// the kept geometry runs again after a look that seems to be better, before that one takes its
// place, and after one in a few of the others.
func (t *Tuner) prove(config int32, y, noise float64) {
	kept := t.find(t.current)
	switch {
	case kept == nil || kept.Stale:
	case config == t.current && t.proof.due:
		t.proof.due = false
		// y is in the mean already.
		d := (y - kept.Mean) * kept.Count / math.Max(kept.Count-1, 1)
		if math.Abs(d) > disturbance*math.Max(noise, noisePrior) {
			t.proof.jump = d
			t.unrest++
			return
		}
		t.proof.at = t.clock
		t.current = t.arms[t.best()].config
	case config == t.current:
	case t.banned(kept, y, noise): // it does not run again
		t.current = config
	default:
		every := uint64(proofEvery)
		if kept.Count < firstLaunches {
			every = 1
		}
		t.proof.due = t.left > 0 && (y < kept.Mean || t.clock-t.proof.at > every)
	}
}
