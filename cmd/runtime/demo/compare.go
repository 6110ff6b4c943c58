package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel"
	"ringmaster/megakernel/fixed"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// Comparison is what the decision was worth: parts of the trace, played by turns under the demo's decision and
// at one geometry for every launch.
type Comparison struct {
	Turns   int     `json:"turns"`          // of each side
	Seconds float64 `json:"trace_seconds"`  // of the trace, in a turn
	Fixed   string  `json:"fixed_geometry"` // width×groups of every launch without the decision
	With    Side    `json:"with"`
	Without Side    `json:"without"`
}

// Side is what came of the turns of one side.
type Side struct {
	Batches int64     `json:"batches"`
	Submit  Quantiles `json:"submit_to_done_us"`
	Device  float64   `json:"device_share"` // launches' time over that of the turns, from the first batch until all are done
}

const (
	turn          = time.Second // in which work arrives
	buildPatience = time.Minute // for kernels before a turn; a software renderer takes a second or two for each
)

// side is one of the two ways to launch, on a node of its own.
type side struct {
	name   string // of the worker
	node   *worker.Node
	done   *hdrhistogram.Histogram
	device atomic.Int64  // nanoseconds of launches
	wall   time.Duration // of the turns
}

func (s *side) result() Side {
	return Side{Batches: s.done.TotalCount(), Submit: quantilesOf(s.done), Device: time.Duration(s.device.Load()).Seconds() / s.wall.Seconds()}
}

// Compare plays parts of the trace that Play has played, so many of each side and by turns. Before they count,
// each side plays one, so that the kernels of both are built. cfg is a worker like the demo's, without tuner and
// with a device of its own, which is closed. progress is told of the turns that are over, of how many.
func (d *Demo) Compare(ctx context.Context, cfg worker.Config, turns int, progress func(over, of int)) (_ Comparison, err error) {
	cfg.Name, cfg.Decider, cfg.Engine.Mode = Worker+"-fixed", fixed.Decide, megakernel.ModeWave
	limits := megakernel.LimitsOf(cfg.Device)
	geometry := fixed.Fill(&limits)
	node, err := worker.Start(ctx, cfg)
	if err != nil {
		return Comparison{}, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), closePatience)
		defer cancel()
		err = errors.Join(err, node.Close(ctx))
	}()
	sides := [...]*side{{name: Worker, node: d.node}, {name: cfg.Name, node: node}}
	end := d.player.end()
	part := max(time.Duration(min(float64(turn)*d.player.Speed, float64(end))), 1)
	for n := range turns + 1 {
		if n <= 1 { // what was played before was a rehearsal
			for _, s := range sides {
				s.done, s.wall = newHistogram(), 0
				s.device.Store(0)
			}
		}
		from := time.Duration(float64(end-part) * float64(max(n-1, 0)) / float64(max(turns-1, 1)))
		for i := range sides {
			progress(2*n+i, 2*(turns+1))
			if err := d.take(ctx, sides[(n+i)%2], from, from+part); err != nil {
				return Comparison{}, err
			}
		}
	}
	return Comparison{
		Turns: turns, Seconds: part.Seconds(), Fixed: fmt.Sprintf("%d×%d", geometry.Width, geometry.Groups),
		With: sides[0].result(), Without: sides[1].result(),
	}, nil
}

// take has a side play a part of the trace.
func (d *Demo) take(ctx context.Context, s *side, from, until time.Duration) error {
	building, cancel := context.WithTimeout(ctx, buildPatience)
	defer cancel()
	if err := s.node.Engine().Built(building); err != nil {
		return err
	}
	conn, err := d.connect("demo turn")
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := s.follow(ctx, conn); err != nil {
		return err
	}
	cfg := d.player.PlayerConfig
	cfg.Worker, cfg.From, cfg.Limit, cfg.TakeOver = s.name, from, until, true
	cfg.OnDone = func(done *telemetry.Done) { _ = s.done.RecordValue(sinceMicros(done.WorkSentNs)) }
	player, err := NewPlayer(conn, cfg)
	if err != nil {
		return err
	}
	begin := time.Now()
	err = player.Play(ctx)
	s.wall += time.Since(begin)
	return err
}

// follow adds up the device time of the side's launches.
func (s *side) follow(ctx context.Context, conn *natsio.Conn) error {
	_, err := conn.SubscribeLaunches(s.name, "*", func(_, _ string, _ *telemetry.Header, l *telemetry.Launch) {
		s.device.Add(int64(l.ElapsedNs))
	})
	if err != nil {
		return err
	}
	return conn.Flush(ctx)
}

// Text is the comparison for people: what the summary ends with.
func (c *Comparison) Text() string {
	with, without := &c.With.Submit, &c.Without.Submit
	played := (time.Duration(c.Turns) * time.Duration(c.Seconds*float64(time.Second))).Round(time.Second).String()
	return labeled("decided / always "+c.Fixed, "submit → done p50 %s / %s µs, p99 %s / %s µs, device %.0f / %.0f %% busy: the same %s of the trace, by turns",
		text.Grouped(with.P50), text.Grouped(without.P50), text.Grouped(with.P99), text.Grouped(without.P99),
		100*c.With.Device, 100*c.Without.Device, strings.Replace(played, "m0s", "m", 1))
}
