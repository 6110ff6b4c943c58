package usage

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// PluginFlag is what the nats command calls a program with that was registered by `nats plugins register`, to be told
// the model of its commands.
const PluginFlag = "--fisk-introspect"

// The model as JSON, as the library fisk has it (github.com/choria-io/fisk, model.go and app_plugin.go).

type fiskApplication struct {
	Name     string        `json:"name"`
	Help     string        `json:"help"`
	Version  string        `json:"version,omitempty"`
	Commands []fiskCommand `json:"commands"`
}

type fiskCommand struct {
	Name     string         `json:"name"`
	Aliases  []string       `json:"aliases,omitempty"`
	Help     string         `json:"help"`
	LongHelp string         `json:"help_long,omitempty"`
	Hidden   bool           `json:"hidden,omitempty"`
	Default  bool           `json:"default,omitempty"`
	Flags    []fiskFlag     `json:"flags,omitempty"`
	Args     []fiskArgument `json:"args,omitempty"`
	Commands []fiskCommand  `json:"commands,omitempty"`
}

type fiskFlag struct {
	Name        string   `json:"name"`
	Help        string   `json:"help"`
	Default     []string `json:"default,omitempty"`
	Placeholder string   `json:"place_holder,omitempty"`
	Required    bool     `json:"required,omitempty"`
	Hidden      bool     `json:"hidden,omitempty"`
	Boolean     bool     `json:"boolean"`
	Negatable   bool     `json:"negatable,omitempty"`
	Cumulative  bool     `json:"cumulative"`
	Completions []string `json:"completions,omitempty"`
}

type fiskArgument struct {
	Name        string `json:"name"`
	Help        string `json:"help"`
	Placeholder string `json:"place_holder,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Cumulative  bool   `json:"cumulative"`
}

// PluginModel is the model of a command line of a version, for the nats command.
func PluginModel(of *kong.Application, version string) ([]byte, error) {
	app := fiskApplication{Name: of.Name, Help: of.Help, Version: version, Commands: commandsOf(of.Node)}
	text, err := json.Marshal(&app)
	if err != nil {
		return nil, fmt.Errorf("describe the command line: %w", err)
	}
	return text, nil
}

func commandsOf(node *kong.Node) (all []fiskCommand) {
	for _, child := range node.Children {
		if child.Type != kong.CommandNode {
			continue
		}
		c := fiskCommand{
			Name: child.Name, Aliases: child.Aliases, Help: child.Help, LongHelp: child.Detail, Hidden: child.Hidden, Default: node.DefaultCmd == child,
			Args: argumentsOf(child.Positional), Commands: commandsOf(child),
		}
		if child.Leaf() { // flags of what is above it too: of those the nats command passes none on
			for _, group := range child.AllFlags(false) {
				for _, f := range group {
					c.Flags = append(c.Flags, flagsOf(f)...)
				}
			}
		}
		all = append(all, c)
	}
	return all
}

// flagsOf are a flag and its aliases. One that the nats command has too, such as --context, --creds or --server, is passed on as
// it was given to that, so that a login is said once. What comes from the environment is not told as such: the
// program reads that itself.
func flagsOf(f *kong.Flag) (all []fiskFlag) {
	if f.Name == "help" || f.Name == "version" {
		return nil // which the nats command has
	}
	is := fiskFlag{
		Name: f.Name, Help: kong.DefaultHelpValueFormatter(f.Value), Placeholder: f.PlaceHolder, Hidden: f.Hidden,
		Required: f.Required && len(f.Envs) == 0, Boolean: f.IsBool(), Negatable: f.Tag.Negatable != "", Cumulative: f.IsCumulative(),
	}
	if f.HasDefault && f.Default != "" {
		is.Default = []string{f.Default}
	}
	if f.Enum != "" {
		is.Completions = f.EnumSlice()
	}
	all = append(all, is)
	for _, alias := range f.Aliases {
		also := is
		also.Name, also.Hidden, also.Required = alias, true, false
		all = append(all, also)
	}
	return all
}

// argumentsOf are the arguments of a command. Of several, the nats command passes on those that are single in any order,
// and a list last, so several are told as one list.
func argumentsOf(args []*kong.Positional) []fiskArgument {
	if len(args) == 0 {
		return nil
	}
	var names, helps []string
	for _, a := range args {
		names, helps = append(names, a.Name), append(helps, a.Help)
	}
	first := args[0]
	if len(args) == 1 {
		return []fiskArgument{{Name: first.Name, Help: first.Help, Placeholder: first.Tag.PlaceHolder, Required: first.Required, Cumulative: first.IsCumulative()}}
	}
	return []fiskArgument{{Name: strings.Join(names, " "), Help: strings.TrimSpace(strings.Join(helps, " ")), Required: first.Required, Cumulative: true}}
}
