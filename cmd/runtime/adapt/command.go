package adapt

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// Command is `ringmaster adapt`.
type Command struct {
	FPM fpmCmd `cmd:"" name:"fpm" help:"ForwardPassMetrics, as SGLang and Dynamo publish them over ZeroMQ."`
}

// fpmCmd publishes what engines tell of their queues until it is told to end.
type fpmCmd struct {
	option.NATS
	From     []string      `arg:"" name:"engine" help:"Engines, each as [WORKER=]tcp://HOST:PORT or [WORKER=]ipc:///PATH. Without WORKER the engine's own name is taken, if it is one."`
	Silent   time.Duration `default:"5s" help:"Without any message for so long, a connection is opened anew; and without an iteration, while requests waited, an engine is said to hang."`
	TakeOver bool          `help:"Report the queues although another publisher does, which is then refused."`
}

// Help is what --help adds to the flags.
func (fpmCmd) Help() string {
	return `Each engine has two queues, dp<rank>-prefill and dp<rank>-decode, whose length is the requests that wait.
A heartbeat, which an engine sends when its scheduler says nothing, is no record: it does not say that nothing waits.
The policy's answer is advice: an engine of this kind has no geometry that it could be launched with.`
}

// Run reads the engines until SIGTERM.
func (c *fpmCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	ctx, stop := terminal.UntilSignal(ctx)
	defer stop()
	if c.Silent < time.Second {
		return terminal.Misused("adapt fpm: --silent %v: want at least 1s, the pause between two heartbeats", c.Silent)
	}
	sources, err := c.sources(log)
	if err != nil {
		return terminal.Misused("adapt fpm: %w", err)
	}
	return c.With(ctx, "ringmaster adapt", log, func(ctx context.Context, conn *natsio.Conn) error {
		publisher, err := client.NewPublisher(conn, client.PublisherConfig{PerQueue: true, TakeOver: c.TakeOver})
		if err != nil {
			return err
		}
		totals := make([]Totals, len(sources))
		var running sync.WaitGroup
		for i, s := range sources {
			s.Report = publisher.ReportQueue
			running.Go(func() { totals[i] = s.Run(ctx) })
		}
		running.Wait()
		ending, cancel := context.WithTimeout(context.Background(), option.DialPatience)
		defer cancel()
		err = publisher.Close(ending)
		printTotals(std.Err, sources, totals)
		return err
	})
}

func (c *fpmCmd) sources(log *slog.Logger) (list []*Source, err error) {
	for _, from := range c.From {
		worker, endpoint, err := parseSource(from)
		if err != nil {
			return nil, err
		}
		list = append(list, &Source{Endpoint: endpoint, Worker: worker, Silent: c.Silent, Log: log})
	}
	return list, nil
}

// printTotals says what each engine has sent, and what became of its connections.
func printTotals(out io.Writer, sources []*Source, totals []Totals) {
	var rows [][]string
	for i, t := range totals {
		row := []string{text.Plain(sources[i].Endpoint)}
		for _, n := range []uint64{t.Iterations, t.Heartbeats, t.Lost, t.Refused, t.Dropped, t.Restarts, t.Ends, t.Silences, t.Failures} {
			row = append(row, text.Grouped(n))
		}
		rows = append(rows, row)
	}
	fmt.Fprint(out, text.Table([]string{"ENGINE", "ITERATIONS", "HEARTBEATS", "LOST", "REFUSED", "DROPPED", "RESTARTS", "ENDS", "SILENCES", "FAILURES"}, rows))
}
