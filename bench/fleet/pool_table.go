package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// row is a load on a pool, by turns with the other rows.
type row struct {
	load, pool string
	play       func(stop <-chan struct{}) error
	turns      []outcome
}

// compare has each load on the pool of all workers and on those of one, by turns, and prints what was seen. each is what a
// batch takes of a device.
func (p *pool) compare(runs int, each time.Duration) error {
	var rows []*row
	every := time.Duration(float64(each) / poolShare / float64(len(p.names)))
	for _, pool := range append(slices.Clone(p.names), everyone) {
		rows = append(rows,
			&row{load: "backlog", pool: pool, play: func(stop <-chan struct{}) error { return p.batches.backlog(pool, poolBacklog, stop) }},
			&row{load: "light", pool: pool, play: func(stop <-chan struct{}) error { return p.batches.paced(pool, every, stop) }})
	}
	slices.SortStableFunc(rows, func(a, b *row) int { return strings.Compare(a.load, b.load) })
	for run := range runs {
		for i := range rows {
			r := rows[(i+run)%len(rows)] // whoever is first in one round is not in the next
			o, err := p.turn(r.pool, r.play)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", r.load, r.pool, err)
			}
			r.turns = append(r.turns, o)
		}
	}
	return p.print(rows, runs)
}

// print prints the rows as docs/reliability.md has them, and fails if a batch was lost or ran twice.
func (p *pool) print(rows []*row, runs int) error {
	workers := strings.Join(p.names, ", ")
	fmt.Printf("| load | taken by | batches | lost | done twice | ran twice | batches a second, min / median / max | wait of a batch, p50 / p99 | fewest that waited for a worker | batches by %s | their devices idle, median (most) |\n", workers)
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|")
	lost, twice := 0, 0
	backlog := make(map[string][]float64) // batches a second
	for _, r := range rows {
		all := r.sum()
		lost, twice = lost+all.lost, twice+all.ranTwice
		rates := r.each(func(o *outcome) float64 { return o.rate })
		if r.load == "backlog" {
			backlog[r.pool] = rates
		}
		rates = slices.Sorted(slices.Values(rates))
		slices.Sort(all.waits)
		var ran, idle []string
		for i := range p.names {
			ran = append(ran, fmt.Sprintf("%.1f %%", 100*float64(all.ran[i])/float64(max(1, all.batches))))
			busy := slices.Sorted(slices.Values(r.each(func(o *outcome) float64 { return o.busy[i] })))
			idle = append(idle, fmt.Sprintf("%.1f (%.1f) %%", 100*(1-busy[runs/2]), 100*(1-busy[0])))
		}
		fmt.Printf("| %s | %s | %d | %d | %d | %d | %.0f / %.0f / %.0f | %s | %d | %s | %s |\n", r.load, r.pool, all.batches, all.lost, all.doneTwice, all.ranTwice,
			rates[0], rates[runs/2], rates[runs-1], quantiles(all.waits), all.waiting, strings.Join(ran, ", "), strings.Join(idle, ", "))
	}
	gains := make([]float64, runs)
	for run := range gains {
		alone := 0.
		for _, name := range p.names {
			alone += backlog[name][run] / float64(len(p.names))
		}
		gains[run] = backlog[everyone][run] / alone
	}
	slices.Sort(gains)
	fmt.Printf("\n%d workers under a backlog do %.2f / %.2f / %.2f times what one does (min / median / max of %d turns of %v)\n",
		len(p.names), gains[0], gains[runs/2], gains[runs-1], runs, poolTurn)
	if lost > 0 || twice > 0 {
		return fmt.Errorf("%d batches were lost, %d ran twice", lost, twice)
	}
	return nil
}

// each is a figure of every turn.
func (r *row) each(of func(*outcome) float64) (list []float64) {
	for i := range r.turns {
		list = append(list, of(&r.turns[i]))
	}
	return list
}

// sum is all turns together.
func (r *row) sum() (all outcome) {
	all.waiting = r.turns[0].waiting
	all.ran = make([]int, len(r.turns[0].ran))
	for _, o := range r.turns {
		all.batches, all.lost, all.doneTwice, all.ranTwice = all.batches+o.batches, all.lost+o.lost, all.doneTwice+o.doneTwice, all.ranTwice+o.ranTwice
		all.waits = append(all.waits, o.waits...)
		all.waiting = min(all.waiting, o.waiting)
		for i, n := range o.ran {
			all.ran[i] += n
		}
	}
	return all
}
