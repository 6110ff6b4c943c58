package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
	"ringmaster/telemetry/natsio/poison"
)

// cancelCmd withdraws batches from a running worker.
type cancelCmd struct {
	option.Target `set:"timeout=10s"`
	Batches       []string `arg:"" placeholder:"ID" help:"Batches to withdraw. The exit code is 1 if one of them had already ended."`
}

func (c *cancelCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	return c.With(ctx, "ringmaster cancel", log, func(ctx context.Context, conn *natsio.Conn) error {
		late := 0
		for _, batch := range c.Batches {
			found, slots, err := client.Cancel(ctx, conn, c.Worker, c.Queue, batch)
			if err != nil {
				return err
			}
			switch found {
			case telemetry.CancelWithdrawn:
				fmt.Fprintf(std.Out, "%s: canceled, %d slots are dropped; those that a launch has begun end as they do\n", batch, slots)
			case telemetry.CancelUnseen:
				fmt.Fprintf(std.Out, "%s: has not come yet; it will not run if it comes within an hour\n", batch)
			default:
				late++
				fmt.Fprintf(std.Out, "%s: had ended\n", batch)
			}
		}
		if late > 0 {
			return terminal.ExitCode(1)
		}
		return nil
	})
}

// workCmd is for batches that were set aside.
type workCmd struct {
	List  workListCmd  `cmd:"" help:"List the batches that were delivered too often without an outcome, and set aside."`
	Show  workShowCmd  `cmd:"" help:"Print one of them, with its slots."`
	Run   workRunCmd   `cmd:"" help:"Submit one of them again, under its own name, and take it off the list."`
	Purge workPurgeCmd `cmd:"" help:"Remove one of them, or all of a queue."`
}

// asideFlags are what the commands about batches that were set aside have in common.
type asideFlags struct {
	option.NATS
	Timeout time.Duration `default:"10s" help:"Longest wait for all of it."`
}

func (f *asideFlags) With(ctx context.Context, name string, log *slog.Logger, do func(context.Context, *natsio.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	return f.NATS.With(ctx, name, log, do)
}

// anyQueue selects queues; "*" stands for all.
type anyQueue struct {
	Worker string `default:"*" help:"Worker of the batches, or pool.NAME; * for all."`
	Queue  string `default:"*" placeholder:"NAME" help:"Queue of the batches; * for all."`
}

// Validate is called by the command line's parser.
func (q *anyQueue) Validate() error {
	named := func(name string) string {
		if name == "*" {
			return "any"
		}
		return name
	}
	if telemetry.ValidTaker(q.Worker) {
		return option.ValidNames("any", named(q.Queue))
	}
	return option.ValidNames(named(q.Worker), named(q.Queue))
}

type workListCmd struct {
	asideFlags
	anyQueue
	JSON bool `name:"json" help:"Print JSON lines."`
}

func (c *workListCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	return c.With(ctx, "ringmaster work list", log, func(ctx context.Context, conn *natsio.Conn) error {
		var rows [][]string
		err := poison.List(ctx, conn, c.Worker, c.Queue, func(b *poison.Batch) error {
			if c.JSON {
				return text.JSON(std.Out, b)
			}
			rows = append(rows, []string{strconv.FormatUint(b.Sequence, 10), b.Worker + "." + b.Queue, text.Plain(b.Batch), strconv.Itoa(b.Slots),
				strconv.Itoa(b.Bytes), strconv.FormatUint(b.Deliveries, 10), b.At.Local().Format(time.DateTime)})
			return nil
		})
		if err != nil || c.JSON {
			return err
		}
		if len(rows) == 0 {
			fmt.Fprintln(std.Out, "no batch is set aside")
			return nil
		}
		fmt.Fprint(std.Out, text.Table([]string{"NUMBER", "QUEUE", "BATCH", "SLOTS", "BYTES", "DELIVERED", "SET ASIDE"}, rows))
		return nil
	})
}

type workShowCmd struct {
	asideFlags
	Number uint64 `arg:"" help:"Number of the batch, as the list has it."`
}

// shownBatch is a batch as JSON.
type shownBatch struct {
	*poison.Batch
	Incarnation string       `json:"incarnation"` // of its submitter
	SentNs      int64        `json:"sent_ns,omitzero"`
	Slots       []shownSlots `json:"of_opcodes,omitempty"`
}

// shownSlots are slots of one opcode in a row.
type shownSlots struct {
	Opcode   uint32   `json:"opcode"`
	Priority uint32   `json:"priority"`
	Count    uint32   `json:"count"`
	Args     []uint32 `json:"args,omitempty"` // of the first
}

func (c *workShowCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	return c.With(ctx, "ringmaster work show", log, func(ctx context.Context, conn *natsio.Conn) error {
		b, err := poison.Get(ctx, conn, c.Number)
		if err != nil {
			return err
		}
		shown := shownBatch{Batch: b}
		if work, h, err := b.Work(); err == nil {
			shown.Incarnation, shown.SentNs, shown.Slots = fmt.Sprintf("%016x", h.Incarnation), h.SentNs, slotsOf(work)
		} else if b.Kept {
			return fmt.Errorf("batch %d: %w", c.Number, err)
		}
		return text.IndentedJSON(std.Out, shown)
	})
}

// slotsOf sums a batch up: who looks at it wants to know what it does.
func slotsOf(w *telemetry.Work) (list []shownSlots) {
	for i := range w.Slots {
		s := &w.Slots[i]
		if n := len(list); n > 0 && list[n-1].Opcode == s.Opcode && list[n-1].Priority == s.Priority {
			list[n-1].Count++
			continue
		}
		list = append(list, shownSlots{Opcode: s.Opcode, Priority: s.Priority, Count: 1, Args: s.Args[:]})
	}
	for i := range w.Runs {
		r := &w.Runs[i]
		list = append(list, shownSlots{Opcode: r.Opcode, Priority: r.Priority, Count: r.Count})
	}
	return list
}

type workRunCmd struct {
	asideFlags
	Numbers []uint64 `arg:"" placeholder:"NUMBER" help:"Numbers of the batches, as the list has them."`
}

func (c *workRunCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	return c.With(ctx, "ringmaster work run", log, func(ctx context.Context, conn *natsio.Conn) error {
		for _, number := range c.Numbers {
			b, err := poison.Get(ctx, conn, number)
			if err == nil {
				err = poison.Again(ctx, conn, b)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(std.Out, "%d: batch %s is submitted to %s.%s again\n", number, text.Plain(b.Batch), b.Worker, b.Queue)
		}
		return nil
	})
}

type workPurgeCmd struct {
	asideFlags
	anyQueue
	Numbers []uint64 `arg:"" optional:"" placeholder:"NUMBER" help:"Numbers of the batches; none: all of the queue."`
	All     bool     `help:"Remove the batches of every queue."`
}

func (c *workPurgeCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	everything := c.Worker == "*" && c.Queue == "*"
	switch {
	case len(c.Numbers) > 0 && (c.All || !everything):
		return errors.New("name numbers, or a queue, or --all: one of them")
	case len(c.Numbers) == 0 && everything && !c.All:
		return errors.New("name what is removed: numbers, --worker, --queue, or --all")
	}
	return c.With(ctx, "ringmaster work purge", log, func(ctx context.Context, conn *natsio.Conn) error {
		for _, number := range c.Numbers {
			if err := poison.Remove(ctx, conn, number); err != nil {
				return err
			}
		}
		if len(c.Numbers) > 0 {
			return nil
		}
		return poison.Purge(ctx, conn, c.Worker, c.Queue)
	})
}
