package session

// Exploring says whether a queue tries geometries out, or why it does not, and what that
// has cost since its start or the last change of its cost.
type Exploring struct {
	State     string  // "" without a tuner of the mode On
	Looks     int     // that were compared
	LostNs    float64 // by looks
	AllowedNs float64 // that looks may lose, of the time for which users waited
}

// States of a queue that explores, or does not.
const (
	Urgent  = "its users cannot wait"
	Idle    = "the device has time to spare, or works for others"
	Looking = "a look is on offer"
	Saving  = "a look has to be earned"
	Done    = "no other geometry promises a gain"
)

// Exploring sums up the queue's tuners.
func (s *Session) Exploring(env *Env) (x Exploring) {
	over := true
	for _, e := range s.tuners {
		if e.live == nil {
			continue
		}
		x.State = Saving
		x.Looks += e.live.Looks()
		lost, allowed := e.live.Spent()
		x.LostNs, x.AllowedNs = x.LostNs+lost, x.AllowedNs+allowed
		over = over && e.live.Over()
	}
	switch {
	case x.State == "":
	case over:
		x.State = Done
	case env.Urgent:
		x.State = Urgent
	case !s.work.busy():
		x.State = Idle
	case s.looking != nil:
		x.State = Looking
	}
	return x
}
