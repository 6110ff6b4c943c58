package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/slots"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/trial"
	"ringmaster/megakernel/tuner/workload"
	"ringmaster/ring"
)

// tuneCmd looks for the best geometry of this machine's ring for a workload.
type tuneCmd struct {
	option.GL
	option.Opcodes
	option.TunerCache
	option.Slots
	Workload string  `placeholder:"NAME" help:"A bundled workload; --list names them (default: light-64k)."`
	List     bool    `help:"List the bundled workloads and exit."`
	Ring     int     `placeholder:"N" help:"Slots of a launch: those of the workload, repeated or cut to this number."`
	Window   uint32  `placeholder:"WORDS" default:"1048576" help:"Size of the window that your slots work on."`
	Strategy string  `enum:"sweep,search" default:"sweep" help:"How to search. sweep: every geometry, from a coarse grid to a fine one. search: as few as possible, by models of what was measured."`
	Launches int     `placeholder:"N" help:"Most launches to spend; 0: bounded by the time only."`
	Seconds  float64 `default:"60" help:"Most seconds to spend; 0: bounded by the launches only."`
	JSON     bool    `help:"Print one JSON object instead of the table."`
	Picture  string  `placeholder:"FILE" help:"Draw what a launch took at the geometries, as SVG."`
}

func (c *tuneCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	if c.List {
		listWorkloads(std.Out)
		return nil
	}
	if err := errors.Join(c.check(), terminal.Replaceable("--picture", c.Picture)); err != nil {
		return err
	}
	set, err := slots.LoadOpcodes(c.Opcodes.Dir)
	if err != nil {
		return err
	}
	load, err := c.load(set, std.In)
	if err != nil {
		return err
	}
	ctx, stop := terminal.UntilSignal(ctx)
	defer stop()
	device, err := c.GL.Open(log)
	if err != nil {
		return err
	}
	defer device.Close()
	if err := set.Compile(device); err != nil {
		return err
	}
	store, err := c.openTuned(set.Catalog, device, log)
	if err != nil {
		return err
	}
	if store != nil {
		defer store.Close() // what was put is written already
	}
	r, err := newTuneRing(device, set.Catalog, load)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.Put(load); err != nil {
		return err
	}
	result, err := c.tune(ctx, r, terminal.NewScreen(std.Err))
	if result == nil {
		return err
	}
	result.Device = device.Info().Renderer
	return errors.Join(err, c.finish(result, r, set.Catalog, device, std, store, err == nil))
}

// check refuses flags that cannot work, before anything is opened.
func (c *tuneCmd) check() error {
	own := len(c.Slots.Specs) > 0 || c.Slots.File != ""
	switch {
	case own && c.Workload != "":
		return errors.New("tune: --workload is a bundled one and --slots are your own; give one of them")
	case c.Ring < 0 || c.Ring > workload.MaxSlots:
		return fmt.Errorf("tune: --ring %d: want 1 to %d slots", c.Ring, workload.MaxSlots)
	case c.Launches < 0 || !(c.Seconds >= 0):
		return errors.New("tune: a budget of less than nothing; give --launches or --seconds of 0 for no bound")
	case c.Launches > 0 && c.Launches < trial.LeastLaunches:
		return fmt.Errorf("%w: --launches %d: at least %d are needed to compare geometries", trial.ErrBudget, c.Launches, trial.LeastLaunches)
	case c.Launches == 0 && c.Seconds == 0 && c.Strategy != strategySweep:
		return fmt.Errorf("tune: the strategy %s needs a bound: give --launches or --seconds", c.Strategy)
	case c.Window < 1 || c.Window > workload.MaxWindow:
		return fmt.Errorf("tune: --window %d: want 1 to %d words", c.Window, workload.MaxWindow)
	}
	return nil
}

// load makes the slots that the flags ask for.
func (c *tuneCmd) load(set *slots.Opcodes, in io.Reader) (*trial.Load, error) {
	specs, err := c.Slots.Read(in)
	if err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	if len(specs) > 0 {
		return ownLoad(specs, c.Ring, c.Window, set)
	}
	name := c.Workload
	if name == "" {
		name = "light-64k"
	}
	w, found := workload.Find(name)
	if !found {
		return nil, fmt.Errorf("%w: there is no bundled workload %s; tune --list names them", trial.ErrWorkload, name)
	}
	if c.Ring > 0 {
		w.Slots = c.Ring
	}
	return trial.NewLoad(&w, set.Catalog)
}

