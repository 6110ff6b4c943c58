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
	rec.Reasons = [MaxReasons]Reason{} // the plan writes every other field
	raw, topology, err := classify(cfg, req, &sig, state.Topology.Topology, &rec.Reasons[0])
	if err == nil {
		state.Topology.Topology = topology
		err = plan(cfg, req, &sig, raw, topology, rec, &state.Plan)
	}
	if err != nil {
		*rec = Recommendation{}
	}
	return err
}
