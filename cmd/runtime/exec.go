package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/slots"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/megakernel"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

// execCmd runs slots on uploaded data, on this machine and without NATS.
type execCmd struct {
	option.GL
	option.Opcodes
	Slots    []string `required:"" sep:"none" placeholder:"SPEC" help:"Slots to run: 'OPCODE operand=VALUE … [xN]'. A value is a number (12, 0x1F, -3, 1.5f), a range cut into pieces (FIRST..END/PIECE, one slot for each piece), or len, the length of the slot's piece. If repeated, the SPECs run one after the other."`
	Upload   []string `sep:"none" placeholder:"OFFSET:FILE[:FORMAT]" help:"Copy a file to a word offset of the window beforehand. FORMAT is bytes (raw; the default), or u32, i32 or f32 for a text of numbers. FILE - is standard input."`
	Download []string `sep:"none" placeholder:"OFFSET:COUNT[:FORMAT]" help:"Print words of the window afterwards. FORMAT is u32 (the default), i32, hex, f32, or bytes (raw)."`
	Results  bool     `help:"Print the result word of every slot."`
	Verify   bool     `help:"Run the same slots with the Go references too, and compare the window and all results."`
	Window   uint32   `placeholder:"WORDS" default:"1048576" help:"Size of the window that holds the data."`
	Geometry string   `placeholder:"WxGxC" default:"64x64x64" help:"Width (invocations of a workgroup), workgroups, and chunk (slots of a claim)."`
}

// execQueue is the only queue of the command's engine.
const execQueue = "exec"

func (c *execCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	ctx, stop := terminal.UntilSignal(ctx)
	defer stop()
	std.In = terminal.Interruptible(ctx, std.In)
	set, err := slots.LoadOpcodes(c.Opcodes.Dir)
	if err != nil {
		return err
	}
	job, err := c.job(set, std)
	if err != nil {
		return err
	}
	device, err := c.GL.Open(log)
	if err != nil {
		return err
	}
	defer device.Close()
	if err := set.Compile(device); err != nil {
		return err
	}
	if limit := device.StorageBlockLimit(); int64(c.Window)*ring.WordBytes > limit {
		return fmt.Errorf("--window %d takes %d bytes, the device's storage blocks end at %d: at most %d words", c.Window, int64(c.Window)*ring.WordBytes, limit, limit/ring.WordBytes)
	}
	cfg := megakernel.DefaultConfig()
	cfg.MaxQueues, cfg.HeapWords, cfg.WindowWords, cfg.Catalog = 1, c.Window, c.Window, set.Catalog
	engine, err := megakernel.New(device, cfg)
	if err != nil {
		return err
	}
	defer engine.Close()
	if err := job.run(ctx, engine); err != nil {
		return err
	}
	job.summary(std.Err, device.Info().Renderer)
	if err := job.print(std.Out); err != nil {
		return err
	}
	if c.Verify {
		if err := job.verify(set.Catalog); err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "verified: %d words of the window and %d results are those of the Go references\n", len(job.after), job.slots())
	}
	if job.faulted > 0 {
		return terminal.ExitCode(1)
	}
	return nil
}

// job is what an exec command line asks for, and what came of it.
type job struct {
	before    []uint32 // the window as uploaded
	groups    []slots.Group
	downloads []slots.Download
	results   bool
	geometry  policy.Geometry

	after    []uint32 // the window when all is done
	launches int
	nanos    uint64 // time of the dispatches
	faulted  int
	adjusted string // how and why the first launch that had to be was another than asked for

	prints      []megakernel.Print
	overwritten uint32 // prints that are not among them
}

// maxExecWindow is the most words of --window: 2 GiB, where the largest storage blocks of today end.
const maxExecWindow = 1 << 29