// ownLoad is a ring of slots made from specs, interleaved evenly: of two groups of 30
// and 10 slots, every fourth slot is of the second.
func ownLoad(specs []string, n int, window uint32, set *slots.Opcodes) (*trial.Load, error) {
	groups, err := slots.Parse(specs, ring.PriorityNormal, set)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", trial.ErrWorkload, err)
	}
	var names []string
	total := 0
	for i := range groups {
		names = append(names, groups[i].Opcode)
		total += len(groups[i].Slots)
	}
	if n == 0 {
		n = total
	}
	if n > workload.MaxSlots {
		return nil, fmt.Errorf("%w: %d slots, at most %d; say with --ring how many a launch has", trial.ErrWorkload, n, workload.MaxSlots)
	}
	l := &trial.Load{Name: strings.Join(names, "+"), Slots: make([]ring.Slot, 0, n), Window: make([]uint32, window)}
	taken := make([]int, len(groups))
	for i := range n {
		// The group that is furthest behind its share is next.
		next, most := 0, -1.0
		for k := range groups {
			if behind := float64(i+1)*float64(len(groups[k].Slots))/float64(total) - float64(taken[k]); behind > most {
				next, most = k, behind
			}
		}
		g := groups[next].Slots
		l.Slots = append(l.Slots, g[taken[next]%len(g)])
		taken[next]++
	}
	return l, nil
}

// tune measures. The result is nil if nothing was measured. If there are both a result and
// an error, the error says why no geometry was chosen.
func (c *tuneCmd) tune(ctx context.Context, ring *trial.Ring, to *terminal.Screen) (*tuneResult, error) {
	run := ring.NewRun(c.Launches, time.Duration(c.Seconds*float64(time.Second)))
	run.Progress = tuneProgress(to)
	chosen, whole, err := run.Measure(ctx, strategies[c.Strategy])
	to.Draw("")
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("tune: interrupted after %d launches: %w", run.Count, err)
	}
	if run.Count == 0 {
		return nil, err
	}
	return &tuneResult{
		Workload: ring.Load.Name, Slots: uint32(len(ring.Load.Slots)), Strategy: c.Strategy,
		Geometries: ring.Space.Len(), Launches: run.Count, Complete: whole && err == nil, Rows: run.Rows(chosen),
	}, err
}

// tuneProgress draws a bar on a terminal, a few times a second.
func tuneProgress(to *terminal.Screen) func(float64, *trial.Run) {
	var last time.Time
	return func(done float64, r *trial.Run) {
		if !to.Terminal || time.Since(last) < 100*time.Millisecond {
			return
		}
		last = time.Now()
		if r.Launches == 0 && r.Span == 0 {
			done = float64(len(r.Times)) / float64(r.Space.Len())
		}
		best := r.Best(1)[0]
		g := r.Space.At(best)
		to.Draw(fmt.Sprintf("%s %3.0f %%  %s launches, %s of %s geometries, best %s: %s\n", terminal.Bar(done, 30), 100*done,
			text.Grouped(r.Count), text.Grouped(len(r.Times)), text.Grouped(r.Space.Len()), g, launchTime(trial.Median(r.Times[best]))))
	}
}

// finish prints the result and stores it if a geometry was chosen and there is a store.
func (c *tuneCmd) finish(t *tuneResult, r *trial.Ring, catalog *kernel.Catalog, device worker.Device, std terminal.Stdio, store *cache.Cache, chosen bool) error {
	var err error
	if chosen && store != nil {
		err = storeTuned(t, store, r, catalog, device)
	}
	err = errors.Join(err, terminal.ReplaceFlagged("--picture", c.Picture, func(w io.Writer) error {
		_, err := io.WriteString(w, t.picture())
		return err
	}))
	if c.JSON {
		return errors.Join(err, text.JSON(std.Out, t))
	}
	t.print(std.Out)
	if !chosen {
		fmt.Fprintln(std.Out, "not finished: nothing is chosen and nothing stored")
	}
	return err
}

// listWorkloads prints the bundled workloads.
func listWorkloads(out io.Writer) {
	var rows [][]string
	for _, w := range workload.Bundled() {
		rows = append(rows, []string{w.Name, text.Grouped(w.Slots), w.About})
	}
	fmt.Fprint(out, text.Table([]string{"WORKLOAD", "SLOTS", "SLOTS ARE"}, rows))
}

// newTuneRing makes a ring for a load on a device. The caller closes it.
func newTuneRing(device worker.Device, catalog *kernel.Catalog, load *trial.Load) (*trial.Ring, error) {
	return trial.NewRing(device, trial.RingConfig{
		Catalog: catalog, Slots: len(load.Slots), Window: len(load.Window), Limits: megakernel.LimitsOf(device), Software: device.Info().Software,
	})
}
