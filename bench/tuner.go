package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"ringmaster/bench/classic"
	"ringmaster/bench/recorded"
)

// tunerFlags choose what the tuner's benchmark replays.
type tunerFlags struct {
	Space   []string `type:"existingfile" sep:"none" help:"A recorded tuning space for the tuner's benchmark, as CSV, plain or gzip; repeat for more."`
	Repeats int      `default:"60" help:"Searches of the tuner's benchmark per space and strategy, each with its own seed."`
	Kernel  string   `placeholder:"NAME" help:"Take all recorded spaces as recordings of this kernel, whatever they say."`
}

// The budgets at which the searches are compared, in measurements.
var (
	coldBudgets = []int{50, 100, 200}
	warmBudgets = []int{10, 20}
)

// benchTuner replays recorded spaces: it compares the default search and the natural
// gradient with the classic searches, and the warm start from the other recordings of a
// kernel with rank transfer.
func benchTuner(s *session) error {
	spaces, err := loadSpaces(&s.flags.tunerFlags)
	if err != nil {
		return err
	}
	for i := range spaces {
		if len(spaces[i].others) == 0 {
			s.log.Warn("no warm start: no other recording of this kernel is given", "space", spaces[i].name, "kernel", spaces[i].Kernel)
		}
	}
	b := tunerBench{spaces: spaces, repeats: s.flags.Repeats}
	cold := []string{classic.Cold, "natural"}
	for _, strategy := range append(cold, classic.Classic...) {
		b.plan(strategy, coldBudgets)
	}
	b.plan("warm", warmBudgets)
	b.plan("rank", warmBudgets)
	if err := b.run(s.ctx); err != nil {
		return err
	}
	b.compare(s.report, "cold", classic.Cold, classic.Classic, coldBudgets, true)
	b.compare(s.report, "natural", "natural", classic.Classic, coldBudgets, false)
	b.compare(s.report, "warm", "warm", []string{"rank"}, warmBudgets, true)
	b.suggestions(s.report, "cold", classic.Cold)
	b.suggestions(s.report, "warm", "warm")
	return nil
}

// tunerSpace is a recording with its name in the report and the other
// recordings of its kernel.
type tunerSpace struct {
	*recorded.Recording
	name   string
	others []*recorded.Recording
}

// check refuses flags with which nothing can be replayed.
func (f *tunerFlags) check() error {
	switch {
	case len(f.Space) == 0:
		return errors.New("the tuner needs recorded spaces: give each with --space FILE")
	case f.Repeats < 1:
		return fmt.Errorf("--repeats %d: at least 1 is needed", f.Repeats)
	}
	return nil
}

func loadSpaces(flags *tunerFlags) ([]tunerSpace, error) {
	var spaces []tunerSpace
	for _, path := range flags.Space {
		r, err := readSpace(path)
		if err != nil {
			return nil, err
		}
		if flags.Kernel != "" {
			r.Kernel = flags.Kernel
		}
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		if slices.ContainsFunc(spaces, func(s tunerSpace) bool { return s.name == name }) {
			name = path // the same name in two directories
		}
		spaces = append(spaces, tunerSpace{Recording: r, name: name})
	}
	for i := range spaces {
		for j := range spaces {
			if i != j && spaces[i].Kernel == spaces[j].Kernel {
				spaces[i].others = append(spaces[i].others, spaces[j].Recording)
			}
		}
	}
	return spaces, nil
}

func readSpace(path string) (*recorded.Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return recorded.Read(f, path)
}

// tunerJob is the searches of one strategy on one space.
type tunerJob struct {
	strategy string
	space    *tunerSpace
	budgets  []int
	sums     []float64 // of the fraction of the optimum, by budget
	asks     []time.Duration
}

type tunerBench struct {
	spaces  []tunerSpace
	repeats int
	jobs    []*tunerJob
}

// plan adds a strategy's jobs. A strategy that needs other recordings of the kernel
// skips the spaces without them.
func (b *tunerBench) plan(strategy string, budgets []int) {
	for i := range b.spaces {
		s := &b.spaces[i]
		if (strategy == "warm" || strategy == "rank") && len(s.others) == 0 {
			continue
		}
		b.jobs = append(b.jobs, &tunerJob{strategy: strategy, space: s, budgets: budgets, sums: make([]float64, len(budgets))})
	}
}

