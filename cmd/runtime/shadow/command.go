package shadow

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// Command is `ringmaster shadow`.
type Command struct {
	Report reportCmd `cmd:"" help:"Listen for a while and compare what engines launch with what a run --shadow recommends."`
}

// reportCmd listens and prints a report.
type reportCmd struct {
	option.NATS
	Worker string        `placeholder:"NAME" help:"Only this worker."`
	For    time.Duration `default:"30s" help:"How long to listen; ^C ends it earlier."`
	JSON   bool          `name:"json" help:"Print the report as JSON."`
	Out    string        `name:"picture" placeholder:"FILE" help:"Draw what engines launched beside the advice, over time, as SVG."`
}

// Help is what --help adds to the flags.
func (reportCmd) Help() string {
	return `Engines report their launches as telemetry, with the geometry that ran, slots and device time. What the advice would
have taken is told by the engine's own launches at the advised geometry, as a + b × slots; where there are none, or too
few, it says so and gives no cost. The exit code is 1 if no launch was reported.`
}

// Run listens and reports.
func (c *reportCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	ctx, stop := terminal.UntilSignal(ctx)
	defer stop()
	if c.For <= 0 {
		return terminal.Misused("shadow report: --for %v: want some time", c.For)
	}
	if err := terminal.Replaceable("--picture", c.Out); err != nil {
		return err
	}
	worker := c.Worker
	if worker == "" {
		worker = client.Any
	}
	var mu sync.Mutex
	heard := newRecorder()
	err := c.With(ctx, "ringmaster shadow", log, func(ctx context.Context, engines *natsio.Conn) error {
		return c.beside().With(ctx, "ringmaster shadow", log, func(ctx context.Context, advice *natsio.Conn) error {
			ctx, cancel := context.WithTimeout(ctx, c.For)
			defer cancel()
			_, err := advice.SubscribeRecommendations(worker, client.Any, func(worker, queue string, _ *telemetry.Header, r *telemetry.Recommendation) {
				mu.Lock()
				defer mu.Unlock()
				heard.Advise(time.Now(), worker, queue, r)
			})
			if err != nil {
				return err
			}
			_, err = engines.SubscribeLaunches(worker, client.Any, func(worker, queue string, _ *telemetry.Header, l *telemetry.Launch) {
				mu.Lock()
				defer mu.Unlock()
				heard.Launched(time.Now(), worker, queue, l)
			})
			if err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		})
	})
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	drawn := terminal.ReplaceFlagged("--picture", c.Out, func(w io.Writer) error {
		_, err := io.WriteString(w, heard.Picture())
		return err
	})
	return errors.Join(c.print(std.Out, heard.Report()), drawn)
}

// beside are the same flags for the subjects of the advice.
func (c *reportCmd) beside() *option.NATS {
	other := c.NATS
	other.Prefix = telemetry.Subjects{Prefix: c.Prefix}.Shadow().Root()
	return &other
}

func (c *reportCmd) print(out io.Writer, r *Report) (err error) {
	if c.JSON {
		err = text.JSON(out, r)
	} else {
		_, err = io.WriteString(out, r.String())
	}
	if err == nil && len(r.Queues) == 0 {
		return terminal.ExitCode(1)
	}
	return err
}
