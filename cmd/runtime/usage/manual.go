package usage

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
)

// ManualCmd prints the manual page.
type ManualCmd struct{}

// Run prints it.
func (ManualCmd) Run(ctx *kong.Context, std terminal.Stdio) error {
	return Manual(std.Out, ctx.Model, option.HostName())
}

// Manual writes the manual page of a command line, for man(1): every command with its arguments, flags and examples.
// It has no date, and no default that is the name of this host, so that the same program has the same page everywhere.
func Manual(w io.Writer, app *kong.Application, host string) error {
	var page strings.Builder
	name := strings.ToUpper(app.Name)
	fmt.Fprintf(&page, ".TH %s 1\n.SH NAME\n%s \\- %s\n", name, roff(app.Name), roff(app.Help))
	fmt.Fprintf(&page, ".SH SYNOPSIS\n.B %s\n%s\n", roff(app.Name), roff(strings.TrimSpace(app.Summary())))
	page.WriteString(".SH FLAGS OF EVERY COMMAND\n")
	writeFlags(&page, app.Flags, host)
	group := ""
	for _, command := range app.Leaves(true) {
		if of := command.ClosestGroup(); of != nil && of.Title != group {
			group = of.Title
			fmt.Fprintf(&page, ".SH %s\n", roff(strings.ToUpper(strings.TrimSuffix(group, ":"))))
		}
		fmt.Fprintf(&page, ".SS %s %s\n%s\n", roff(app.Name), roff(command.Summary()), roff(command.Help))
		for _, arg := range command.Positional {
			fmt.Fprintf(&page, ".TP\n.I %s\n%s\n", roff(arg.Summary()), roff(ValueHelp(arg)))
		}
		for node := command; node != app.Node; node = node.Parent {
			writeFlags(&page, node.Flags, host)
		}
		for i, example := range Examples[command.Path()] {
			if i == 0 {
				page.WriteString(".PP\nExamples:\n")
			}
			fmt.Fprintf(&page, ".PP\n.nf\n%s\n.fi\n", roff(example))
		}
	}
	_, err := io.WriteString(w, page.String())
	return err
}

func writeFlags(w *strings.Builder, flags []*kong.Flag, host string) {
	for _, flag := range flags {
		if flag.Hidden {
			continue
		}
		value := *flag.Value
		if value.HasDefault && value.Default == host {
			value.Default = "the host's name"
		}
		flag = &kong.Flag{Value: &value, PlaceHolder: flag.PlaceHolder}
		text := "--" + flag.Name
		if flag.IsBool() && flag.Tag.Negatable != "" {
			text = "--[no-]" + flag.Name
		}
		fmt.Fprintf(w, ".TP\n.B %s", roff(text))
		if !flag.IsBool() {
			w.WriteString("=" + roff(flag.FormatPlaceHolder()))
		}
		fmt.Fprintf(w, "\n%s\n", roff(ValueHelp(flag.Value)))
	}
}

// plain is what of troff's commands is meant as text.
var plain = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ", "'", `\(aq`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`, `"`, `\(dq`)

// roff is a text without what troff takes for a command, in ASCII.
func roff(text string) string {
	var out strings.Builder
	if strings.HasPrefix(text, ".") {
		out.WriteString(`\&`)
	}
	for _, r := range plain.Replace(text) {
		if r > '~' {
			fmt.Fprintf(&out, `\[u%04X]`, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}
