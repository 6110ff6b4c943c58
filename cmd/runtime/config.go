package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"ringmaster/cmd/runtime/config"
	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/policyfile"
	"ringmaster/cmd/runtime/sharedconfig"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/usage"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel/policy"
)

// configCmd is about the file of settings.
type configCmd struct {
	Check  configCheckCmd  `cmd:"" help:"Check a file of settings without starting anything."`
	Show   configShowCmd   `cmd:"" help:"Print every setting of run, its value, and where that comes from: a flag's default, the file, or the environment."`
	Sample configSampleCmd `cmd:"" help:"Print a file of settings with every setting as a comment: what it means, and its default."`
	Diff   configDiffCmd   `cmd:"" help:"Print the settings and thresholds in which two files differ. The exit code is 1 if there are any."`

	Put     sharedconfig.PutCmd     `cmd:"" help:"Store a file of settings on the NATS server, for every run --config-key KEY: it is checked first."`
	Get     sharedconfig.GetCmd     `cmd:"" help:"Print the file of settings that is stored under a key, or an older one."`
	History sharedconfig.HistoryCmd `cmd:"" help:"List what was stored under a key, the newest first, and which settings changed."`
}

// settings are where a command line's flags have their values from that neither it nor the environment gives.
type settings struct{ config.Sources }

// everywhere are the settings that other commands than run and doctor have from the file too: how to reach NATS, and the log.
var everywhere = []string{"nats", "creds", "nkey", "context", "inbox-prefix", "prefix", "log-level", "log-format"}

// configPath is the file that a command line names, or the environment, or the first of the usual ones that is there.
func configPath(args []string) (path string, named bool) {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if path, ok := strings.CutPrefix(arg, "--config="); ok {
			return path, true
		}
		if arg == "--config" && i+1 < len(args) {
			return args[i+1], true
		}
	}
	if path, ok := os.LookupEnv("RINGMASTER_CONFIG"); ok {
		return path, path != ""
	}
	for _, path := range []string{filepath.Join(option.ConfigDir(), "config.toml"), "/etc/ringmaster/config.toml"} {
		if _, err := os.Stat(path); err == nil {
			return path, false
		}
	}
	return "", false
}

// readSettings reads a file of settings; with no path there are none.
func readSettings(path string, known []string) (*settings, error) {
	if path == "" {
		return &settings{}, nil
	}
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > config.MaxBytes) {
		err = fmt.Errorf("%s: want a file of at most %d bytes", path, config.MaxBytes)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the file of settings (--config or RINGMASTER_CONFIG): %w", err)
	}
	file, err := config.Parse(data, known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &settings{config.Sources{{Name: path, File: file}}}, nil
}

// Validate is of the command line's library.
func (s *settings) Validate(*kong.Application) error { return nil }

// Resolve gives a flag its value from the sources, where neither the command line nor the environment has one.
func (s *settings) Resolve(c *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if env, _ := fromEnvironment(flag); env != "" || !concerns(c, flag) {
		return nil, nil
	}
	of, _, _ := s.Value(flag.Name)
	return of, nil
}

func concerns(c *kong.Context, flag *kong.Flag) bool {
	if slices.Contains(everywhere, flag.Name) {
		return true
	}
	command := c.Selected()
	return command != nil && (command.Path() == "run" || command.Path() == "doctor")
}

// runFlags are the flags of run that can be settings.
func runFlags(app *kong.Application) (flags []*kong.Flag) {
	add := func(of []*kong.Flag) {
		for _, f := range of {
			if f.Name != "help" && f.Name != "version" && f.Name != "config" && f.Name != "policy" && !f.Hidden {
				flags = append(flags, f)
			}
		}
	}
	add(app.Flags)
	for _, command := range app.Children {
		if command.Name == "run" {
			add(command.Flags)
		}
	}
	return flags
}

func namesOf(flags []*kong.Flag) (names []string) {
	for _, f := range flags {
		names = append(names, f.Name)
	}
	return names
}

