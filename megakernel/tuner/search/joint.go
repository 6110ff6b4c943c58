package search

import (
	"math"
	"math/rand/v2"

	"ringmaster/megakernel/tuner/natural"
	"ringmaster/megakernel/tuner/space"
)

// joint samples from one softmax policy over all configurations of the space,
// moved by the inverse square root of its Fisher matrix, in Q16. The cost of a
// configuration that was not measured is predicted by an additive model of the
// parameters. Unlike [factorised], whose policy is a product over the parameters,
// its policy can follow the measurements of single configurations. The cost of a
// step is proportional to the size of the space, which is why it may run on a
// device.
type joint struct {
	told
	rng    *rand.Rand
	fresh  *unseen
	steps  natural.Engine
	budget int

	mean    float64
	effects [][]float64 // of each parameter's levels, on the logarithm of the cost
	counts  [][]float64
	samples []float64 // of each configuration
	near    []float64 // sum of the kernel between each configuration and the measured ones
	pull    []float64 // the same, weighted with what the additive model missed there
	pulled  int       // measurements that near and pull include
	root    natural.Root
	rooted  int       // measurements that the root was made from
	weights []float64 // cumulative weights of the next draw; nil until asked for
}

const (
	jointStarts   = 8   // drawn from the whole space before the policy begins
	jointRenew    = 16  // measurements between two roots
	jointDamp     = .02 // as the live tuner's
	jointShrink   = 1.5 // imaginary measurements of effect 0 with which every level begins
	jointSweeps   = 6   // of backfitting
	jointHottest  = .25 // temperature in standard deviations of the logarithm
	jointCoolest  = .04
	jointFall     = 1.2 // of the kernel, for each parameter that differs
	jointNear     = .3
	jointFailures = 2 // logarithm of how many times the worst cost a failure counts as
)

func newJoint(s *space.Space, o Options) Searcher {
	rng := newRand(o.Seed)
	j := &joint{told: newTold(s), rng: rng, fresh: newUnseen(rng, s.Len()), steps: o.Steps, budget: o.Budget, samples: make([]float64, s.Len()),
		near: make([]float64, s.Len()), pull: make([]float64, s.Len())}
	if j.steps == nil {
		j.steps = natural.Host{}
	}
	for _, p := range s.Params() {
		j.effects = append(j.effects, make([]float64, len(p.Values)))
		j.counts = append(j.counts, make([]float64, len(p.Values)))
	}
	return j
}

func (j *joint) Tell(config int, cost float64) {
	if j.record(config, cost) {
		j.samples[config]++
	}
	j.weights = nil
}

func (j *joint) Ask() (int, bool) {
	if j.full() {
		return 0, false
	}
	if len(j.order) < jointStarts || j.best < 0 {
		return j.fresh.draw(&j.told), true
	}
	if j.weights == nil && j.step() != nil {
		return j.fresh.draw(&j.told), true // a search goes on when the device fails
	}
	total := j.weights[len(j.weights)-1]
	if total == 0 {
		return j.fresh.draw(&j.told), true
	}
	u := j.rng.Float64() * total
	low, high := 0, len(j.weights)-1
	for low < high {
		if mid := (low + high) / 2; j.weights[mid] > u {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low, true
}

// step makes the policy and moves it. Configurations that were measured get no
// weight in the next draw.
func (j *joint) step() error {
	costs, spread := j.predict()
	done := min(float64(len(j.order))/float64(j.budget), 1)
	temperature := spread * (jointHottest + (jointCoolest-jointHottest)*done)
	policy, err := j.steps.Softmax(natural.Exponentials(costs, math.Max(temperature, 1e-9)))
	if err != nil {
		return err
	}
	if j.root == nil || len(j.order) >= j.rooted+jointRenew {
		f, err := natural.NewFisher(policy, j.samples, jointDamp)
		if err != nil {
			return err
		}
		j.root, j.rooted = f.Root(), len(j.order)
	}
	moved, err := j.steps.Precondition(j.root, policy)
	if err != nil {
		return err
	}
	j.weights = make([]float64, len(moved))
	sum := 0.0
	for i, w := range moved {
		if !j.known(i) {
			sum += float64(w)
		}
		j.weights[i] = sum
	}
	return nil
}

// predict returns the logarithm of every configuration's cost, as measured or as
// the additive model predicts it, and the standard deviation of the measured ones.
func (j *joint) predict() (costs []float64, spread float64) {
	logs := j.logarithms()
	j.fit(logs)
	for _, l := range logs {
		spread += (l - j.mean) * (l - j.mean)
	}
	spread = math.Sqrt(spread / float64(len(logs)))
	j.smooth(logs)
	costs = make([]float64, j.space.Len())
	for c := range costs {
		costs[c] = j.mean
		for p, l := range j.space.Levels(c) {
			costs[c] += j.effects[p][l]
		}
		costs[c] += j.pull[c] / (j.near[c] + jointNear)
	}
	for i, c := range j.order {
		costs[c] = logs[i]
	}
	return costs, spread
}

// smooth spreads what the additive model missed at each new measurement over
// its neighbourhood: exp(-jointFall · parameters that differ).
func (j *joint) smooth(logs []float64) {
	fall := make([]float64, len(j.effects)+1)
	for d := range fall {
		fall[d] = math.Exp(-jointFall * float64(d))
	}
	for ; j.pulled < len(logs); j.pulled++ {
		at := j.space.Levels(j.order[j.pulled])
		miss := logs[j.pulled] - j.mean
		for p, l := range at {
			miss -= j.effects[p][l]
		}
		for c := range j.near {
			apart := 0
			for p, l := range j.space.Levels(c) {
				if l != at[p] {
					apart++
				}
			}
			j.near[c] += fall[apart]
			j.pull[c] += fall[apart] * miss
		}
	}
}

func (j *joint) logarithms() []float64 {
	logs := make([]float64, len(j.order))
	worst := math.Inf(-1)
	for i, c := range j.order {
		logs[i] = math.Log(j.costs[c])
		if !math.IsInf(logs[i], 1) {
			worst = math.Max(worst, logs[i])
		}
	}
	for i := range logs {
		logs[i] = math.Min(logs[i], worst+jointFailures)
	}
	return logs
}

// fit finds the mean and each level's effect by backfitting. The effects of
// levels with few measurements are shrunk towards zero.
func (j *joint) fit(logs []float64) {
	j.mean = 0
	for _, l := range logs {
		j.mean += l / float64(len(logs))
	}
	for p := range j.effects {
		clear(j.effects[p])
		clear(j.counts[p])
	}
	rest := make([]float64, len(logs))
	for i, c := range j.order {
		rest[i] = logs[i] - j.mean
		for p, l := range j.space.Levels(c) {
			j.counts[p][l]++
		}
	}
	for range jointSweeps {
		for p := range j.effects {
			sums := make([]float64, len(j.effects[p]))
			for i, c := range j.order {
				l := j.space.Levels(c)[p]
				sums[l] += rest[i] + j.effects[p][l]
			}
			for i, c := range j.order {
				l := j.space.Levels(c)[p]
				rest[i] += j.effects[p][l] - sums[l]/(j.counts[p][l]+jointShrink)
			}
			for l := range sums {
				j.effects[p][l] = sums[l] / (j.counts[p][l] + jointShrink)
			}
		}
	}
}
