package main

import (
	"context"
	"fmt"
	"log/slog"
	"sort"
	"strings"
	"sync"
	"time"

	"ringmaster/telemetry"
)

// watchCmd prints recommendations.
type watchCmd struct {
	natsFlags
	Worker     string `placeholder:"NAME" default:"*" help:"Worker to watch."`
	Queue      string `placeholder:"NAME" default:"*" help:"Queue to watch."`
	JSON       bool   `help:"Print one JSON object per recommendation, without heartbeats."`
	Heartbeats bool   `help:"With --json: print heartbeats too."`
	Count      int    `placeholder:"N" help:"Stop after this many recommendations; 0: never."`
}

func (c *watchCmd) Run(ctx context.Context, std stdio, log *slog.Logger) error {
	conn, err := c.dial(ctx, "ringmaster watch", log)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	view := watchView{cmd: c, rows: map[string]watchRow{}, out: newScreen(std.out), enough: cancel}
	if _, err := conn.SubscribeRecommendations(c.Worker, c.Queue, view.take); err != nil {
		return err
	}
	for refresh := time.NewTicker(200 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			refresh.Stop()
			return nil
		case <-refresh.C:
			view.draw()
		}
	}
}

// watchView holds the newest recommendation of every queue seen.
type watchView struct {
	cmd    *watchCmd
	out    *screen
	enough func()

	mu    sync.Mutex
	rows  map[string]watchRow
	taken int
}

type watchRow struct {
	worker, queue string
	r             telemetry.Recommendation
	at            time.Time
}

// take runs on the subscription's goroutine.
func (v *watchView) take(worker, queue string, h *telemetry.Header, recommendation *telemetry.Recommendation) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := *recommendation
	r.Reasons = append([]telemetry.Reason(nil), r.Reasons...)
	name := worker + "." + queue
	_, known := v.rows[name]
	v.rows[name] = watchRow{worker: worker, queue: queue, r: r, at: time.Now()}
	if r.Heartbeat && (known || v.cmd.JSON) && !v.cmd.Heartbeats {
		return
	}
	if v.cmd.Count > 0 && v.taken >= v.cmd.Count {
		return
	}
	v.taken++
	switch {
	case v.cmd.JSON:
		h.Queue = queue
		line, err := telemetry.MarshalRecommendationJSON(worker, h, &r)
		if err == nil {
			v.out.note("%s", line)
		}
	case !v.out.terminal:
		v.out.note("%s: %s", name, describe(&r))
	}
	if v.taken == v.cmd.Count {
		v.enough()
	}
}

// describe is a recommendation in one line for people.
func describe(r *telemetry.Recommendation) string {
	if r.Error != "" {
		return fmt.Sprintf("decision %d: no plan: %s", r.Decision, plain(r.Error))
	}
	held := ""
	if r.SwitchHeld {
		held = " (held)"
	}
	return fmt.Sprintf("decision %d: %s%s, %s, %s, %dx%d chunk %d, hits %d, length %d, density %d bps, pressure %d bps",
		r.Decision, plain(r.Topology), held, plain(r.ExecutionMode), plain(r.Pressure), r.WorkgroupSizeX, r.Groups, r.ClaimChunk,
		r.HitCapacity, r.QueueLen, r.FrontierDensityBps, r.MemoryPressureBps)
}

func (v *watchView) draw() {
	if v.cmd.JSON || !v.out.terminal {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	names := make([]string, 0, len(v.rows))
	for name := range v.rows {
		names = append(names, name)
	}
	sort.Strings(names)
	rows := make([][]string, 0, len(names))
	for _, name := range names {
		row := v.rows[name]
		rows = append(rows, append([]string{row.worker}, planCells(row.queue, &row.r)...))
	}
	if len(rows) == 0 {
		v.out.draw("waiting for recommendations\n")
		return
	}
	v.out.draw(table(append([]string{"WORKER"}, planHeader...), rows))
}

// planHeader names the cells of planCells. The geometry is width × workgroups.
var planHeader = []string{"QUEUE", "LENGTH", "PRESSURE", "TOPOLOGY", "MODE", "GEOMETRY", "HITS"}

func planCells(queue string, r *telemetry.Recommendation) []string {
	if r.Error != "" {
		return []string{queue, grouped(r.QueueLen), "-", "-", "-", "-", plain(r.Error)}
	}
	topology := topologyWord(r.Topology)
	if r.SwitchHeld {
		topology += " (held)"
	}
	return []string{
		queue, grouped(r.QueueLen), plain(r.Pressure), topology, plain(r.ExecutionMode),
		fmt.Sprintf("%d×%d", r.WorkgroupSizeX, r.Groups), grouped(r.HitCapacity),
	}
}

// topologyWord is the word for a topology where columns are narrow: sparse, hybrid, dense,
// fused, or memory for memory_constrained.
func topologyWord(topology string) string {
	word, _, _ := strings.Cut(topology, "_")
	return plain(word)
}
