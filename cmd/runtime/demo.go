package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/embedded"
)

// demoCmd runs every part in one process, each on a connection of its own.
type demoCmd struct {
	glFlags
	policyFlags
	decisionLogFlags
	opcodeFlags
	programFlags
	leaseFlags
	autotuneFlags
	Speed      float64       `default:"60" help:"Seconds of the trace that are replayed per second."`
	Limit      time.Duration `placeholder:"DURATION" help:"Stop at this moment of the trace instead of its end."`
	FaultEvery int           `placeholder:"N" help:"Let every N-th slot of the queue decode address memory outside its window, which is a fault."`
	Array      bool          `help:"Publish records as msgpack arrays instead of maps."`
	JSON       bool          `help:"Print the summary as one JSON object."`
}

const demoWorker = "demo"

func (c *demoCmd) Run(ctx context.Context, std stdio, log *slog.Logger) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	if err := checkSpeed(c.Speed); err != nil {
		return err
	}
	if c.Limit < 0 {
		return fmt.Errorf("--limit %v: want a moment of the trace", c.Limit)
	}
	if err := c.leaseFlags.check(); err != nil {
		return err
	}
	opcodes, err := c.opcodeFlags.load()
	if err != nil {
		return err
	}
	d, err := c.start(ctx, opcodes, log)
	if err != nil {
		return err
	}
	defer d.close()
	out := newScreen(std.err)
	fmt.Fprintf(std.err, "NATS at %s, ring on %s\n", d.server.URL(), d.node.DeviceName())

	played := make(chan error, 1)
	began := time.Now()
	go func() { played <- d.player.play(ctx) }()
	err = d.show(out, played)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	summary := d.summarize(time.Since(began))
	if err := d.verify(ctx, &summary); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return c.report(std, &summary)
}

// report prints the summary and turns what does not add up into exit code 1.
func (c *demoCmd) report(std stdio, s *summary) error {
	if c.JSON {
		if err := json.NewEncoder(std.out).Encode(s); err != nil {
			return err
		}
	} else {
		fmt.Fprint(std.out, s.text())
	}
	if problems := s.problems(); len(problems) > 0 {
		fmt.Fprintln(std.err, "ringmaster: demo:", strings.Join(problems, "; "))
		return exitError{1}
	}
	return nil
}

// demo is the running whole: a server, the runtime, a publisher, a subscriber.
type demo struct {
	store      string
	server     *embedded.Server
	node       *worker.Node
	publisher  *natsio.Conn
	subscriber *natsio.Conn
	player     *player
	observer   *observer
	stops      []func()
}

func (c *demoCmd) start(ctx context.Context, opcodes *opcodeSet, log *slog.Logger) (_ *demo, err error) {
	d := &demo{observer: newObserver()}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if d.store, err = os.MkdirTemp("", "ringmaster-demo-"); err != nil {
		return nil, err
	}
	d.server, err = startServer("127.0.0.1", -1, d.store, log)
	if err != nil {
		return nil, err
	}
	connect := func(name string) natsio.Config {
		f := natsFlags{URL: d.server.URL(), Prefix: telemetry.DefaultPrefix}
		return f.config(name, log)
	}
	device, err := c.open(log)
	if err != nil {
		return nil, err
	}
	d.stops = append(d.stops, func() { device.Close() })
	if err := opcodes.compile(device); err != nil {
		return nil, err
	}
	cfg := worker.Config{
		NATS: connect("demo runtime"), Policy: c.policyFlags.config(), Name: demoWorker, Log: log, Version: version, Device: device,
		Decisions: c.decisionLogFlags.config(),
		Engine:    worker.EngineConfig{Catalog: opcodes.catalog, Binaries: c.binaries(log), Mode: c.launchMode(device), LeaseDuration: c.LeaseDuration},
	}
	cfg.Autotuner, cfg.Memory = c.autotuneFlags.tuning(log)
	if d.node, err = worker.Start(ctx, cfg); err != nil {
		return nil, err
	}
	if d.subscriber, err = natsio.Connect(connect("demo subscriber")); err != nil {
		return nil, err
	}
	if err = d.observer.subscribe(d.subscriber); err != nil {
		return nil, err
	}
	if d.publisher, err = natsio.Connect(connect("demo publisher")); err != nil {
		return nil, err
	}
	if d.player, err = newPlayer(d.publisher, demoWorker, c.Speed); err != nil {
		return nil, err
	}
	d.player.limit, d.player.faults = c.Limit, c.FaultEvery
	if c.Array {
		d.player.form = telemetry.FormArray
	}
	return d, nil
}

func (d *demo) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if d.publisher != nil {
		d.publisher.Close()
	}
	if d.subscriber != nil {
		d.subscriber.Close()
	}
	if d.node != nil {
		d.node.Close(ctx)
	}
	for _, stop := range d.stops {
		stop()
	}
	if d.server != nil {
		d.server.Shutdown()
	}
	if d.store != "" {
		os.RemoveAll(d.store)
	}
}

// show draws the live table until the player returns.
func (d *demo) show(out *screen, played <-chan error) error {
	refresh := time.NewTicker(100 * time.Millisecond)
	defer refresh.Stop()
	notes := time.NewTicker(5 * time.Second)
	defer notes.Stop()
	for {
		select {
		case err := <-played:
			out.draw(d.frame())
			if errors.Is(err, context.Canceled) {
				return errors.New("interrupted")
			}
			return err
		case <-refresh.C:
			out.draw(d.frame())
		case <-notes.C:
			if !out.terminal {
				out.note("%s", d.progress())
			}
		}
	}
}

func (d *demo) progress() string {
	position := time.Duration(d.player.position.Load())
	end := d.player.length
	if d.player.limit > 0 {
		end = min(end, d.player.limit)
	}
	var executed uint64
	for i := range d.player.queues {
		executed += d.player.queues[i].executed.Load()
	}
	done := float64(position) / float64(end)
	return fmt.Sprintf("%s %3.0f%%  %v of %v of the trace, %s slots done", bar(done, 18), 100*min(done, 1),
		min(position, end).Round(time.Second), end.Round(time.Second), grouped(executed))
}

// frame is the live table. It leaves out the pressure, which follows from the length, so
// that it fits into 80 columns.
func (d *demo) frame() string {
	const pressureCell = 2
	var rows [][]string
	for _, q := range d.node.System().Queues() {
		r, known := d.observer.latest(q.Queue)
		if !known {
			continue
		}
		r.SwitchHeld = false // the summary counts these
		cells := slices.Delete(planCells(q.Queue, &r), pressureCell, pressureCell+1)
		rows = append(rows, append(cells, grouped(q.Launches), grouped(q.SlotsExecuted)))
	}
	header := slices.Delete(slices.Clone(planHeader), pressureCell, pressureCell+1)
	return table(append(header, "LAUNCHES", "SLOTS"), rows) + d.progress() + "\n"
}
