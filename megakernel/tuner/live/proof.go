package live

import "math"

const (
	// While an exploration trusts the machine, the geometry that is kept runs after so many looks.
	proofEvery = 4
	// Until it ran so often it does after each: that says how noisy launches are.
	firstLaunches = 3
)

// proof is a launch of the geometry that is kept, to see that a machine has not changed.
type proof struct {
	due  bool
	at   uint64  // when it had not
	jump float64 // by how much it had
}

// prove sees to it that an exploration which trusts the machine notices when that changes its
// state: a look that seems to be better than what is kept is held against it before it takes
// its place, and so is one in a few.
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
