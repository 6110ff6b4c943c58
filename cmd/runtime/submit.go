package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/slots"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/ring"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// submitCmd sends work to a running worker and shows what became of it.
type submitCmd struct {
	option.Target  `set:"timeout=30s"`
	option.Opcodes `group:"Slots:"`
	option.Slots   `group:"Slots:"`
	Batch          string        `placeholder:"ID" help:"Name of the batch; a number is appended if there are several (default: a new name). A batch that has ended under this name does not run again: what became of it then is told."`
	Priority       string        `enum:"critical,high,normal,low,idle" default:"normal" help:"Priority of all slots: critical, high, normal, low or idle."`
	Deadline       time.Duration `placeholder:"DURATION" help:"Drop slots that no launch has begun this long after the worker took the batch."`
	Epoch          uint64        `placeholder:"N" help:"Epoch of the upload that the work needs, as heap upload prints it. If that data is gone, nothing runs."`
	Results        bool          `help:"Print the result word of every slot."`
	Wait           bool          `default:"true" negatable:"" help:"Wait for the outcome. With --no-wait, give one SPEC; the worker may start later."`
}

func (c *submitCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	groups, err := c.groups(terminal.Interruptible(ctx, std.In))
	if err != nil {
		return err
	}
	return c.With(ctx, "ringmaster submit", log, func(ctx context.Context, conn *natsio.Conn) error {
		s, err := newSubmission(ctx, c, conn, std)
		if err != nil {
			return err
		}
		for i := range groups {
			if err := s.run(ctx, &groups[i]); err != nil {
				return err
			}
		}
		if s.failed {
			return terminal.ExitCode(1)
		}
		return nil
	}, c.hints()...)
}

// hints are subjects that a submission goes without: the question whether a worker is there, word of a batch, and what
// ended before.
func (c *submitCmd) hints() []string {
	names := telemetry.Subjects{Prefix: c.Prefix}
	hints := []string{names.Heap(c.Worker, c.Queue), names.Queued(c.Worker, c.Queue)}
	if c.Wait {
		hints = append(hints, "$JS.>") // done records that were kept; --no-wait may have to make the stream of work
	}
	return hints
}

// groups reads and checks what the command line asks for.
func (c *submitCmd) groups(in io.Reader) ([]slots.Group, error) {
	switch {
	case c.Batch != "" && !telemetry.ValidToken(c.Batch):
		return nil, fmt.Errorf("--batch %q: use 1 to %d letters, digits, _ or -", c.Batch, telemetry.MaxToken)
	case c.Deadline < 0 || c.Deadline > 0 && c.Deadline < time.Millisecond || c.Deadline > math.MaxUint32*time.Millisecond:
		return nil, fmt.Errorf("--deadline %v: want 1ms to %v", c.Deadline, math.MaxUint32*time.Millisecond)
	}
	set, err := slots.LoadOpcodes(c.Opcodes.Dir)
	if err != nil {
		return nil, err
	}
	specs, err := c.Slots.Read(in)
	if err != nil {
		return nil, err
	}
	if len(specs) == 0 {
		return nil, errors.New("nothing to submit: give --slots or --slots-file")
	}
	if len(specs) > 1 && !c.Wait {
		return nil, fmt.Errorf("%d SPECs and --no-wait: the SPECs run one after the other, so somebody has to wait; submit one at a time", len(specs))
	}
	return slots.Parse(specs, uint32(slices.Index(slots.Priorities, c.Priority)), set)
}

// submission is what a submit command has under way.
type submission struct {
	cmd    *submitCmd
	conn   *natsio.Conn
	std    terminal.Stdio
	header telemetry.Header
	name   string           // of batches
	sent   int              // batches
	failed bool             // a slot faulted or was dropped
	sentNs map[string]int64 // by batch

	outcomes *client.Outcomes // nil: nobody waits
}

// newSubmission checks that a worker is there to run the work, unless the command does
// not wait for it.
func newSubmission(ctx context.Context, c *submitCmd, conn *natsio.Conn, std terminal.Stdio) (*submission, error) {
	s := &submission{
		cmd: c, conn: conn, std: std, header: telemetry.Header{Incarnation: telemetry.NewIncarnation()}, name: c.Batch,
		sentNs: make(map[string]int64),
	}
	if s.name == "" {
		s.name = fmt.Sprintf("%x", s.header.Incarnation)
	}
	if !c.Wait {
		if client.HasWorkStream(ctx, conn, c.Worker, c.Queue) {
			return s, nil
		}
		return s, conn.EnsureWorkStream(ctx)
	}
	if s.nobodyServes(ctx) {
		check := "--worker, --nats and --prefix are its own"
		if pool, is := telemetry.PoolOf(c.Worker); is {
			check = "it has --pool " + pool
		}
		return nil, fmt.Errorf("nothing was submitted, as nobody serves worker %s: check that `ringmaster run` is up with a GPU and that %s, or submit with --no-wait for a worker to come", c.Worker, check)
	}
	var err error
	s.outcomes, err = client.FollowOutcomes(ctx, conn, c.Worker, c.Queue, func(batch string) bool {
		return batch == s.name || strings.HasPrefix(batch, s.name+"-")
	})
	if err == nil && c.Batch != "" {
		_ = s.outcomes.Kept(ctx, time.Now().Add(-keptDone)) // without the stream the worker's own memory has to do
	}
	return s, err
}

