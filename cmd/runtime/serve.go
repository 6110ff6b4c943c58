package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/oversight"
	"ringmaster/cmd/runtime/sharedconfig"
	"ringmaster/cmd/runtime/slots"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/configbucket"
)

// serve serves until ctx ends, and then drains and closes the node.
func (c *runCmd) serve(ctx context.Context, node *worker.Node, device *glcompute.Device, bus natsio.Config, seen *oversight.Oversight, hangups <-chan os.Signal, log *slog.Logger) error {
	if c.Window {
		hide, err := showRing(device, node, c.Worker, log)
		if err != nil {
			return errors.Join(err, node.Close(ctx))
		}
		defer hide()
	}
	c.logStart(node, device, bus, seen, log)
	c.warnOfIdle(log)
	seen.Serving(node)
	following, leave := context.WithCancel(ctx)
	defer leave()
	var offers <-chan sharedconfig.Text
	if c.shared != nil {
		offers = c.shared.Offers(following, configbucket.On(node.Conn(), telemetry.Subjects{Prefix: c.Prefix}), log)
	}
	anew := c.untilDone(ctx, hangups, offers, log)
	seen.Stopping(anew)
	log.Info("draining", "at_most", c.Drain)
	begin, before := time.Now(), node.Status()
	drainCtx, cancel := context.WithTimeout(context.Background(), c.Drain)
	defer cancel()
	err := node.Close(drainCtx)
	logStop(time.Since(begin), before, node.Status(), log)
	if !anew {
		return err
	}
	if err != nil {
		log.Error("not all of it ended well", "error", err)
	}
	return beginAnew
}

// beginAnew is the exit code of a command that is to run again in the place of this process.
const beginAnew = terminal.ExitCode(-1)

// untilDone waits for the end of ctx, or for settings that are others, at a SIGHUP or in the bucket that the process
// follows: it is then to begin anew with them. Whatever is wrong with them, it goes on with the old ones and says so.
func (c *runCmd) untilDone(ctx context.Context, hangups <-chan os.Signal, offers <-chan sharedconfig.Text, log *slog.Logger) (anew bool) {
	for {
		var changed []string
		var err error
		from := log
		select {
		case <-ctx.Done():
			return false
		case <-hangups:
			changed, err = c.reread()
		case text := <-offers:
			from = log.With("key", c.shared.Key, "revision", text.Revision)
			changed, err = c.take(text)
		}
		switch {
		case err != nil:
			from.Error("the settings are wrong and the old ones stay", "error", err)
		case len(changed) == 0:
			from.Info("the settings are as they were")
		default:
			from.Info("the settings have changed: beginning anew with them", "changed", strings.Join(changed, ", "))
			return true
		}
	}
}

// reread reads the settings again, as the command line and the environment of this process have them, and names what is
// not as it was.
func (c *runCmd) reread() (changed []string, err error) {
	var shared sharedconfig.Text
	if c.shared != nil {
		if shared, err = c.shared.Read(); err != nil {
			return nil, err
		}
	}
	return c.under(shared)
}

// take has a text of the bucket kept for the next start, if it is right for this process, and names what changes by it.
func (c *runCmd) take(text sharedconfig.Text) (changed []string, err error) {
	changed, err = c.under(text)
	return changed, c.shared.Took(text, err)
}

// under names the settings that are others under the file as it is now, and under a shared text.
func (c *runCmd) under(shared sharedconfig.Text) (changed []string, err error) {
	again, err := readAgain(c.args, c.shared, shared)
	if err != nil {
		return nil, err
	}
	again.begins(c.args, slog.New(slog.DiscardHandler))
	return differing(c.inUse(), again.all.Run.inUse()), nil
}

// line is a command line, read, and where its settings are from.
type line struct {
	all    *cli
	parsed *kong.Context
	from   *settings
}

