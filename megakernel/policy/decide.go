package policy

// Decide makes one whole decision: Observe, Classify and Plan in sequence.
//
// On an error the recommendation is zero and the plan part of the state is
// the one that went in. The topology part still moves on, as Classify
// returned it: what the signals said holds whether or not a plan fits.
func Decide(cfg *Config, req *Request, prev State) (rec Recommendation, next State, err error) {
	sig := observe(cfg, req)
	var c Classification
	next.Topology = classify(cfg, req, &sig, prev.Topology, &c)
	next.Plan = prev.Plan
	if err := plan(cfg, req, &sig, &c, &rec, &next.Plan); err != nil {
		return Recommendation{}, next, err
	}
	return rec, next, nil
}