// keptDone is how far back the done record of a batch is looked for that is submitted under its name again: as long as
// the stream has it.
const keptDone = 24 * time.Hour

// probePatience bounds how long to wait for an answer to whether somebody serves a worker.
const probePatience = 2 * time.Second

// nobodyServes reports whether the server says that no worker of this name, or of this pool, has a device.
func (s *submission) nobodyServes(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probePatience)
	defer cancel()
	ctx, cancel = s.conn.Permitted(ctx) // who may not ask does not know
	defer cancel()
	if _, pool := telemetry.PoolOf(s.cmd.Worker); pool {
		takes, err := client.AnybodyTakes(ctx, s.conn, s.cmd.Worker, s.cmd.Queue)
		return err == nil && !takes
	}
	err := client.Download(ctx, s.conn, s.cmd.Worker, s.cmd.Queue, 0, make([]uint32, 1))
	return errors.Is(err, natsio.ErrNoRuntime)
}

// run submits the slots of a group and waits for all of them, if it waits.
func (s *submission) run(ctx context.Context, g *slots.Group) error {
	batches := make(map[string][]ring.Slot)
	var order []string
	for part := range slices.Chunk(g.Slots, batchSlots(g.Slots)) {
		s.sent++
		id := s.name
		if s.sent > 1 {
			id = fmt.Sprintf("%s-%d", s.name, s.sent)
		}
		if s.outcomes == nil || !s.outcomes.Has(id) {
			if err := s.send(ctx, id, part); err != nil {
				return err
			}
		}
		batches[id] = part
		order = append(order, id)
	}
	if !s.cmd.Wait {
		for _, id := range order {
			fmt.Fprintf(s.std.Err, "batch %s: %d slots of %s are in the stream\n", id, len(batches[id]), g.Opcode)
		}
		return nil
	}
	return s.wait(ctx, g, order, batches)
}

// send stores one batch in the stream.
func (s *submission) send(ctx context.Context, id string, slots []ring.Slot) error {
	work := telemetry.Work{
		Has: telemetry.HasBatch | telemetry.HasRuns, Batch: id, WantResults: s.cmd.Results,
		Epoch: s.cmd.Epoch, DeadlineMs: uint32(s.cmd.Deadline / time.Millisecond), Runs: []telemetry.Run{runOf(slots)},
	}
	if work.WantResults {
		work.Has |= telemetry.HasWantResults
	}
	if work.Epoch != 0 {
		work.Has |= telemetry.HasEpoch
	}
	if work.DeadlineMs != 0 {
		work.Has |= telemetry.HasDeadlineMs
	}
	s.header.Seq++
	s.header.SentNs = time.Now().UnixNano()
	s.sentNs[id] = s.header.SentNs
	_, err := client.PublishWork(ctx, s.conn, s.cmd.Worker, s.cmd.Queue, s.header, &work)
	return err
}

// recordBytes is room for what a work record has besides words.
const recordBytes = 4 << 10

// batchSlots is how many slots of a group fit in one batch: as many as a batch may have,
// or as many as the message has room for.
func batchSlots(group []ring.Slot) int {
	words := 0 // of a slot
	run := runOf(group)
	for i := range run.Args {
		if run.Args[i].Words != nil {
			words++
		}
	}
	room := telemetry.DefaultWorkLimits.MaxBytes - recordBytes
	return min(telemetry.MaxBatchSlots, room/(max(words, 1)*ring.WordBytes))
}

// runOf is slots of one opcode and priority as a run. What they have in common is sent once.
func runOf(slots []ring.Slot) telemetry.Run {
	first := &slots[0]
	run := telemetry.Run{Opcode: first.Opcode, Priority: first.Priority, Count: uint32(len(slots))}
	for a, word := range first.Args {
		run.Args[a].Value = word
		if !alike(slots, a) {
			words := make([]uint32, len(slots))
			for i := range slots {
				words[i] = slots[i].Args[a]
			}
			run.Args[a] = telemetry.Words(words)
		}
		if word != 0 || run.Args[a].Words != nil {
			run.NArgs = a + 1
		}
	}
	return run
}

// alike reports whether all slots have the same argument.
func alike(slots []ring.Slot, a int) bool {
	for i := range slots {
		if slots[i].Args[a] != slots[0].Args[a] {
			return false
		}
	}
	return true
}
