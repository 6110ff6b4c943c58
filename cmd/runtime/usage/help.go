package usage

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Help prints the help that was asked for, and behind a command's its examples.
func Help(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	selected := ctx.Selected()
	if selected == nil {
		return nil
	}
	for i, example := range Examples[selected.Path()] {
		if i == 0 {
			fmt.Fprint(ctx.Stdout, "\nExamples:\n")
		}
		if _, err := fmt.Fprintf(ctx.Stdout, "  %s\n", example); err != nil {
			return err
		}
	}
	return nil
}

// ValueHelp is the help of a flag or an argument, with the default where only the placeholder would be printed.
func ValueHelp(value *kong.Value) string {
	if value.Tag.PlaceHolder == "" || !value.HasDefault || strings.Contains(value.Help, "default") {
		return kong.DefaultHelpValueFormatter(value)
	}
	shown := *value
	shown.Help = fmt.Sprintf("%s (default: %s).", strings.TrimSuffix(value.Help, "."), value.Default)
	return kong.DefaultHelpValueFormatter(&shown)
}
