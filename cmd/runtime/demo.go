package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"ringmaster/cmd/runtime/admin"
	"ringmaster/cmd/runtime/demo"
	"ringmaster/cmd/runtime/metrics"
	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/oversight"
	"ringmaster/cmd/runtime/slots"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// demoCmd runs every part in one process, each on a connection of its own.
type demoCmd struct {
	option.GL
	option.Policy
	option.DecisionLog
	option.Opcodes
	option.Programs
	option.Lease
	option.Autotune
	Speed      float64       `default:"60" help:"Seconds of the trace that are replayed per second."`
	Limit      time.Duration `placeholder:"DURATION" help:"Stop at this moment of the trace instead of its end."`
	FaultEvery int           `placeholder:"N" help:"Let every N-th slot of the queue decode address memory outside its window, which is a fault."`
	Compare    int           `default:"5" placeholder:"N" help:"Behind the trace, say what the decision was worth: play parts of it again, N with it and N at one geometry for every launch, by turns of a second. 0: do not."`
	HTTP       string        `name:"http" placeholder:"ADDR" default:"${http_addr}" help:"Serve the live view for a browser at this address while it runs, as run --http does; with --http= nothing is served."`
	JSON       bool          `help:"Print the summary as one JSON object."`
}

// mostTurns bounds --compare to ten minutes.
const mostTurns = 300

func (c *demoCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	ctx, stop := terminal.UntilSignal(ctx)
	defer stop()
	if err := c.check(); err != nil {
		return err
	}
	opcodes, err := slots.LoadOpcodes(c.Opcodes.Dir)
	if err != nil {
		return err
	}
	server, err := startServer("127.0.0.1", -1, "", log)
	if err != nil {
		return err
	}
	defer server.Shutdown()
	device, err := c.Open(log)
	if err != nil {
		return err
	}
	defer device.Close() // which the demo does too
	if err := opcodes.Compile(device); err != nil {
		return err
	}
	cfg := c.config(server.URL(), device, opcodes, log)
	seen, page := c.view(ctx, log)
	defer seen.Close()
	seen.Meter(&cfg.Worker)
	d, err := demo.Start(ctx, cfg)
	if err != nil {
		return err
	}
	defer d.Close()
	seen.Serving(d.Node())
	defer seen.Stopping(false)
	fmt.Fprintf(std.Err, "NATS at %s, ring on %s, %s\n", server.URL(), d.DeviceName(), page)
	return c.show(ctx, std, d, opcodes, server.URL(), log)
}

// check refuses what cannot be played.
func (c *demoCmd) check() error {
	switch {
	case c.Compare < 0 || c.Compare > mostTurns:
		return fmt.Errorf("--compare %d: want 0 to %d turns", c.Compare, mostTurns)
	case c.FaultEvery < 0:
		return fmt.Errorf("--fault-every %d: want a number of slots, or 0 for no faults", c.FaultEvery)
	}
	return errors.Join(checkTrace(c.Speed, c.Limit), c.Lease.Check())
}

// show plays the trace, compares, and prints what came of both.
func (c *demoCmd) show(ctx context.Context, std terminal.Stdio, d *demo.Demo, opcodes *slots.Opcodes, url string, log *slog.Logger) error {
	summary, err := c.play(ctx, d, terminal.NewScreen(std.Err))
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if !c.JSON {
		fmt.Fprint(std.Out, summary.Text())
	}
	err = c.compare(ctx, std, d, opcodes, url, &summary, log)
	if c.JSON {
		err = errors.Join(err, text.JSON(std.Out, &summary))
	}
	if problems := summary.Problems(); len(problems) > 0 {
		err = errors.Join(fmt.Errorf("demo: %s", strings.Join(problems, "; ")), err)
	}
	return err
}

// view serves what a browser shows, and says where. A demonstration goes on without it.
func (c *demoCmd) view(ctx context.Context, log *slog.Logger) (seen *oversight.Oversight, page string) {
	cfg := oversight.Config{HTTP: admin.Config{Addr: c.HTTP, Log: log}, Version: version, Queues: metrics.DefaultQueues, Log: log}
	seen, err := oversight.Begin(ctx, cfg)
	switch {
	case err != nil:
		cfg.HTTP.Addr = ""
		seen, _ = oversight.Begin(ctx, cfg) // which serves nothing, and cannot fail
		return seen, "no page (" + err.Error() + ")"
	case c.HTTP == "":
		return seen, "no page"
	}
	return seen, "page at http://" + seen.Addr()
}