// sharedNames are the settings that processes may have from a bucket: what a decision and a launch are made by, and
// nothing of where a process reads, writes, listens or connects to, nor which device it has.
func sharedNames(app *kong.Application) []string {
	return namesOf(slices.DeleteFunc(runFlags(app), func(f *kong.Flag) bool { return !f.Tag.Has("shared") }))
}

// inUse are the settings that a command line of run gives, with the file, the environment and the defaults.
func inUse(parsed *kong.Context, file *settings) (all []worker.Setting) {
	for _, flag := range runFlags(parsed.Model) {
		of := worker.Setting{Name: flag.Name, Value: valueOf(flag), From: file.origin(flag)}
		if slices.ContainsFunc(parsed.Path, func(p *kong.Path) bool { return p.Flag == flag && !p.Resolved }) {
			of.From = "command line"
		}
		all = append(all, of)
	}
	return all
}

// origin is where a flag's value comes from that no command line gives.
func (s *settings) origin(flag *kong.Flag) string {
	env, _ := fromEnvironment(flag)
	_, from, set := s.Value(flag.Name)
	switch {
	case env != "":
		return env
	case set:
		return from
	}
	return "default"
}

// effective are the settings of run under a file, the copy of shared ones, and the environment, and the thresholds that
// they change.
func effective(path string) (all []worker.Setting, err error) {
	args := []string{"run"}
	if path != "" {
		args = append(args, "--config="+path)
	}
	l, err := readAgain(args, nil, sharedconfig.Text{})
	if err == nil && l.all.Run.ConfigKey != "" {
		l, err = withCopy(args, l)
	}
	if err != nil {
		return nil, err
	}
	all = inUse(l.parsed, l.from)
	if own, from := l.from.Thresholds(); own != nil {
		all = append(all, thresholdsOf(own, from)...)
	}
	return all, nil
}

// written are the settings and thresholds of a file by itself: whatever the environment of this process says, a value
// that does not fit is refused, and two files that differ do.
func written(path string) ([]worker.Setting, *policy.Config, error) {
	parser := withoutEnvironment(new(cli))
	file, err := readSettings(path, namesOf(runFlags(parser.Model)))
	if err != nil {
		return nil, nil, err
	}
	return file.of(parser)
}

// withoutEnvironment is a parser of run's flags that looks at no variable.
func withoutEnvironment(c *cli) *kong.Kong {
	parser := newParser(c, terminal.Stdio{})
	for _, flag := range runFlags(parser.Model) {
		flag.Envs, flag.Tag.Envs = nil, nil
	}
	return parser
}

// of are the settings and thresholds of run as a parser of its flags finds them in the sources.
func (s *settings) of(parser *kong.Kong) (all []worker.Setting, thresholds *policy.Config, err error) {
	kong.Resolvers(s).Apply(parser)
	if _, err := parser.Parse([]string{"run"}); err != nil {
		return nil, nil, errors.New(s.Placed(usageOf(err, nil)))
	}
	for _, flag := range runFlags(parser.Model) {
		all = append(all, worker.Setting{Name: flag.Name, Value: valueOf(flag), From: s.origin(flag)})
	}
	thresholds, _ = s.Thresholds()
	return all, thresholds, nil
}

// checkShared refuses a text that processes cannot share, and one that would be wrong for a process with no other setting.
func checkShared(data []byte) error {
	var c cli
	parser := withoutEnvironment(&c)
	file, err := config.Parse(data, namesOf(runFlags(parser.Model)))
	if err == nil {
		err = file.Only(sharedNames(parser.Model))
	}
	if err != nil {
		return err
	}
	s := settings{config.Sources{{Name: "the text", File: file}}}
	if _, _, err = s.of(parser); err != nil {
		return err
	}
	return c.Run.check()
}

// changed are the thresholds in which a configuration differs from the standard one, by their names in a file.
func changed(cfg, from *policy.Config) (names []string, value map[string][2]string) {
	was, is := policyfile.Flatten(from), policyfile.Flatten(cfg)
	value = make(map[string][2]string)
	for name := range maps.Keys(is) {
		if was[name] != is[name] {
			value[name] = [2]string{was[name], is[name]}
		}
	}
	return slices.Sorted(maps.Keys(value)), value
}

