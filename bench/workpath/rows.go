package workpath

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"ringmaster/cmd/runtime/worker"
)

// Config says what to measure on, and how long.
type Config struct {
	Open   func() (worker.Device, error) // opens the device of the worker, which closes it
	Rounds int                           // turns of each side
	Log    *slog.Logger
}

// Row is a figure beside the same figure of the bare worker, or of Yardstick; it has none if that is empty.
type Row struct {
	Name           string
	Value          float64
	Unit           string
	Yardstick      string
	YardstickValue float64
}

const bareWorker = "bare JetStream worker, same bytes"

const (
	underWay  = 64 // batches of a flood
	openEvery = 5 * time.Millisecond
)

// Measure measures everything and hands rows out as they are known.
func Measure(ctx context.Context, cfg Config, row func(Row)) error {
	r, err := newRig(ctx, cfg.Open, cfg.Log)
	if err != nil {
		return err
	}
	defer r.close()
	m := &measurement{rig: r, ctx: ctx, rounds: cfg.Rounds, row: row}
	for _, warm := range []*batch{asRun(16), asRun(4096), asSlots(4096)} {
		if err := m.warm(warm); err != nil {
			return err
		}
	}
	return m.all()
}

type measurement struct {
	*rig
	ctx    context.Context
	rounds int
	row    func(Row)
}

func (m *measurement) warm(b *batch) error {
	var unused []time.Duration
	for _, s := range []*side{m.ours, m.bare} {
		if err := s.alone(m.ctx, b, 30, &unused); err != nil {
			return err
		}
		if _, err := s.flood(m.ctx, b, 32, underWay, 2*underWay); err != nil {
			return err
		}
	}
	return nil
}

func (m *measurement) all() error {
	few := asRun(16)
	steps := []func() error{
		func() error {
			return m.latency("work/16", true, func(s *side, into *[]time.Duration) error { return s.alone(m.ctx, few, 300, into) })
		},
		func() error {
			return m.latency("work/16/open", true, func(s *side, into *[]time.Duration) error { return s.steady(m.ctx, few, 200, openEvery, into) })
		},
	}
	for _, form := range []struct {
		name string
		of   func(int) *batch
	}{{"runs", asRun}, {"slots", asSlots}} {
		b := form.of(4096)
		steps = append(steps, func() error {
			return m.latency("work/4096/"+form.name, false, func(s *side, into *[]time.Duration) error { return s.alone(m.ctx, b, 100, into) })
		}, func() error { return m.throughput("work/4096/"+form.name+"/64", b, 4096) })
	}
	steps = append(steps, m.queues, m.yielding)
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// latency compares the times of batches.
func (m *measurement) latency(name string, tail bool, turn func(s *side, into *[]time.Duration) error) error {
	var ours, bare []time.Duration
	for range m.rounds {
		if err := turn(m.ours, &ours); err != nil {
			return err
		}
		if err := turn(m.bare, &bare); err != nil {
			return err
		}
	}
	m.row(Row{Name: name + "/p50", Value: quantile(ours, .5), Unit: "µs", Yardstick: bareWorker, YardstickValue: quantile(bare, .5)})
	if tail {
		m.row(Row{Name: name + "/p99", Value: quantile(ours, .99), Unit: "µs", Yardstick: bareWorker, YardstickValue: quantile(bare, .99)})
	}
	return nil
}

// floodBatches are the batches of a turn of a flood.
const floodBatches = 640

func (m *measurement) throughput(name string, b *batch, slots int) error {
	var ours, bare []float64
	for range m.rounds {
		for _, turn := range []struct {
			side *side
			into *[]float64
		}{{m.ours, &ours}, {m.bare, &bare}} {
			rate, err := turn.side.flood(m.ctx, b, 1, underWay, floodBatches)
			if err != nil {
				return err
			}
			*turn.into = append(*turn.into, rate*float64(slots))
		}
	}
	m.row(Row{Name: name, Value: median(ours), Unit: "slots/s", Yardstick: bareWorker, YardstickValue: median(bare)})
	return nil
}

// queues compares the rate over 32 queues with that over one.
func (m *measurement) queues() error {
	const slots = 1024
	b := asRun(slots)
	var many, one []float64
	for range m.rounds {
		for _, turn := range []struct {
			queues int
			into   *[]float64
		}{{32, &many}, {1, &one}} {
			rate, err := m.ours.flood(m.ctx, b, turn.queues, underWay, floodBatches)
			if err != nil {
				return err
			}
			*turn.into = append(*turn.into, rate*slots)
		}
	}
	m.row(Row{Name: "work/1024/32 queues", Value: median(many), Unit: "slots/s", Yardstick: "the same over one queue", YardstickValue: median(one)})
	return nil
}

func (m *measurement) yielding() error {
	var times []time.Duration
	if err := m.ours.alone(m.ctx, yields(), 2*m.rounds, &times); err != nil {
		return err
	}
	m.row(Row{Name: "work/yield 255", Value: quantile(times, .5) / 1000, Unit: "ms"})
	return nil
}

// quantile is that of some times in microseconds.
func quantile(times []time.Duration, q float64) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return float64(sorted[int(q*float64(len(sorted)-1))].Nanoseconds()) / 1000
}

func median(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
