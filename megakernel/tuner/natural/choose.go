package natural

// damping of the Fisher matrix of Choose, which is singular along (1, ..., 1).
const damping = .02

// Choose is the candidate with the largest natural gradient of the softmax policy
// over costs, the last on ties as in the original. A candidate with few samples gets a
// longer step. Costs and the temperature have one unit; all are above 0, and each
// candidate has a sample at least.
func Choose(costs, samples []float64, temperature float64) (candidate int, err error) {
	policy, err := Host{}.Softmax(Exponentials(costs, temperature))
	if err != nil {
		return 0, err
	}
	fisher, err := NewFisher(policy, samples, damping)
	if err != nil {
		return 0, err
	}
	gradient, err := Host{}.Precondition(fisher.Root(), policy)
	if err != nil {
		return 0, err
	}
	for i, g := range gradient {
		if g >= gradient[candidate] {
			candidate = i
		}
	}
	return candidate, nil
}
