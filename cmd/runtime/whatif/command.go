package whatif

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"ringmaster/cmd/runtime/decisions"
	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/policyfile"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/natsio"
)

// Command is `ringmaster whatif`.
type Command struct {
	option.NATS
	Log    string `arg:"" optional:"" name:"file" help:"Decision log; - is standard input. FILE.1, if it exists, is read before FILE. Without it the stream of decisions is read."`
	Policy string `placeholder:"NAME|FILE" help:"What this policy would have cost: standard, reference, or a TOML file with a table policy. Without it, what each neighbour of the usual geometry would have."`
	Queue  string `placeholder:"[WORKER.]QUEUE" help:"Only this queue."`
	JSON   bool   `name:"json" help:"Print the report as JSON."`
}

// Help is what --help adds to the flags.
func (Command) Help() string {
	return `Decisions have to be audited for it: ringmaster run --audit-launches 200. The answer is the time on the device for the
launches that came, with an interval; waiting is not simulated. What neither audits nor the model reach has no
answer, and the reason stands there. The exit code is 1 if there is no answer at all.`
}

// Run reads the log and reports.
func (c *Command) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	var other *policy.Config
	if c.Policy != "" {
		named, err := policyfile.Named(c.Policy)
		if err != nil {
			return terminal.Misused("whatif: --policy: %w", err)
		}
		other = &named
	}
	if c.Log != "" {
		return c.report(decisions.FromFile(c.Log, std.In), other, std)
	}
	return c.With(ctx, "ringmaster whatif", log, func(ctx context.Context, conn *natsio.Conn) error {
		return c.report(decisions.FromStream(ctx, conn), other, std)
	})
}

func (c *Command) report(source *decisions.Source, other *policy.Config, std terminal.Stdio) error {
	source.Queue = c.Queue
	defer source.Close()
	study, err := Read(source, c.Policy, other)
	if err != nil {
		return err
	}
	fmt.Fprint(text.PlainWriter{To: std.Err}, source.Problems())
	if study.decisions == 0 {
		return errors.New("there are no decisions to estimate from")
	}
	r := study.Report()
	if c.JSON {
		err = text.JSON(std.Out, r)
	} else {
		_, err = io.WriteString(std.Out, r.String())
	}
	if err == nil && !r.Answered() {
		return terminal.ExitCode(1)
	}
	return err
}
