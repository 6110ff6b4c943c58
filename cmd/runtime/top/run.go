package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/cmd/runtime/text"
)

// framesPerSecond bounds how often keys and looks reach the terminal.
const framesPerSecond = 20

// Run shows a source on a terminal until the user leaves or ctx ends.
func Run(ctx context.Context, source fleetview.Source, bus string, in io.Reader, out io.Writer) error {
	m := &model{screen: screen{bus: bus}, source: source}
	m.look()
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithEnvironment(os.Environ()),
		tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler()).Run()
	switch {
	case err == nil || ctx.Err() != nil:
		return nil
	case errors.Is(err, tea.ErrInterrupted):
		return nil
	}
	return fmt.Errorf("terminal: %w", err)
}

// Plain says how a source is printed for pipes.
type Plain struct {
	Every time.Duration // between two looks, and before the first
	Count int           // looks; 0: until ctx ends
	JSON  bool          // a line of JSON for each look
	Width int           // cells of a line
}

// Print prints what a source knows now and then.
func (p *Plain) Print(ctx context.Context, source fleetview.Source, out io.Writer) error {
	for i := 0; p.Count == 0 || i < p.Count; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(p.Every):
		}
		if err := p.print(source, out, i); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plain) print(source fleetview.Source, out io.Writer, i int) error {
	s := &screen{width: p.Width, snap: source.Look()}
	if p.JSON {
		return text.JSON(out, &s.snap)
	}
	if i > 0 {
		fmt.Fprintln(out)
	}
	_, err := io.WriteString(out, s.plain())
	return err
}