// run makes every search once per seed, on all cores. Results do not depend on
// their number: a search depends on its seed only, and sums are taken in order.
func (b *tunerBench) run(ctx context.Context) error {
	type result struct {
		fractions []float64
		asks      []time.Duration
		err       error
	}
	results := make([]result, len(b.jobs)*b.repeats)
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				r := &results[i]
				r.fractions, r.asks, r.err = b.jobs[i/b.repeats].search(uint64(i % b.repeats))
			}
		})
	}
	for i := range results {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i, r := range results {
		if r.err != nil {
			return r.err
		}
		job := b.jobs[i/b.repeats]
		for k, f := range r.fractions {
			job.sums[k] += f
		}
		job.asks = append(job.asks, r.asks...)
	}
	return nil
}

// search runs one search to the largest budget and returns the fraction of the optimum
// that it had reached at each budget. Annealing runs once for each budget, because its
// schedule depends on it.
func (j *tunerJob) search(seed uint64) (fractions []float64, asks []time.Duration, err error) {
	var curve []float64
	for _, budget := range j.budgets {
		if curve == nil || j.strategy == "annealing" {
			total := slices.Max(j.budgets)
			if j.strategy == "annealing" {
				total = budget
			}
			searcher, err := classic.New(j.strategy, j.space.Space, classic.Options{Seed: seed, History: j.space.others, Budget: total})
			if err != nil {
				return nil, nil, err
			}
			timed := &timedSearch{Searcher: searcher}
			curve = classic.Replay(timed, j.space.Recording, total)
			asks = append(asks, timed.asks...)
		}
		fractions = append(fractions, classic.Fraction(curve, j.space.Recording, budget))
	}
	return fractions, asks, nil
}

// timedSearch measures how long a suggestion takes.
type timedSearch struct {
	classic.Searcher
	asks []time.Duration
}

func (t *timedSearch) Ask() (int, bool) {
	start := time.Now()
	config, ok := t.Searcher.Ask()
	t.asks = append(t.asks, time.Since(start))
	return config, ok
}

// mean is a strategy's mean fraction of the optimum at a budget, over the spaces that
// of accepts; n is their number.
func (b *tunerBench) mean(strategy string, budget int, of func(*tunerSpace) bool) (mean float64, n int) {
	for _, j := range b.jobs {
		if i := slices.Index(j.budgets, budget); i >= 0 && j.strategy == strategy && of(j.space) {
			mean += j.sums[i] / float64(b.repeats)
			n++
		}
	}
	return mean / float64(max(n, 1)), n
}

// compare reports a strategy beside the best of the yardsticks at each budget: over all
// spaces and, if asked to, for each space.
func (b *tunerBench) compare(to *report, name, strategy string, yardsticks []string, budgets []int, bySpace bool) {
	print := func(title string, budget int, of func(*tunerSpace) bool) {
		value, n := b.mean(strategy, budget, of)
		if n == 0 {
			return
		}
		best, bestValue := "", -1.0
		for _, y := range yardsticks {
			if v, _ := b.mean(y, budget, of); v > bestValue {
				best, bestValue = y, v
			}
		}
		to.row(row{Name: title, Value: value, Unit: "optimum", Yardstick: yardstickNames[best], YardstickValue: bestValue})
	}
	for _, budget := range budgets {
		print(fmt.Sprintf("tuner/%s/%d", name, budget), budget, func(*tunerSpace) bool { return true })
	}
	for i := range b.spaces {
		if !bySpace {
			break
		}
		s := &b.spaces[i]
		for _, budget := range budgets {
			print(fmt.Sprintf("tuner/%s/%d/%s", name, budget, s.name), budget, func(other *tunerSpace) bool { return other == s })
		}
	}
}

var yardstickNames = map[string]string{
	"random":    "best classic search: random",
	"local":     "best classic search: greedy iterated local search",
	"annealing": "best classic search: simulated annealing",
	"genetic":   "best classic search: genetic algorithm",
	"rank":      "rank transfer from the same recordings",
}

// suggestions reports the median time of a suggestion.
func (b *tunerBench) suggestions(to *report, name, strategy string) {
	var asks []float64
	for _, j := range b.jobs {
		if j.strategy == strategy {
			for _, a := range j.asks {
				asks = append(asks, float64(a.Nanoseconds())/1e6)
			}
		}
	}
	if len(asks) > 0 {
		to.row(row{Name: "tuner/suggest/" + name, Value: median(asks), Unit: "ms", Yardstick: "none"})
	}
}