// withCopy is a command line of run with the copy that this machine has of the settings that it shares. If that is wrong
// for it, it is as it was, and the error says so.
func withCopy(args []string, l *line) (*line, error) {
	following := sharedconfig.Follow(l.all.Run.copy(), sharedconfig.Text{})
	l.all.Run.shared = following
	text, err := following.Read()
	if err != nil || text.Revision == 0 {
		return l, err
	}
	again, err := readAgain(args, following, text)
	if err != nil {
		return l, err
	}
	again.all.Run.shared = sharedconfig.Follow(following.Copy, text)
	return again, nil
}

// copy is where this machine has the settings of --config-key.
func (c *runCmd) copy() sharedconfig.Copy {
	return sharedconfig.CopyIn(option.StateDir(), c.Prefix, c.ConfigKey)
}

// readAgain reads a command line of run, with its file of settings and with a shared text if there is one. Nothing of it
// takes effect; what is wrong with it is the error.
func readAgain(args []string, following *sharedconfig.Following, shared sharedconfig.Text) (*line, error) {
	l := &line{all: new(cli)}
	parser := newParser(l.all, terminal.Stdio{Out: io.Discard, Err: io.Discard})
	known := namesOf(runFlags(parser.Model))
	path, _ := configPath(args)
	var err error
	if l.from, err = readSettings(path, known); err != nil {
		return nil, err
	}
	if shared.Revision != 0 {
		source, err := following.Source(shared, known, sharedNames(parser.Model))
		if err != nil {
			return nil, err
		}
		l.from.Sources, path = slices.Insert(l.from.Sources, 0, source), source.Name
	}
	kong.Resolvers(l.from).Apply(parser)
	if l.parsed, err = parser.Parse(args); err != nil {
		return nil, errors.New(l.from.Placed(usageOf(err, args)))
	}
	run := &l.all.Run
	if err := run.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	opcodes, err := slots.LoadOpcodes(run.Opcodes.Dir)
	if err == nil {
		_, err = run.Ring.Limits(opcodes)
	}
	return l, err
}

// begins has the command of run know what its command line says about it.
func (l *line) begins(args []string, log *slog.Logger) {
	run := &l.all.Run
	run.args, run.given, run.settings = args, given(l.parsed), inUse(l.parsed, l.from)
	for _, source := range l.from.Sources {
		run.given = append(run.given, slog.String("config", source.Name))
	}
	run.thresholds(l.from, l.parsed, log)
}

// differing names the settings whose values are not the same.
func differing(before, after []worker.Setting) (names []string) {
	values := make(map[string]string)
	for _, s := range before {
		values[s.Name] = s.Value
	}
	for _, s := range after {
		if was, known := values[s.Name]; !known || was != s.Value {
			names = append(names, s.Name)
		}
		delete(values, s.Name)
	}
	return slices.Sorted(slices.Values(slices.AppendSeq(names, maps.Keys(values))))
}

// logStart tells in one event what serves, and how.
func (c *runCmd) logStart(node *worker.Node, device *glcompute.Device, bus natsio.Config, seen *oversight.Oversight, log *slog.Logger) {
	event := log.With("version", version, "pid", os.Getpid(), "incarnation", node.Conn().Incarnation(), "worker", c.Worker, "prefix", bus.Subjects.Prefix, "nats", withoutPasswords(bus.URL),
		"device", node.DeviceName(), "policy", c.Policy.Name, "autotuner", c.Tuner.Mode, "decision_log", c.DecisionLog.File, "http", seen.Addr(), "traces", c.Collector != "", slog.Group("given", c.given...))
	if c.Shadow {
		event.Info("serving: decides in the shadow, and nobody acts on it; stop with SIGTERM", "heard", bus.Shadowed.Root())
		return
	}
	if device == nil {
		event.Info("serving: decides, executes nothing; stop with SIGTERM")
		return
	}
	event.Info("serving; stop with SIGTERM", "software", device.Info().Software, "mode", c.Mode, "windows", c.Windows)
	if device.Info().Software && c.Device == "" {
		log.Warn("no GPU was found: a software renderer runs the ring on this machine's processors; `ringmaster doctor` says what was tried, --decide-only needs none", "device", node.DeviceName())
	}
}

