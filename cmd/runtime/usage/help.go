package usage

import (
	"fmt"

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
