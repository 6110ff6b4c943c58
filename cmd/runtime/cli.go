package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"

	"github.com/alecthomas/kong"

	"ringmaster/megakernel/graph"
)

// cli is the command line: global flags and one field a command.
type cli struct {
	LogLevel  string `enum:"auto,debug,info,warn,error" default:"auto" env:"RINGMASTER_LOG_LEVEL" help:"Least level that is logged: debug, info, warn or error; auto is info for run and warn for the others."`
	LogFormat string `enum:"text,json" default:"text" env:"RINGMASTER_LOG_FORMAT" help:"Format of log lines: text or json."`

	Demo    demoCmd    `cmd:"" help:"Run the whole loop on recorded load: server, ring, publisher, subscriber."`
	Run     runCmd     `cmd:"" help:"Serve: turn telemetry into recommendations and execute submitted work, until SIGTERM."`
	Publish publishCmd `cmd:"" help:"Publish telemetry: the bundled trace, or JSON lines from standard input."`
	Watch   watchCmd   `cmd:"" help:"Print recommendations as they arrive, as a table or as JSON lines."`
	Replay  replayCmd  `cmd:"" help:"Make the decisions of a log again, compare two logs, or explain a decision."`
	Exec    execCmd    `cmd:"" help:"Run slots on uploaded data on this machine's GPU and print what they leave."`
	Tune    tuneCmd    `cmd:"" help:"Find the geometry at which this machine's ring drains a workload fastest, and remember it."`
	Submit  submitCmd  `cmd:"" help:"Send slots to a running worker and print what became of them."`
	Cancel  cancelCmd  `cmd:"" help:"Withdraw batches from a running worker."`
	Heap    heapCmd    `cmd:"" help:"Move data to and from the window of a queue on a running worker."`
	Graph   graphCmd   `cmd:"" help:"Run algorithms over graphs on this machine's GPU, or convert graphs."`
	Opcodes opcodesCmd `cmd:"" help:"Check your own opcodes, or list what their bodies may use."`
	Doctor  doctorCmd  `cmd:"" help:"Try every way to a GL context and to NATS, and say what is missing."`
	Bench   benchCmd   `cmd:"" help:"Measure a part beside its yardstick, in one run."`
	Version versionCmd `cmd:"" help:"Print version and build information."`
}

// stdio is the command's connection to the person or program that called it.
type stdio struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

// exitError carries an exit code; its message, if any, was already printed.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// execute parses args, runs the command and returns the exit code: 0 success,
// 1 failure, 2 wrong usage.
func execute(ctx context.Context, args []string, std stdio) int {
	var c cli
	exited := -1
	parser, err := kong.New(&c,
		kong.Name("ringmaster"),
		kong.Description("Closes the loop between a GPU's work queue and the shape of its next launch."),
		kong.Writers(std.out, std.err),
		kong.Exit(func(code int) { exited = code }),
		kong.Vars{"hostname": workerName(), "generators": graph.Generators, "max_edges": strconv.Itoa(graph.DefaultEdges), "memory_share": strconv.Itoa(memoryShare)},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		panic(err) // the cli struct is malformed, which is a bug
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help was printed
	}
	if err != nil {
		fmt.Fprintf(std.err, "ringmaster: %v\n", err)
		fmt.Fprintln(std.err, "Run 'ringmaster --help' for the commands, 'ringmaster COMMAND --help' for one.")
		return 2
	}
	level := c.LogLevel
	if level == "auto" {
		level = "warn"
		if parsed.Command() == "run" {
			level = "info"
		}
	}
	log := newLogger(std.err, level, c.LogFormat)
	parsed.BindTo(ctx, (*context.Context)(nil))
	err = parsed.Run(std, log)
	var exit exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.code
	}
	fmt.Fprintf(std.err, "ringmaster: %v\n", err)
	return 1
}

func newLogger(to io.Writer, level, format string) *slog.Logger {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		least = slog.LevelWarn
	}
	options := &slog.HandlerOptions{Level: least}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
