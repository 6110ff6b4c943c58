package main

import (
	"fmt"
	"slices"
	"time"
)

// company is what else goes on while the records of the fleet are looked at.
type company struct {
	name string
	play func() error // for a turn
	p99  []time.Duration
}

// beside has company by turns, the first of which is the yardstick, and prints how long the fleet's records waited for their
// decisions beside each: the 99th percentile of every turn.
func (l *load) beside(runs int, all ...*company) error {
	for range runs {
		for _, c := range all {
			l.waits()
			if err := c.play(); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			waits := l.waits()
			if len(waits) == 0 {
				return fmt.Errorf("%s: no record was decided on", c.name)
			}
			slices.Sort(waits)
			c.p99 = append(c.p99, waits[len(waits)*99/100])
			time.Sleep(pause)
		}
	}
	fmt.Printf("| beside | turns | 99th percentile of a record's wait, min / median / max of the turns | the median, of that beside %s |\n|---|---|---|---|\n", all[0].name)
	for _, c := range all {
		slices.Sort(c.p99)
		fmt.Printf("| %s | %d | %.1f / %.1f / %.1f ms | %.2f |\n", c.name, runs, ms(c.p99[0]), ms(c.p99[runs/2]), ms(c.p99[runs-1]), ms(c.p99[runs/2])/ms(all[0].p99[runs/2]))
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
