package policy

// Decide makes one whole decision: Observe, Classify and Plan in sequence.
//
// On an error the recommendation is zero and the plan part of the state is
// the one that went in. The topology part still moves on, as Classify
// returned it: what the signals said holds whether or not a plan fits.
func Decide(cfg *Config, req *Request, prev State) (rec Recommendation, next State, err error) {
	next = prev
	err = DecideInto(cfg, req, &next, &rec)
	return rec, next, err
}

// DecideInto is Decide in place: it overwrites rec and moves the state on. It
// takes two thirds of the time, for a recommendation is large and copied too
// soon after its narrow fields were written.
func DecideInto(cfg *Config, req *Request, state *State, rec *Recommendation) error {
	var sig Signals
	sig.observe(cfg, req)
	var c Classification
	classify(cfg, req, &sig, &state.Topology, &c)
	*rec = Recommendation{}
	if err := plan(cfg, req, &sig, &c, rec, &state.Plan); err != nil {
		*rec = Recommendation{}
		return err
	}
	return nil
}
