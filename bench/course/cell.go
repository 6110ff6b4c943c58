package course

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"ringmaster/telemetry"
)

// Cell is what one decider made of one load at one rate in one round.
type Cell struct {
	Load    string  `json:"load"`
	Rate    float64 `json:"rate"` // of the capacity; 0: the load has none
	Decider string  `json:"decider"`
	Round   int     `json:"round"`
	Seed    uint64  `json:"seed"`
	Seconds float64 `json:"seconds"` // in which work arrived

	Classes    []Class            `json:"classes"`
	Batches    int                `json:"batches"` // submitted, and done
	Slots      int                `json:"slots"`
	Throughput float64            `json:"slots_per_second"` // from the first arrival until the last batch was done
	Busy       float64            `json:"device_share"`     // of the time in which work arrived
	Shares     map[string]float64 `json:"queue_shares"`     // of the device's time, by queue

	Launches  int    `json:"launches"`
	Decisions int    `json:"decisions"` // recommendations, without heartbeats
	Changes   int    `json:"changes"`   // launches unlike their queue's previous launch
	Changed   int    `json:"changed"`   // recommendations that say so
	Machine   string `json:"load_average"`
	Error     string `json:"error,omitempty"` // why there are no figures
}

// Class is the latency of a class's batches, in milliseconds from the moment for which a batch was scheduled.
type Class struct {
	Name    string  `json:"class"`
	Batches int     `json:"batches"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	Mean    float64 `json:"mean_ms"`
}

// p99 is the geometric mean over the classes of their 99th percentiles: a class counts for as much as another,
// however many batches it has.
func (c *Cell) p99() float64 {
	if len(c.Classes) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, k := range c.Classes {
		sum += math.Log(k.P99)
	}
	return math.Exp(sum / float64(len(c.Classes)))
}

// player runs schedules on a rig.
type player struct {
	*rig
	load   *Load
	queues []*queueLoad              // what the publisher knows of them
	of     []*queueLoad              // the queue of each stream
	work   []map[int][]telemetry.Run // of each stream, by the size of the batch
}

func newPlayer(r *rig, l *Load, batches []Batch, seed uint64) *player {
	p := &player{rig: r, load: l, work: make([]map[int][]telemetry.Run, len(l.Streams))}
	most := make([]int, len(l.Streams))
	for _, b := range batches {
		most[b.Stream] = max(most[b.Stream], b.Slots)
	}
	all := make([][]telemetry.Run, len(l.Streams)) // of the largest batch
	for i, s := range l.Streams {
		if len(p.queues) == 0 || !r.oneQueue {
			p.queues = append(p.queues, &queueLoad{name: s.Queue})
		}
		p.of = append(p.of, p.queues[len(p.queues)-1])
		all[i] = s.Kind.runs(max(most[i], firstSlots), r.spin, seed+uint64(i))
		p.work[i] = map[int][]telemetry.Run{firstSlots: firstOf(all[i], firstSlots)}
	}
	for _, b := range batches {
		if p.work[b.Stream][b.Slots] == nil {
			p.work[b.Stream][b.Slots] = firstOf(all[b.Stream], b.Slots)
		}
	}
	return p
}

// send submits a batch that was scheduled for a moment.
func (p *player) send(ctx context.Context, number, stream, slots int, at time.Time) error {
	p.watch.expect(number, p.of[stream], slots, at)
	return p.submit(ctx, p.submitters[stream], number, p.work[stream][slots])
}

// begin has one batch of each stream done, so that queues, windows and kernels are there.
func (p *player) begin(ctx context.Context) error {
	for i := range p.of {
		if err := p.newSubmitter(ctx, p.of[i].name); err != nil {
			return err
		}
		if err := p.send(ctx, p.watch.number(1), i, firstSlots, time.Now()); err != nil {
			return err
		}
	}
	if err := p.await(ctx, 0, patience); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return p.node.Engine().Built(ctx)
}

const (
	firstSlots = 16
	patience   = 60 * time.Second // for what is left at the end of a cell
)

// await waits until all but some of the batches are done.
func (p *player) await(ctx context.Context, left int, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		open, err := p.watch.state()
		if err != nil {
			return err
		}
		if open <= left {
			return nil
		}
		select {
		case <-p.watch.finished:
		case <-ctx.Done():
			return fmt.Errorf("%d batches were not done within %v: %w", open, patience, ctx.Err())
		}
	}
}

// lead is the time between the call that plays a schedule and its first moment.
const lead = 20 * time.Millisecond

// play submits batches at their moments, whatever becomes of those before, and waits until all are done.
func (p *player) play(ctx context.Context, batches []Batch, span time.Duration) (*Cell, error) {
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	reporting, stop := context.WithCancel(ctx)
	defer stop()
	go p.report(reporting, p.queues)
	first := p.watch.number(len(batches))
	start := time.Now().Add(lead)
	p.watch.count(start, start.Add(span))
	failed := make(chan error, len(p.of))
	for stream := range p.of {
		go func() { failed <- p.stream(ctx, stream, batches, first, start) }()
	}
	var err error
	for range p.of {
		err = errors.Join(err, <-failed)
	}
	if err != nil {
		return nil, err
	}
	if err := p.await(ctx, 0, patience+4*span); err != nil {
		return nil, err
	}
	took := time.Since(start)
	time.Sleep(time.Until(start.Add(span))) // launches count until then
	return p.cell(first, batches, span, took), nil
}

// stream submits the batches of one stream at their moments. Their numbers count from first.
func (p *player) stream(ctx context.Context, stream int, batches []Batch, first int, start time.Time) error {
	for i, b := range batches {
		if b.Stream != stream {
			continue
		}
		at := start.Add(b.At)
		time.Sleep(time.Until(at))
		if err := p.send(ctx, first+i, stream, b.Slots, at); err != nil {
			return err
		}
	}
	return nil
}

// cell sums up what the watch saw.
func (p *player) cell(first int, batches []Batch, span, took time.Duration) *Cell {
	c := &Cell{Load: p.load.Name, Seconds: span.Seconds(), Batches: len(batches), Shares: make(map[string]float64), Machine: loadAverage()}
	w := p.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	latencies := make(map[string][]float64)
	for i, b := range batches {
		class := p.load.Streams[b.Stream].Class
		latencies[class] = append(latencies[class], float64(w.batches[first+i].took)/float64(time.Millisecond))
		c.Slots += b.Slots
	}
	for class, values := range latencies {
		c.Classes = append(c.Classes, classOf(class, values))
	}
	slices.SortFunc(c.Classes, func(a, b Class) int { return cmp.Compare(a.Name, b.Name) })
	c.Throughput = float64(c.Slots) / took.Seconds()
	total := time.Duration(0)
	for _, t := range w.deviceTime {
		total += t
	}
	c.Busy = total.Seconds() / span.Seconds()
	for queue, t := range w.deviceTime {
		c.Shares[queue] = float64(t) / float64(max(total, 1))
	}
	c.Launches, c.Changes, c.Decisions, c.Changed = w.launches, w.changes, w.recommended, w.changed
	return c
}

// classOf is the latency of a class. Its quantiles are nearest ranks.
func classOf(name string, values []float64) Class {
	slices.Sort(values)
	c := Class{Name: name, Batches: len(values), P50: quantile(values, 0.5), P99: quantile(values, 0.99)}
	for _, v := range values {
		c.Mean += v / float64(len(values))
	}
	return c
}

// quantile is the smallest of some sorted values that at least a share of them do not exceed.
func quantile(sorted []float64, share float64) float64 {
	return sorted[max(int(math.Ceil(share*float64(len(sorted))))-1, 0)]
}

// capacity is how many slots a second a rig goes on doing when there is always a next batch: the batches of a schedule,
// a number of them under way, for a while, and of that the quarter in which it did least. A mean has the time in it
// before the server's store began to remove what was acknowledged, and 0.9 of it is more than the server goes on doing.
func (p *player) capacity(ctx context.Context, batches []Batch, span time.Duration) (float64, error) {
	if err := p.begin(ctx); err != nil {
		return 0, err
	}
	reporting, stop := context.WithCancel(ctx)
	defer stop()
	go p.report(reporting, p.queues)
	for i := range closedUnderWay {
		if err := p.send(ctx, p.watch.number(1), batches[i%len(batches)].Stream, batches[i%len(batches)].Slots, time.Now()); err != nil {
			return 0, err
		}
	}
	least := math.Inf(1)
	begin, before, ended := time.Now(), p.executed(), 0
	for i := closedUnderWay; ended < capacityParts; i++ {
		if err := p.await(ctx, closedUnderWay-1, patience); err != nil {
			return 0, err
		}
		b := batches[i%len(batches)]
		if err := p.send(ctx, p.watch.number(1), b.Stream, b.Slots, time.Now()); err != nil {
			return 0, err
		}
		if took := time.Since(begin); took >= span/capacityParts {
			least = min(least, float64(p.executed()-before)/took.Seconds())
			begin, before, ended = time.Now(), p.executed(), ended+1
		}
	}
	return least, p.await(ctx, 0, patience)
}

const (
	closedUnderWay = 64 // batches under way in a closed loop
	capacityParts  = 4  // of the time of a closed loop
)

func (p *player) executed() (n uint64) {
	for _, q := range p.queues {
		n += q.executed.Load()
	}
	return n
}

// loadAverage is how busy the machine is, as its kernel says: over 1, 5 and 15 minutes.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