// idle are flags that do nothing in some processes, and why. A file of settings may have them: it is for several roles.
var idle = []struct {
	because string
	of      func(c *runCmd) bool
	flags   []string
}{
	{"this process opens no device", func(c *runCmd) bool { return c.DecideOnly || c.Shadow }, []string{
		"gl", "device", "mode", "lease-duration", "opcodes", "program-cache", "no-program-cache", "windows", "window-words", "limit",
		"memory-budget", "share-device", "window", "max-deliveries", "done-stream", "hang-after",
	}},
	{"a NATS server is named, and none is embedded", func(c *runCmd) bool { return c.Given() }, []string{"listen", "store", "insecure-listen"}},
	{"nothing is served without --http", func(c *runCmd) bool { return c.HTTP.Addr == "" }, []string{
		"http-token", "http-cert", "http-key", "http-client-ca", "http-pprof", "http-queues",
	}},
	{"no file is written without --decision-log", func(c *runCmd) bool { return c.DecisionLog.File == "" }, []string{"decision-log-bytes"}},
	{"nothing is tuned", func(c *runCmd) bool { return c.Tuner.Mode == session.Off }, []string{"tuner-cache"}},
	{"--no-program-cache keeps none", func(c *runCmd) bool { return c.None }, []string{"program-cache"}},
}

// warnOfIdle tells of each flag that was given by the command line or the environment and does nothing.
func (c *runCmd) warnOfIdle(log *slog.Logger) {
	for _, row := range idle {
		if !row.of(c) {
			continue
		}
		for _, given := range c.given {
			name := strings.ReplaceAll(given.(slog.Attr).Key, "_", "-")
			if slices.Contains(row.flags, name) {
				log.Warn("a flag is without effect", "flag", "--"+name, "because", row.because)
			}
		}
	}
}

// logStop tells in one event how it ended: what was finished while the process drained, and what is left to the next one.
func logStop(took time.Duration, before, after worker.Status, log *slog.Logger) {
	event := log.With("took", took.Round(time.Millisecond), "decisions", after.Counts.Decisions, "launches", after.Launches, "slots_executed", after.SlotsExecuted)
	if after.Work == nil {
		event.Info("stopped")
		return
	}
	event.Info("stopped; batches that are left run at the next start", "batches_finished", after.Work.Done-before.Work.Done, "batches_left", after.Work.Stored, "batches_given_back", after.Work.Retried-before.Work.Retried)
}

// oversight is what the flags let others see.
func (c *runCmd) oversight(log *slog.Logger) oversight.Config {
	cfg := oversight.Config{HTTP: c.HTTP.Config(log), Version: version, Queues: c.Series, Collector: c.Collector, Log: log}
	if !c.Given() {
		cfg.Store = c.store()
	}
	return cfg
}

// thresholds takes those of the settings, unless a policy is named otherwise.
func (c *runCmd) thresholds(from *settings, parsed *kong.Context, log *slog.Logger) {
	own, of := from.Thresholds()
	if own == nil {
		return
	}
	for _, flag := range parsed.Flags() {
		if env, _ := fromEnvironment(flag); flag.Name == "policy" && (env != "" || isGiven(parsed, flag)) {
			log.Warn("the thresholds of the settings are without effect, as a policy is named by --policy or its variable", "config", of)
			return
		}
	}
	c.own = own
}

// inUse are the settings of this process, as its service tells them.
func (c *runCmd) inUse() []worker.Setting {
	cfg := c.policy()
	return slices.Concat(c.settings, thresholdsOf(&cfg, "the policy of this process"))
}

// policy is the launch policy that the command line, the environment or the file of settings asks for.
func (c *runCmd) policy() policy.Config {
	cfg := c.Policy.Config()
	if c.own != nil {
		cfg = *c.own
	}
	if c.Audits != 0 {
		cfg.AuditLaunches = c.Audits
	}
	return cfg
}
