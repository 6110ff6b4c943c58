package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"ringmaster/cmd/runtime/audit"
	"ringmaster/cmd/runtime/decisions"
	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/policyfile"
	"ringmaster/cmd/runtime/shadow"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/whatif"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/decisionlog"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/decided"
)

// shadowCmd compares launches with advice that nobody follows.
type shadowCmd = shadow.Command

// whatifCmd estimates what others would have cost.
type whatifCmd = whatif.Command

// replayCmd makes the decisions of a log again.
type replayCmd struct {
	option.NATS
	Log     string `arg:"" optional:"" name:"file" help:"Decision log; - is standard input. FILE.1, if it exists, is read before FILE."`
	Stream  bool   `help:"Read the stream of decisions, of all processes."`
	Policy  string `default:"logged" placeholder:"NAME|FILE" help:"Ask this policy instead of the logged one: standard, reference, or a TOML file with a table policy. The differences are the result, and the exit code is 0."`
	Diff    bool   `help:"With --policy: compare what is launched. Where it differs first and why, how often plans change, and how long each kind of plan stands."`
	JSON    bool   `name:"json" help:"With --diff: print the comparison as JSON."`
	Explain uint64 `placeholder:"DECISION" help:"Instead, print what this decision was made from, and why."`
	Queue   string `placeholder:"[WORKER.]QUEUE" help:"Only this queue."`
}

// Help is what --help adds to the flags.
func (replayCmd) Help() string {
	return `Every decision of a log is made again, without NATS and without a GPU, and compared byte for byte.
The exit code is 0 if all are the same, and 1 if any differ, the log is damaged or nothing is in it.`
}

// Run replays or explains.
func (c *replayCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	if (c.Log != "") == c.Stream {
		return terminal.Misused("replay: name one log: FILE, - or --stream")
	}
	if c.Explain != 0 && c.Policy != "logged" {
		return terminal.Misused("replay: --explain and --policy do not go together")
	}
	if c.Diff && c.Policy == "logged" || c.JSON && !c.Diff {
		return terminal.Misused("replay: --diff compares with a policy that --policy names, and --json is for --diff")
	}
	other, err := c.other()
	if err != nil {
		return terminal.Misused("replay: --policy: %w", err)
	}
	if c.Stream {
		return c.With(ctx, "ringmaster replay", log, func(ctx context.Context, conn *natsio.Conn) error {
			return c.read(decisions.FromStream(ctx, conn), other, std)
		})
	}
	return c.read(decisions.FromFile(c.Log, std.In), other, std)
}

// other is the policy to ask instead of the logged one, or nil.
func (c *replayCmd) other() (*policy.Config, error) {
	if c.Policy == "logged" {
		return nil, nil
	}
	cfg, err := policyfile.Named(c.Policy)
	return &cfg, err
}

// read replays, compares or explains what a source has.
func (c *replayCmd) read(source *decisions.Source, other *policy.Config, std terminal.Stdio) error {
	source.Queue = c.Queue
	defer source.Close()
	out := bufio.NewWriter(std.Out)
	defer out.Flush()
	if c.Explain != 0 {
		return decisions.Explain(out, source, c.Explain)
	}
	if c.Diff {
		return c.compare(out, source, *other)
	}
	same, err := decisions.Replay(out, source, decisions.Question{Name: c.Policy, Policy: other})
	if err == nil && !same {
		return terminal.ExitCode(1)
	}
	return err
}

// compare prints what another policy launches beside what was launched.
func (c *replayCmd) compare(out io.Writer, source *decisions.Source, other policy.Config) error {
	found, err := decisions.Compare(source, c.Policy, other)
	if err != nil {
		return err
	}
	if c.JSON {
		err = text.JSON(out, found)
	} else {
		_, err = io.WriteString(out, found.String())
	}
	if err == nil && !found.Whole {
		return terminal.ExitCode(1)
	}
	return err
}

// auditCmd checks the stream of decisions.
type auditCmd struct {
	option.NATS
	JSON    bool          `name:"json" help:"Print the report as JSON."`
	Timeout time.Duration `default:"5m" help:"Longest wait for all of it."`
}

// Help is what --help adds to the flags.
func (auditCmd) Help() string {
	return `Every decision has to follow its queue's last decision: made from the state after that, with the next
number, on inputs that do not go back. What does not is named with its message. It only reads, and may run beside whatever decides.
The exit code is 0 if the stream is whole, and 1 if it is not or nothing is in it.`
}

// Run reads the stream and reports.
func (c *auditCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	return c.With(ctx, "ringmaster audit", log, func(ctx context.Context, conn *natsio.Conn) error {
		checker := newChecker(ctx, conn)
		if err := decided.Read(ctx, conn, func(m decided.Message) error { return check(checker, &m) }); err != nil {
			return err
		}
		report := checker.Report()
		var err error
		if c.JSON {
			err = text.JSON(std.Out, report)
		} else {
			report.Print(std.Out, text.Plain)
		}
		if err == nil && (report.HoleCount > 0 || report.Decisions == 0) {
			return terminal.ExitCode(1)
		}
		return err
	})
}

// newChecker returns a checker of the stream at a connection, from which bounds may remove messages meanwhile.
func newChecker(ctx context.Context, conn *natsio.Conn) *audit.Checker {
	return &audit.Checker{Removed: func(worker, queue string, sequence uint64) (bool, error) {
		return decided.Removed(ctx, conn, worker, queue, sequence)
	}}
}

// check gives a message to a checker.
func check(checker *audit.Checker, m *decided.Message) error {
	if m.Err != nil {
		checker.Damaged(m.Worker, m.Queue, m.Sequence, m.Err)
		return nil
	}
	d, err := decisionlog.DecodeDecided(m.Stored.Recommendation.Decided)
	switch {
	case err != nil:
		checker.Damaged(m.Worker, m.Queue, m.Sequence, err)
	case d.Entry.Worker != m.Worker || d.Entry.Queue != m.Queue:
		checker.Damaged(m.Worker, m.Queue, m.Sequence, errors.New("the decision is of another queue"))
	default:
		return checker.Take(m.Sequence, d)
	}
	return nil
}