// job reads the command line and the files it names.
func (c *execCmd) job(set *slots.Opcodes, std terminal.Stdio) (*job, error) {
	if c.Window < 1 || c.Window > maxExecWindow {
		return nil, fmt.Errorf("--window %d: want 1 to %d words", c.Window, maxExecWindow)
	}
	j := &job{before: make([]uint32, c.Window), results: c.Results}
	if _, err := fmt.Sscanf(c.Geometry+"\n", "%dx%dx%d\n", &j.geometry.Width, &j.geometry.Groups, &j.geometry.Chunk); err != nil {
		return nil, fmt.Errorf("--geometry %s: want invocations x workgroups x positions, as in 64x64x64", c.Geometry)
	}
	for _, spec := range c.Upload {
		if err := slots.Upload(spec, std.In, j.before); err != nil {
			return nil, fmt.Errorf("--upload %s: %w", spec, err)
		}
	}
	for _, spec := range c.Download {
		d, err := slots.ParseDownload(spec)
		if err == nil {
			err = d.Fits(c.Window)
		}
		if err != nil {
			return nil, fmt.Errorf("--download %s: %w", spec, err)
		}
		j.downloads = append(j.downloads, d)
	}
	var err error
	j.groups, err = slots.Parse(c.Slots, ring.PriorityNormal, set)
	return j, err
}

// slots is the number of slots of all groups.
func (j *job) slots() int {
	n := 0
	for i := range j.groups {
		n += len(j.groups[i].Slots)
	}
	return n
}

// run uploads, runs every group to its end, and downloads the window.
func (j *job) run(ctx context.Context, e *megakernel.Engine) error {
	if err := e.Write(execQueue, 0, j.before); err != nil {
		return err
	}
	for i := range j.groups {
		if err := j.runGroup(ctx, e, &j.groups[i]); err != nil {
			return err
		}
	}
	var err error
	if j.prints, j.overwritten, err = e.Prints(); err != nil {
		return err
	}
	j.after = make([]uint32, len(j.before))
	return e.Read(execQueue, 0, j.after)
}

// execBatch is the most slots the command submits at a time.
const execBatch = 1 << 16

func (j *job) runGroup(ctx context.Context, e *megakernel.Engine, g *slots.Group) error {
	first := uint32(0)
	for part := range slices.Chunk(g.Slots, execBatch) {
		// The engine owns what is submitted; the reference needs the slots again.
		batch := megakernel.Batch{ID: fmt.Sprint(first), Slots: slices.Clone(part), WantResults: true}
		if err := e.Submit(execQueue, batch); err != nil {
			return err
		}
		if err := j.drain(ctx, e, g, first); err != nil {
			return err
		}
		first += uint32(len(part))
	}
	return nil
}

// maxIdleLaunches is how many launches in a row may finish no slot before exec gives
// up: more than the attempts that a slot may ask for.
const maxIdleLaunches = 2 * kernel.MaxAttempts

// drain launches until nothing is pending.
func (j *job) drain(ctx context.Context, e *megakernel.Engine, g *slots.Group, first uint32) error {
	idle := 0 // launches in a row that finished no slot
	for e.Pending(execQueue) > 0 {
		if idle > maxIdleLaunches {
			return fmt.Errorf("%d slots are pending and %d launches in a row finished none", e.Pending(execQueue), idle)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped with %d slots pending", e.Pending(execQueue))
		}
		j.launches++
		report, err := e.Launch(megakernel.Order{Launch: uint64(j.launches), Queue: execQueue, Geometry: j.geometry})
		if err != nil {
			return err
		}
		j.nanos += report.ElapsedNs
		if report.NotApplied != "" && j.adjusted == "" {
			j.adjusted = fmt.Sprintf("%s instead of %s: %s", report.Applied, j.geometry, report.NotApplied)
		}
		idle++
		if report.Executed+report.Faulted > 0 {
			idle = 0
		}
		for _, done := range report.Finished {
			g.Results = append(g.Results, done.Results...)
			for _, f := range done.Faults {
				g.Faults = append(g.Faults, megakernel.SlotFault{Index: first + f.Index, Code: f.Code})
				j.faulted++
			}
		}
	}
	return nil
}

