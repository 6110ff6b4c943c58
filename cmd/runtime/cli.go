package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"ringmaster/cmd/runtime/admin"
	"ringmaster/cmd/runtime/metrics"
	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/sharedconfig"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/usage"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel/graph"
	"ringmaster/telemetry/natsio"
)

// cli is the command line: global flags and one field a command.
type cli struct {
	LogLevel  string `group:"Log and settings:" enum:"auto,debug,info,warn,error" default:"auto" env:"RINGMASTER_LOG_LEVEL" shared:"" help:"Lowest level that is logged: debug, info, warn or error. auto is info for run and warn for all others."`
	LogFormat string `group:"Log and settings:" enum:"text,json" default:"text" env:"RINGMASTER_LOG_FORMAT" help:"Format of log lines: text or json."`
	Config    string `group:"Log and settings:" placeholder:"FILE" env:"RINGMASTER_CONFIG" help:"File of settings, as ringmaster config show lists them (default: config.toml under the user's configuration, or /etc/ringmaster/config.toml, if one is there)."`

	Run      runCmd     `cmd:"" group:"Run and decide:" help:"Serve until SIGTERM: decide from telemetry, and execute submitted work."`
	Publish  publishCmd `cmd:"" group:"Run and decide:" help:"Publish telemetry: JSON lines from standard input, or the bundled trace."`
	Adapt    adaptCmd   `cmd:"" group:"Run and decide:" help:"Publish as queue records what an engine tells in its own format."`
	Demo     demoCmd    `cmd:"" group:"Run and decide:" help:"Run the whole loop in one process, on recorded load."`
	Watch    watchCmd   `cmd:"" group:"Look:" help:"Print recommendations as they arrive, as text or as JSON lines."`
	Top      topCmd     `cmd:"" group:"Look:" help:"Watch queues and workers on a terminal: what is wrong, rates, latencies, and why."`
	Explain  explainCmd `cmd:"" group:"Look:" help:"Say why a queue's plan is as it is, what would change it, and what to do."`
	Replay   replayCmd  `cmd:"" group:"Look:" help:"Make the decisions of a log again, or explain one decision."`
	Whatif   whatifCmd  `cmd:"" group:"Look:" help:"Estimate what another policy, or other geometries, would have cost."`
	Shadow   shadowCmd  `cmd:"" group:"Look:" help:"Compare what engines launch with what a run --shadow recommends."`
	Audit    auditCmd   `cmd:"" group:"Look:" help:"Prove of the stream of decisions that none was made twice and none is missing, or name where."`
	Submit   submitCmd  `cmd:"" group:"Work:" help:"Send slots to a running worker and print what became of them."`
	Cancel   cancelCmd  `cmd:"" group:"Work:" help:"Withdraw batches from a running worker."`
	Work     workCmd    `cmd:"" group:"Work:" help:"List, show, run again and remove batches that were set aside."`
	Heap     heapCmd    `cmd:"" group:"Work:" help:"Move data to and from the window of a queue on a running worker."`
	Graph    graphCmd   `cmd:"" group:"Work:" help:"Run algorithms over graphs, here or on a worker; put graphs there; convert them."`
	Exec     execCmd    `cmd:"" group:"On this machine:" help:"Run slots on this machine's GPU, without NATS, and print what they compute."`
	Tune     tuneCmd    `cmd:"" group:"On this machine:" help:"Find the geometry at which this machine drains a workload fastest, and store it for workers."`
	Opcodes  opcodesCmd `cmd:"" group:"On this machine:" help:"Check your own opcodes, or list what their bodies may use."`
	Kernel   kernelCmd  `cmd:"" group:"On this machine:" help:"List the kernels, or print the source of one."`
	Doctor   doctorCmd  `cmd:"" group:"Check and configure:" help:"Try every way to a GL context and to NATS, and say what is missing."`
	Settings configCmd  `cmd:"" group:"Check and configure:" name:"config" help:"Check and show the file of settings, compare two, or store one for all processes."`
	Auth     authCmd    `cmd:"" group:"Check and configure:" help:"Print permissions for the users of a NATS server, or try whether a server keeps to them."`
	Version  versionCmd `cmd:"" group:"Check and configure:" help:"Print version and build information."`

	Completion usage.CompletionCmd `cmd:"" group:"Check and configure:" help:"Print the completion of this command line for a shell."`
	Manual     usage.ManualCmd     `cmd:"" name:"man" hidden:"" help:"Print the manual page, for man."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// newParser is the parser of a command line.
func newParser(c *cli, std terminal.Stdio, options ...kong.Option) *kong.Kong {
	parser, err := kong.New(c, append(options,
		kong.Name("ringmaster"),
		kong.Description("Closes the loop between a GPU's work queue and the shape of its next launch."),
		kong.Writers(std.Out, std.Err),
		kong.Vars{"version": versionLine(), "hostname": option.HostName(), "generators": graph.Generators, "max_edges": strconv.Itoa(graph.DefaultEdges), "memory_share": strconv.Itoa(worker.MemoryShare),
			"http_addr": admin.DefaultAddr, "http_queues": strconv.Itoa(metrics.DefaultQueues)},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Help(usage.Help),
		kong.ValueFormatter(usage.ValueHelp),
	)...)
	if err != nil {
		panic(err) // the cli struct is malformed, which is a bug
	}
	return parser
}

// onlyAsked leaves out of a parser what a command line does not ask for: all commands but the one that it begins with,
// and run, whose flags are the settings. To describe all of them to the parser takes six times as long as that. Nothing
// is left out where the commands themselves are asked for, or none is named.
func onlyAsked(args []string) kong.Option {
	all := kong.OptionFunc(func(*kong.Kong) error { return nil })
	if len(args) == 0 {
		return all
	}
	asked := false
	var others []string
	for field := range reflect.TypeFor[cli]().Fields() {
		name := cmp.Or(field.Tag.Get("name"), strings.ToLower(field.Name))
		switch _, command := field.Tag.Lookup("cmd"); {
		case command && name == args[0]:
			asked = name != "completion" && name != "man"
		case command && name != "run":
			others = append(others, field.Name)
		}
	}
	if !asked {
		return all
	}
	return kong.IgnoreFields(`^cli\.(` + strings.Join(others, "|") + `)$`)
}

// execute parses args, runs the command and returns the exit code: 0 success,
// 1 failure, 2 wrong usage, 77 a NATS server that refuses the user something.
func execute(ctx context.Context, args []string, std terminal.Stdio) int {
	var c cli
	exited := -1
	parser := newParser(&c, std, onlyAsked(args), kong.Exit(func(code int) { exited = code }))
	if slices.Equal(args, []string{usage.PluginFlag}) {
		return introspect(parser, std)
	}
	path, _ := configPath(args)
	file, err := readSettings(path, namesOf(runFlags(parser.Model)))
	if err != nil {
		fmt.Fprintf(std.Err, "ringmaster: %s\n", text.PlainLines(err.Error()))
		return 2
	}
	kong.Resolvers(file).Apply(parser)
	switch {
	case len(args) == 0:
		parser.Stdout = std.Err // nothing was asked for
		_, _ = parser.Parse([]string{"--help"})
		return 2
	case args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help was printed
	}
	if err != nil {
		fmt.Fprintf(std.Err, "ringmaster: %s\n%s\n", file.Placed(usageOf(err, args)), whereHelpIs(err))
		return 2
	}
	read := &line{all: &c, parsed: parsed, from: file}
	var leftOut error
	if parsed.Command() == "run" && c.Run.ConfigKey != "" {
		read, leftOut = withCopy(args, read)
	}
	return read.run(ctx, args, std, leftOut)
}

// run runs the command and returns the exit code. leftOut is why the copy of shared settings is not among its settings.
func (l *line) run(ctx context.Context, args []string, std terminal.Stdio, leftOut error) int {
	level := l.all.LogLevel
	if level == "auto" {
		level = "warn"
		if l.parsed.Command() == "run" {
			level = "info"
		}
	}
	log := newLogger(text.PlainWriter{To: std.Err}, level, l.all.LogFormat)
	if leftOut != nil {
		log.Error("the copy of the shared settings is wrong, and left out", "error", leftOut)
	}
	l.begins(args, log)
	l.parsed.BindTo(ctx, (*context.Context)(nil))
	l.parsed.Bind(l.all, sharedconfig.Check(checkShared))
	err := l.parsed.Run(std, log)
	var exit terminal.ExitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	}
	code := 1
	var misused terminal.UsageError
	switch {
	case errors.As(err, &misused):
		code = 2
	case errors.Is(err, natsio.ErrLogin), errors.Is(err, natsio.ErrNotPermitted):
		code = exitRefused
	}
	if l.all.LogFormat == "json" {
		log.Error("failed", "error", err.Error()+adviceOn(err), "exit_code", code)
		return code
	}
	fmt.Fprintf(std.Err, "ringmaster: %s%s\n", text.PlainLines(err.Error()), adviceOn(err))
	return code
}

// introspect prints the model of the command line, for the nats command.
func introspect(parser *kong.Kong, std terminal.Stdio) int {
	model, err := usage.PluginModel(parser.Model, version)
	if err != nil {
		fmt.Fprintf(std.Err, "ringmaster: %v\n", err)
		return 1
	}
	fmt.Fprintln(std.Out, string(model))
	return 0
}

// exitRefused is the exit code of a command whose user a NATS server does not let in, or not do what the command
// does: EX_NOPERM.
const exitRefused = 77

// adviceOn says what to do about an error of which the bus only says that it is one.
func adviceOn(err error) string {
	switch {
	case errors.Is(err, natsio.ErrNoRuntime):
		return "\nNobody serves that worker: check that `ringmaster run` is up with a GPU and that --worker, --nats and --prefix are its own."
	case errors.Is(err, natsio.ErrNotPermitted):
		return "\n`ringmaster auth check` with the same flags tries all rights, `ringmaster auth template` prints what a user needs."
	case errors.Is(err, natsio.ErrNoDecisions):
		return "\n`ringmaster run` stores them where the server has JetStream; `--decision-log FILE` logs them to a file."
	}
	return ""
}

// usageOf says what is wrong with the command line or the environment: of a word that is none of those that a flag
// takes, where it comes from too.
func usageOf(err error, args []string) string {
	var wrong *kong.ParseError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	for _, flag := range wrong.Context.Flags() {
		if !strings.HasPrefix(err.Error(), "--"+flag.Name+" must be one of ") {
			continue
		}
		words := strings.Join(flag.EnumSlice(), ", ")
		if env, text := fromEnvironment(flag); env != "" && !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--"+flag.Name) }) {
			return fmt.Sprintf("%s=%s: want one of %s", env, text, words)
		}
		_, got, _ := strings.Cut(err.Error(), " but got ")
		return fmt.Sprintf("--%s %s: want one of %s", flag.Name, got, words)
	}
	return err.Error()
}

// fromEnvironment is the variable that a flag's value comes from if the command line has none, and its text; "" for
// none.
func fromEnvironment(flag *kong.Flag) (name, text string) {
	for _, env := range flag.Tag.Envs {
		if text, ok := os.LookupEnv(env); ok {
			return env, text
		}
	}
	return "", ""
}

// given are the flags that have a value by the command line or the environment, as attributes of a log record, with
// passwords in addresses masked.
func given(parsed *kong.Context) (attrs []any) {
	for _, flag := range parsed.Flags() {
		env, _ := fromEnvironment(flag)
		if env == "" && !isGiven(parsed, flag) || flag.Name == "config" { // which is told with the file that was found
			continue
		}
		attrs = append(attrs, slog.String(strings.ReplaceAll(flag.Name, "-", "_"), valueOf(flag)))
	}
	return attrs
}

// valueOf is a flag's value for people, with passwords in addresses masked.
func valueOf(flag *kong.Flag) string {
	of := flag.Target
	if of.Kind() == reflect.Pointer {
		if of.IsNil() {
			return ""
		}
		of = of.Elem()
	}
	value := fmt.Sprint(of.Interface())
	if value != "" && (flag.Name == "nats" || strings.Contains(value, "://")) {
		value = withoutPasswords(value)
	}
	return value
}

// isGiven reports whether the command line or the file of settings gives a flag.
func isGiven(parsed *kong.Context, flag *kong.Flag) bool {
	return slices.ContainsFunc(parsed.Path, func(p *kong.Path) bool { return p.Flag == flag })
}

// whereHelpIs points whoever got a usage wrong to the help of the command that was meant.
func whereHelpIs(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) {
		for i := len(wrong.Context.Path) - 1; i >= 0; i-- {
			if node := wrong.Context.Path[i].Command; node != nil {
				return fmt.Sprintf("Run 'ringmaster %s --help' for what it takes.", node.Path())
			}
		}
	}
	return "Run 'ringmaster --help' for the commands, 'ringmaster COMMAND --help' for one."
}
