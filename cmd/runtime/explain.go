package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringmaster/cmd/runtime/explain"
	"ringmaster/cmd/runtime/explain/ask"
	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// explainCmd says why a queue's plan is as it is.
type explainCmd struct {
	option.NATS
	Name    string        `arg:"" placeholder:"WORKER.QUEUE" help:"Queue to explain; QUEUE alone where one worker has it."`
	At      instant       `placeholder:"WHEN" help:"Explain this decision instead of the last one, by its number, or the last one up to a time: 2026-11-23T03:10:00Z, or 03:10:00Z for the last such time."`
	Batch   string        `placeholder:"ID" help:"Say where this batch of the queue is and what it waits for. The queue is WORKER.QUEUE or pool.NAME.QUEUE."`
	JSON    bool          `name:"json" help:"Print one JSON object."`
	Watch   bool          `help:"Explain each new decision, until stopped."`
	Timeout time.Duration `default:"10s" help:"Longest wait for one answer."`
}

// instant is which decision is meant, as people write it.
type instant ask.When

// UnmarshalText is called by the command line's parser.
func (i *instant) UnmarshalText(text []byte) error { return i.parse(string(text), time.Now()) }

func (i *instant) parse(text string, now time.Time) (err error) {
	if i.Number, err = strconv.ParseUint(text, 10, 64); err == nil && i.Number > 0 {
		return nil
	}
	i.Number = 0
	if i.Time, err = time.Parse(time.RFC3339, text); err == nil {
		return nil
	}
	clock, err := time.Parse("15:04:05Z", text)
	if err != nil {
		return fmt.Errorf("%q: want the number of a decision, a time such as 2026-11-23T03:10:00Z, or one such as 03:10:00Z of the last 24 hours", text)
	}
	now = now.UTC()
	i.Time = time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), time.UTC)
	if i.Time.After(now) {
		i.Time = i.Time.AddDate(0, 0, -1)
	}
	return nil
}

// Help is what --help adds to the flags.
func (explainCmd) Help() string {
	return `Says the reason that binds, what to do, what would change the plan, the values that it was decided from and
who said them, what the tuner holds, and when the plan changed and why. The stream of decisions has the last 1,000 of
each queue; nothing has to be switched on.

  ringmaster explain gpu0.jobs
  ringmaster explain gpu0.jobs --json | jq .next
  ringmaster explain gpu0.jobs --at 03:10:00Z
  ringmaster explain gpu0.jobs --batch b17`
}

// watchEvery is how often --watch looks for a new decision.
const watchEvery = time.Second

func (c *explainCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	if c.At != (instant{}) && c.Watch {
		return errors.New("--at and --watch do not go together")
	}
	if c.Batch != "" && (c.At != (instant{}) || c.Watch) {
		return errors.New("--batch goes with neither --at nor --watch")
	}
	ctx, stop := terminal.UntilSignal(ctx)
	defer stop()
	return c.With(ctx, "ringmaster explain", log, func(ctx context.Context, conn *natsio.Conn) error {
		if c.Batch != "" {
			return c.batch(ctx, conn, std)
		}
		worker, queue, err := c.find(ctx, conn)
		if err != nil {
			return err
		}
		told := uint64(0)
		for {
			e, err := c.ask(ctx, conn, worker, queue)
			if err != nil {
				return err
			}
			if e.Number != told || e.State == "expired" {
				if told != 0 && !c.JSON {
					fmt.Fprintln(std.Out)
				}
				if err := c.print(std, &e); err != nil {
					return err
				}
			}
			told = e.Number
			if !c.Watch {
				return nil
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(watchEvery):
			}
		}
	}, c.dispensable()...)
}

// dispensable are what an explanation goes without: whether somebody decides now, who, and the stream of batches.
func (c *explainCmd) dispensable() []string {
	names := telemetry.Subjects{Prefix: c.Prefix}
	worker, queue, _ := strings.Cut(c.Name, ".")
	if c.Batch != "" {
		return []string{names.Root() + ".state." + worker}
	}
	return []string{names.Snapshot(worker, queue), client.SurveySubject, client.StreamSubject(names.Store() + "_WORK")}
}

// batch says where a batch is.
func (c *explainCmd) batch(ctx context.Context, conn *natsio.Conn, std terminal.Stdio) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	last := strings.LastIndexByte(c.Name, '.') // a pool's name has a dot in it
	if last < 0 {
		return fmt.Errorf("%s: name the queue of the batch as WORKER.QUEUE, or pool.NAME.QUEUE", c.Name)
	}
	b, err := ask.Batch(ctx, conn, c.Name[:last], c.Name[last+1:], c.Batch)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.encode(std, &b)
	}
	_, err = fmt.Fprint(text.PlainWriter{To: std.Out}, b.Text())
	return err
}

func (c *explainCmd) print(std terminal.Stdio, e *explain.Explanation) error {
	if !c.JSON {
		_, err := fmt.Fprint(text.PlainWriter{To: std.Out}, e.Text())
		return err
	}
	return c.encode(std, e)
}

// encode prints a value as JSON, on one line where more follow.
func (c *explainCmd) encode(std terminal.Stdio, value any) error {
	if c.Watch {
		return text.JSON(std.Out, value)
	}
	return text.IndentedJSON(std.Out, value)
}

// find is the queue that is meant. The error says which queues there are.
func (c *explainCmd) find(ctx context.Context, conn *natsio.Conn) (worker, queue string, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	worker, queue, both := strings.Cut(c.Name, ".")
	known, err := client.DecidedQueues(ctx, conn)
	switch {
	case err != nil && both: // who may not ask knows what is meant
		return worker, queue, natsio.CheckNames(worker, queue)
	case err != nil:
		return "", "", fmt.Errorf("which queues have decisions: %w; name it as WORKER.QUEUE", err)
	}
	var meant, near []string
	for _, q := range known {
		name := q.Worker + "." + q.Queue
		if both && name == c.Name || !both && q.Queue == c.Name {
			meant = append(meant, name)
			worker, queue = q.Worker, q.Queue
		}
		if strings.Contains(name, c.Name) || both && q.Queue == queue || strings.Contains(c.Name, q.Queue) {
			near = append(near, name)
		}
	}
	switch {
	case len(meant) == 1:
		return worker, queue, nil
	case len(meant) > 1:
		slices.Sort(meant)
		return "", "", fmt.Errorf("%d workers have a queue %s: say which: %s", len(meant), c.Name, some(meant))
	case len(known) == 0:
		return "", "", fmt.Errorf("nothing was decided yet on this prefix: start `ringmaster run`, and report a queue or submit work")
	case len(near) == 0:
		for _, q := range known {
			near = append(near, q.Worker+"."+q.Queue)
		}
	}
	slices.Sort(near)
	return "", "", fmt.Errorf("nothing was decided for %s; %s of %s with decisions: %s", c.Name, text.Plural(uint64(len(near)), "queue"), text.Grouped(len(known)), some(near))
}

// some are the first of some names.
func some(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// ask asks once.
func (c *explainCmd) ask(ctx context.Context, conn *natsio.Conn, worker, queue string) (explain.Explanation, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	return ask.Queue(ctx, conn, worker, queue, ask.When(c.At))
}