// shownFaults is how many faulted slots of a group are listed.
const shownFaults = 5

// summary says what ran, what slots printed, and which faulted and why.
func (j *job) summary(out io.Writer, renderer string) {
	var opcodes []string
	for i := range j.groups {
		opcodes = append(opcodes, fmt.Sprintf("%s ×%d", j.groups[i].Opcode, len(j.groups[i].Slots)))
	}
	launches := "1 launch"
	if j.launches != 1 {
		launches = fmt.Sprintf("%d launches", j.launches)
	}
	fmt.Fprintf(out, "%s: %s, %v on %s\n", strings.Join(opcodes, ", "), launches, time.Duration(j.nanos), renderer)
	if j.adjusted != "" {
		fmt.Fprintf(out, "geometry: %s\n", j.adjusted)
	}
	slices.SortFunc(j.prints, func(a, b megakernel.Print) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for _, p := range j.prints {
		fmt.Fprintf(out, "print: slot %d: %d\n", p.Sequence, p.Args)
	}
	if j.overwritten > 0 {
		fmt.Fprintf(out, "and %d prints more, of which the log keeps none\n", j.overwritten)
	}
	for i := range j.groups {
		g := &j.groups[i]
		slices.SortFunc(g.Faults, func(a, b megakernel.SlotFault) int { return int(a.Index) - int(b.Index) })
		for n, f := range g.Faults {
			if n == shownFaults {
				fmt.Fprintf(out, "and %d more slots of %s\n", len(g.Faults)-n, g.Opcode)
				break
			}
			fmt.Fprintf(out, "fault: slot %d of %s, arguments %v: %s\n", f.Index, g.Opcode, g.Slots[f.Index].Args, f.Code)
		}
	}
}

// print writes the results and downloads that were asked for.
func (j *job) print(out io.Writer) error {
	for i := range j.groups {
		if j.results {
			all := slots.Download{Format: "u32"}
			if err := all.Print(out, j.groups[i].Results); err != nil {
				return err
			}
		}
	}
	for _, d := range j.downloads {
		if err := d.Print(out, j.after[d.Offset:d.Offset+d.Count]); err != nil {
			return err
		}
	}
	return nil
}

// shownWords is how many words that differ are listed.
const shownWords = 5

// verify runs the slots one after the other with their Go references, on the
// window as it was, and compares the result with what the device left. Where slots
// of one group write what others of it read, there is no single right outcome, and
// the comparison may fail.
func (j *job) verify(catalog *kernel.Catalog) error {
	window := slices.Clone(j.before)
	var problems []string
	note := func(format string, args ...any) {
		if len(problems) < shownWords {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	sequence := uint32(0)
	for i := range j.groups {
		g := &j.groups[i]
		faults := make(map[uint32]ring.FaultCode)
		for _, f := range g.Faults {
			faults[f.Index] = f.Code
		}
		for n := range g.Slots {
			s := g.Slots[n]
			s.Sequence = sequence
			sequence++
			fault, result, known := catalog.Execute(&s, window)
			switch {
			case !known:
				return fmt.Errorf("opcode %s has no Go reference to verify with; --verify needs one", g.Opcode)
			case fault != faults[uint32(n)]:
				note("slot %d of %s ended in %q, the reference in %q", n, g.Opcode, faults[uint32(n)], fault)
			case result != g.Results[n]:
				note("slot %d of %s has result %d, the reference %d", n, g.Opcode, g.Results[n], result)
			}
		}
	}
	for at, want := range window {
		if got := j.after[at]; got != want {
			note("word %d is %d (0x%08x), the reference leaves %d (0x%08x)", at, got, got, want, want)
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("the device and the Go references differ:\n%s", strings.Join(problems, "\n"))
	}
	return nil
}
