package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// watchCmd prints recommendations.
type watchCmd struct {
	option.NATS
	Worker     string `placeholder:"NAME" default:"*" help:"Worker to watch."`
	Queue      string `placeholder:"NAME" default:"*" help:"Queue to watch."`
	JSON       bool   `help:"Print one JSON object per recommendation, without heartbeats."`
	Heartbeats bool   `help:"With --json: print heartbeats too."`
	Count      int    `placeholder:"N" help:"Stop after this many recommendations; 0: never."`
}

func (c *watchCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	view := watchView{cmd: c, out: terminal.NewScreen(std.Out)}
	view.table = view.out.Terminal && !c.JSON
	if view.table {
		log = newLogger(&view, levelOf(log), "text") // lines of its own would be drawn over
	}
	return c.With(ctx, "ringmaster watch", log, func(ctx context.Context, conn *natsio.Conn) error { return c.watch(ctx, conn, &view) })
}

// watch follows the recommendations until ctx ends or enough came.
func (c *watchCmd) watch(ctx context.Context, conn *natsio.Conn, view *watchView) error {
	s, err := client.NewSubscriber(conn, c.Worker, c.Queue, client.SubscriberConfig{Heartbeats: c.JSON && c.Heartbeats})
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if view.table {
		go view.refresh(ctx, s)
	}
	for c.Count == 0 || view.taken < c.Count {
		a, err := s.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return errors.Join(err, s.Err())
		}
		view.update(&a)
	}
	return nil
}

// levelOf is the lowest level that a log writes.
func levelOf(log *slog.Logger) string {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn} {
		if log.Enabled(context.Background(), level) {
			return level.String()
		}
	}
	return slog.LevelError.String()
}

// watchView shows the newest recommendation of every queue: a table on a terminal, with
// the last lines of the log below it, and lines elsewhere.
type watchView struct {
	cmd   *watchCmd
	out   *terminal.Screen
	table bool
	taken int // of Run's goroutine

	mu    sync.Mutex
	notes []string // the newest lines of the log
}

// maxNotes is how many lines of the log stay below the table.
const maxNotes = 5

// Write takes a line of the log.
func (v *watchView) Write(line []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.notes = append(v.notes, text.Plain(strings.TrimSuffix(string(line), "\n")))
	v.notes = v.notes[max(0, len(v.notes)-maxNotes):]
	return len(line), nil
}

// update prints a change, unless a table shows it.
func (v *watchView) update(a *client.Advice) {
	r := &a.Recommendation
	switch {
	case !a.Valid:
		if !v.cmd.JSON && !v.table {
			v.out.Note("%s.%s: expired: nobody has decided for %v", a.Worker, a.Queue, time.Since(a.At).Round(time.Second))
		}
		return
	case v.cmd.JSON && r.Heartbeat && !v.cmd.Heartbeats:
		return
	case v.cmd.JSON:
		h := a.Header
		h.Queue = a.Queue
		if line, err := telemetry.MarshalRecommendationJSON(a.Worker, &h, r); err == nil {
			v.out.Note("%s", text.Plain(string(line))) // JSON leaves some control characters as they are
		}
	case !v.table:
		v.out.Note("%s.%s: %s", a.Worker, a.Queue, describe(r))
	}
	v.taken++
}

// refresh draws the table until ctx ends.
func (v *watchView) refresh(ctx context.Context, s *client.Subscriber) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		v.out.Draw(v.frame(s.All(), time.Now()))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// frame is the table and the notes below it.
func (v *watchView) frame(all []client.Advice, now time.Time) string {
	slices.SortFunc(all, func(a, b client.Advice) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Queue, b.Queue))
	})
	rows := make([][]string, 0, len(all))
	for i := range all {
		a := &all[i]
		if a.Header.Incarnation != 0 {
			rows = append(rows, append([]string{a.Worker, age(a, now)}, planCells(a.Queue, &a.Recommendation)...))
		}
	}
	frame := "waiting for recommendations\n"
	if len(rows) > 0 {
		frame = text.Table(append([]string{"WORKER", "AGE"}, planHeader...), rows)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, note := range v.notes {
		frame += note + "\n"
	}
	return frame
}

// age says how old an advice is and how long it holds, or that nobody decides any more.
func age(a *client.Advice, now time.Time) string {
	old := now.Sub(a.At).Round(time.Second)
	if !a.Valid {
		return fmt.Sprintf("EXPIRED, %v", old)
	}
	return fmt.Sprintf("%v of %v", old, time.Duration(a.Recommendation.ValidForMs)*time.Millisecond)
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
