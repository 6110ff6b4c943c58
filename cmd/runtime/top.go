package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"ringmaster/cmd/runtime/fleetview/listen"
	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/top"
	"ringmaster/telemetry/natsio"
)

// topCmd shows queues and workers, live.
type topCmd struct {
	option.NATS
	Worker string        `placeholder:"NAME" help:"Show one worker only."`
	Queue  string        `placeholder:"NAME" help:"Show queues of this name only."`
	Plain  bool          `help:"Print the tables as text, for pipes and for terminals that cannot be drawn on."`
	JSON   bool          `help:"Print one JSON object a look."`
	Every  time.Duration `default:"2s" help:"With --plain or --json: time between two looks, and before the first."`
	Count  int           `placeholder:"N" default:"1" help:"With --plain or --json: stop after this many looks; 0: never."`
}

func (c *topCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	screen := terminal.NewScreen(std.Out)
	printed := c.Plain || c.JSON
	if c.Count < 0 || c.Every < 0 {
		return terminal.Misused("--count %d --every %v: want neither below 0", c.Count, c.Every)
	}
	if !printed && !screen.Terminal {
		return fmt.Errorf("standard output is no terminal: use --plain for text, --json for programs")
	}
	ctx, stop := terminal.UntilSignal(ctx)
	defer stop()
	if !printed {
		log = slog.New(slog.DiscardHandler) // lines of its own would be drawn over; the screen says what is wrong
	}
	conn, err := c.Dial(ctx, "ringmaster top", log)
	if err != nil {
		return err
	}
	defer conn.Close()
	cfg := listen.Config{Worker: c.Worker, Queue: c.Queue}
	ctx, cancel := conn.Permitted(ctx, cfg.Dispensable(conn)...)
	defer cancel()
	width := screen.Width
	if !screen.Terminal {
		width = pipeWidth
	}
	err = c.show(ctx, conn, cfg, std, width)
	if refused := option.Refused(ctx); refused != nil {
		return refused
	}
	return err
}

// pipeWidth is the width of --plain where nobody says how wide lines may be: all columns have room.
const pipeWidth = 220

func (c *topCmd) show(ctx context.Context, conn *natsio.Conn, cfg listen.Config, std terminal.Stdio, width int) error {
	listener, err := listen.Start(conn, cfg)
	if err != nil {
		return err
	}
	defer listener.Close()
	if c.Plain || c.JSON {
		printer := top.Plain{Every: c.Every, Count: c.Count, JSON: c.JSON, Width: width}
		return printer.Print(ctx, listener, std.Out)
	}
	return top.Run(ctx, listener, conn.Servers(), std.In, std.Out)
}