// thresholdsOf are the thresholds in which a configuration differs from the standard one, as settings.
func thresholdsOf(cfg *policy.Config, from string) (all []worker.Setting) {
	standard := policy.Standard()
	names, values := changed(cfg, &standard)
	for _, name := range names {
		all = append(all, worker.Setting{Name: name, Value: values[name][1], From: from})
	}
	return all
}

type configCheckCmd struct {
	File string `arg:"" optional:"" help:"File to check (default: the one that run would use)."`
}

func (c *configCheckCmd) Run(std terminal.Stdio, all *cli, _ *slog.Logger) error {
	path := c.File
	if path == "" {
		if path, _ = configPath(nil); all.Config != "" {
			path = all.Config
		}
	}
	if path == "" {
		return errors.New("there is no file of settings: name one, or write ~/.config/ringmaster/config.toml")
	}
	rows, thresholds, err := written(path)
	if err != nil {
		return err
	}
	if _, err := effective(path); err != nil { // the settings together, as run would have them here
		return err
	}
	set, covered := 0, 0
	for _, s := range rows {
		if strings.HasPrefix(s.From, path+": ") {
			set++
		}
	}
	standard := policy.Standard()
	if thresholds != nil {
		names, _ := changed(thresholds, &standard)
		covered = len(names)
	}
	fmt.Fprintf(std.Out, "%s is right: it sets %s and changes %s of the standard policy\n", path, text.Plural(uint64(set), "setting"), text.Plural(uint64(covered), "threshold"))
	return nil
}

type configShowCmd struct {
	JSON bool `name:"json" help:"Print one JSON object a line."`
	Set  bool `help:"Only what differs from the default."`
}

func (c *configShowCmd) Run(std terminal.Stdio, all *cli, _ *slog.Logger) error {
	path := all.Config
	if path == "" {
		path, _ = configPath(nil)
	}
	list, err := effective(path)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, s := range list {
		switch {
		case c.Set && s.From == "default":
		case c.JSON:
			if err := text.JSON(std.Out, s); err != nil {
				return err
			}
		default:
			rows = append(rows, []string{s.Name, text.OrDash(s.Value), s.From})
		}
	}
	if !c.JSON {
		fmt.Fprint(text.PlainWriter{To: std.Out}, text.Table([]string{"SETTING", "VALUE", "FROM"}, rows))
	}
	return nil
}

type configSampleCmd struct{}

func (configSampleCmd) Run(ctx *kong.Context, std terminal.Stdio) error {
	if err := usage.Settings(std.Out, runFlags(ctx.Model), option.HostName()); err != nil {
		return err
	}
	_, err := io.WriteString(std.Out, policyfile.Sample())
	return err
}

type configDiffCmd struct {
	Before string `arg:"" placeholder:"FILE"`
	After  string `arg:"" placeholder:"FILE"`
}

func (c *configDiffCmd) Run(std terminal.Stdio, _ *slog.Logger) error {
	var values [2]map[string]string
	for i, path := range []string{c.Before, c.After} {
		rows, thresholds, err := written(path)
		if err != nil {
			return err
		}
		if thresholds == nil {
			standard := policy.Standard()
			thresholds = &standard
		}
		values[i] = policyfile.Flatten(thresholds)
		for _, s := range rows {
			values[i][s.Name] = s.Value
		}
	}
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(values[1])) {
		if was, is := values[0][name], values[1][name]; was != is {
			rows = append(rows, []string{name, text.OrDash(was), text.OrDash(is)})
		}
	}
	if len(rows) == 0 {
		fmt.Fprintln(std.Out, "the two files set the same")
		return nil
	}
	fmt.Fprint(text.PlainWriter{To: std.Out}, text.Table([]string{"SETTING", c.Before, c.After}, rows))
	return terminal.ExitCode(1)
}
