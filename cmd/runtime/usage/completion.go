package usage

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"ringmaster/cmd/runtime/terminal"
)

// CompletionCmd prints the completion of the command line for a shell.
type CompletionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints it.
func (c *CompletionCmd) Run(ctx *kong.Context, std terminal.Stdio) error {
	return Complete(std.Out, ctx.Model, c.Shell)
}

// Complete writes the completion of a command line for bash, zsh or fish. A script knows all words, so that a key
// press starts no process.
func Complete(w io.Writer, app *kong.Application, shell string) error {
	write, known := map[string]func(*strings.Builder, []place){"bash": bash, "zsh": zsh, "fish": fish}[shell]
	if !known {
		return fmt.Errorf("no completion for %s: want bash, zsh or fish", shell)
	}
	var text strings.Builder
	write(&text, placesOf(app))
	_, err := io.WriteString(w, text.String())
	return err
}

// place is where a command line can stand: at a command, or before one.
type place struct {
	path     string // "" at the beginning
	commands []*kong.Node
	flags    []word
}

// word is a flag of a place.
type word struct {
	name, help string
	values     []string // that it takes; nil for any
	takes      kind
}

type kind int

const (
	nothing kind = iota
	oneOf
	files
	anything
)

// placesOf are the places of a command line, parents before children.
func placesOf(app *kong.Application) (all []place) {
	var walk func(node *kong.Node, path string)
	walk = func(node *kong.Node, path string) {
		at := place{path: path}
		for _, child := range node.Children {
			if child.Type == kong.CommandNode && !child.Hidden {
				at.commands = append(at.commands, child)
			}
		}
		for _, group := range node.AllFlags(true) {
			for _, flag := range group {
				at.flags = append(at.flags, wordsOf(flag)...)
			}
		}
		all = append(all, at)
		for _, child := range at.commands {
			walk(child, strings.TrimSpace(path+" "+child.Name))
		}
	}
	walk(app.Node, "")
	return all
}

// wordsOf are a flag as it can be written: with what it negates.
func wordsOf(flag *kong.Flag) []word {
	is := word{name: "--" + flag.Name, help: firstSentence(flag.Help)}
	file := slices.Contains([]string{"FILE", "DIR", "NAME|FILE"}, flag.PlaceHolder) || strings.HasSuffix(flag.Tag.Type, "file")
	switch {
	case flag.IsBool():
		if flag.Tag.Negatable != "" {
			return []word{is, {name: "--no-" + flag.Name, help: is.help}}
		}
	case flag.Enum != "":
		is.takes, is.values = oneOf, flag.EnumSlice()
	case file:
		is.takes = files
	default:
		is.takes = anything
	}
	return []word{is}
}

func firstSentence(help string) string {
	first, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(first, ".")
}

// steps are the pairs of a place and a word that lead to another place.
func steps(all []place) (found []string) {
	for _, at := range all {
		for _, command := range at.commands {
			found = append(found, at.path+" "+command.Name)
		}
	}
	return found
}

// withValues are the pairs of a place and a flag that takes something of a kind.
func withValues(all []place, takes kind) (found []string) {
	for _, at := range all {
		for _, flag := range at.flags {
			if flag.takes == takes {
				found = append(found, at.path+" "+flag.name)
			}
		}
	}
	return found
}

// patterns are texts as alternatives of a shell's case.
func patterns(of []string, between string) string {
	quoted := make([]string, len(of))
	for i, text := range of {
		quoted[i] = quote(text)
	}
	return strings.Join(quoted, between)
}

// quote is a text as one word of bash and zsh.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
