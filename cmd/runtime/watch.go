package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// watchCmd prints recommendations as they come; topCmd has tables.
type watchCmd struct {
	option.NATS
	Worker     string `placeholder:"NAME" default:"*" help:"Worker to watch."`
	Queue      string `placeholder:"NAME" default:"*" help:"Queue to watch."`
	JSON       bool   `help:"Print one JSON object per recommendation, without heartbeats."`
	Heartbeats bool   `help:"With --json: print heartbeats too."`
	Count      int    `placeholder:"N" help:"Stop after this many recommendations; 0: never."`
}

func (c *watchCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	if c.Count < 0 {
		return terminal.Misused("--count %d: want a number of recommendations, or 0 for all that come", c.Count)
	}
	return c.With(ctx, "ringmaster watch", log, func(ctx context.Context, conn *natsio.Conn) error {
		return c.watch(ctx, conn, terminal.NewScreen(std.Out))
	}, c.dispensable()...)
}

// dispensable is the question for the last recommendation: the runtime repeats that within a second.
func (c *watchCmd) dispensable() []string {
	return []string{telemetry.Subjects{Prefix: c.Prefix}.Snapshot(c.Worker, c.Queue), natsio.Answers}
}

// watch follows the recommendations until ctx ends or enough came.
func (c *watchCmd) watch(ctx context.Context, conn *natsio.Conn, out *terminal.Screen) error {
	s, err := client.NewSubscriber(conn, c.Worker, c.Queue, client.SubscriberConfig{Heartbeats: c.JSON && c.Heartbeats})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Err(); err != nil { // before the answer to its question for the last recommendation ends this
		return err
	}
	for taken := 0; c.Count == 0 || taken < c.Count; {
		a, err := s.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return errors.Join(err, s.Err())
		}
		if line := c.line(&a); line != "" {
			out.Note("%s", line)
			if a.Valid {
				taken++
			}
		}
	}
	return nil
}

// line is what is printed of an advice, "" for nothing.
func (c *watchCmd) line(a *client.Advice) string {
	r := &a.Recommendation
	switch {
	case !a.Valid && c.JSON:
		return ""
	case !a.Valid:
		return fmt.Sprintf("%s.%s: expired: nobody has decided for %v", a.Worker, a.Queue, time.Since(a.At).Round(time.Second))
	case c.JSON:
		h := a.Header
		h.Queue = a.Queue
		line, err := telemetry.MarshalRecommendationJSON(a.Worker, &h, r)
		if err != nil {
			return ""
		}
		return text.Plain(string(line)) // JSON leaves some control characters as they are
	}
	return fmt.Sprintf("%s.%s: %s", a.Worker, a.Queue, describe(r))
}

// describe is a recommendation in one line for people.
func describe(r *telemetry.Recommendation) string {
	if r.Error != "" {
		return fmt.Sprintf("decision %d: no plan: %s", r.Decision, text.Plain(r.Error))
	}
	held := ""
	if r.SwitchHeld {
		held = " (held)"
	}
	return fmt.Sprintf("decision %d: %s%s, %s, %dx%d chunk %d, hits %d, length %d, density %d bps, pressure %d bps",
		r.Decision, text.Plain(r.Topology), held, text.Plain(r.ExecutionMode), r.WorkgroupSizeX, r.Groups, r.ClaimChunk,
		r.HitCapacity, r.QueueLen, r.FrontierDensityBps, r.MemoryPressureBps)
}

// planHeader names the cells of planCells. The geometry is width × workgroups.
var planHeader = []string{"QUEUE", "LENGTH", "TOPOLOGY", "MODE", "GEOMETRY", "HITS"}

func planCells(queue string, r *telemetry.Recommendation) []string {
	if r.Error != "" {
		return []string{queue, text.Grouped(r.QueueLen), "-", "-", "-", text.Plain(r.Error)}
	}
	topology := topologyWord(r.Topology)
	if r.SwitchHeld {
		topology += " (held)"
	}
	return []string{
		queue, text.Grouped(r.QueueLen), topology, text.Plain(r.ExecutionMode),
		fmt.Sprintf("%d×%d", r.WorkgroupSizeX, r.Groups), text.Grouped(r.HitCapacity),
	}
}

// topologyWord is the word for a topology where columns are narrow: sparse, hybrid, dense,
// fused, or memory for memory_constrained.
func topologyWord(topology string) string {
	word, _, _ := strings.Cut(topology, "_")
	return text.Plain(word)
}
