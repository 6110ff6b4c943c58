package main

import (
	"context"
	"fmt"
	"log/slog"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// cancelCmd withdraws batches from a running worker.
type cancelCmd struct {
	queueFlags `set:"timeout=10s"`
	Batches    []string `arg:"" placeholder:"ID" help:"Batches to withdraw. The exit code is 1 if one of them had already ended."`
}

func (c *cancelCmd) Run(ctx context.Context, std stdio, log *slog.Logger) error {
	return c.with(ctx, "ringmaster cancel", log, func(ctx context.Context, conn *natsio.Conn) error {
		late := 0
		for _, batch := range c.Batches {
			found, slots, err := client.Cancel(ctx, conn, c.Worker, c.Queue, batch)
			if err != nil {
				return err
			}
			switch found {
			case telemetry.CancelWithdrawn:
				fmt.Fprintf(std.out, "%s: canceled, %d slots are dropped; those that a launch has begun end as they do\n", batch, slots)
			case telemetry.CancelUnseen:
				fmt.Fprintf(std.out, "%s: has not come yet; it will not run if it comes within an hour\n", batch)
			default:
				late++
				fmt.Fprintf(std.out, "%s: had ended\n", batch)
			}
		}
		if late > 0 {
			return exitError{1}
		}
		return nil
	})
}