// compare has the summary say what the decision was worth.
func (c *demoCmd) compare(ctx context.Context, std terminal.Stdio, d *demo.Demo, opcodes *slots.Opcodes, url string, s *demo.Summary, log *slog.Logger) error {
	if c.Compare == 0 {
		return nil
	}
	device, err := c.Open(log)
	if err != nil {
		return fmt.Errorf("demo: the comparison's device: %w", err)
	}
	out := terminal.NewScreen(std.Err)
	if !out.Terminal {
		out.Note("what the decision was worth: %d turns of about a second", 2*(c.Compare+1))
	}
	without := *c
	without.Tuner.Mode, without.DecisionLog = session.Off, option.DecisionLog{}
	result, err := d.Compare(ctx, without.config(url, device, opcodes, log).Worker, c.Compare, func(over, of int) {
		out.Draw(fmt.Sprintf("%s what the decision was worth: turn %d of %d\n", terminal.Bar(float64(over)/float64(of), 18), over+1, of))
	})
	out.Draw("")
	if err != nil {
		return fmt.Errorf("demo: the comparison: %w", interrupted(err))
	}
	s.Comparison = &result
	if !c.JSON {
		fmt.Fprint(std.Out, result.Text())
	}
	return nil
}

// interrupted names what a canceled context means here.
func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return err
}

// config is the demo that the flags ask for.
func (c *demoCmd) config(url string, device *glcompute.Device, opcodes *slots.Opcodes, log *slog.Logger) demo.Config {
	bus := option.NATS{URL: url, Prefix: telemetry.DefaultPrefix}
	cfg := demo.Config{
		Worker: worker.Config{
			NATS: bus.Config("demo runtime", log), Policy: c.Policy.Config(), Log: log, Version: version,
			Decisions: c.DecisionLog.Config(version), Device: device,
			Engine: worker.EngineConfig{Catalog: opcodes.Catalog, Binaries: c.Binaries(log), Mode: c.LaunchMode(device), LeaseDuration: c.Lease.Duration},
		},
		Player: demo.PlayerConfig{Speed: c.Speed, Limit: c.Limit, Faults: c.FaultEvery},
	}
	cfg.Worker.Autotuner, cfg.Worker.Memory = c.Autotune.Memory(log)
	return cfg
}

// play draws the live table until the trace has been played.
func (c *demoCmd) play(ctx context.Context, d *demo.Demo, out *terminal.Screen) (summary demo.Summary, err error) {
	played := make(chan struct{})
	go func() {
		defer close(played)
		summary, err = d.Play(ctx)
	}()
	refresh := time.NewTicker(100 * time.Millisecond)
	defer refresh.Stop()
	notes := time.NewTicker(5 * time.Second)
	defer notes.Stop()
	for {
		select {
		case <-played:
			out.Draw(demoFrame(d))
			return summary, interrupted(err)
		case <-refresh.C:
			out.Draw(demoFrame(d))
		case <-notes.C:
			if !out.Terminal {
				out.Note("%s", demoProgress(d))
			}
		}
	}
}

func demoProgress(d *demo.Demo) string {
	position, end, executed := d.Progress()
	done := float64(position) / float64(end)
	return fmt.Sprintf("%s %3.0f%%  %v of %v of the trace, %s slots done", terminal.Bar(done, 18), 100*min(done, 1),
		min(position, end).Round(time.Second), end.Round(time.Second), text.Grouped(executed))
}

// demoFrame is the live table. It leaves out the pressure, which follows from the length, so
// that it fits into 80 columns.
func demoFrame(d *demo.Demo) string {
	const pressureCell = 2
	var rows [][]string
	for _, q := range d.Queues() {
		r, known := d.Latest(q.Queue)
		if !known {
			continue
		}
		r.SwitchHeld = false // the summary counts these
		cells := slices.Delete(planCells(q.Queue, &r), pressureCell, pressureCell+1)
		rows = append(rows, append(cells, text.Grouped(q.Launches), text.Grouped(q.SlotsExecuted)))
	}
	header := slices.Delete(slices.Clone(planHeader), pressureCell, pressureCell+1)
	return text.Table(append(header, "LAUNCHES", "SLOTS"), rows) + demoProgress(d) + "\n"
}
