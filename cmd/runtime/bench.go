package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/glcompute"
	"ringmaster/megakernel/policy"
)

// benchCmd measures a part of Ringmaster beside a yardstick in the same run.
type benchCmd struct {
	Name []string `arg:"" enum:"policy,decode,ring,drain,stream,soak,tuner,graph,live,natural" help:"What to measure: policy, decode, ring, drain (of ring, what bench/run.sh repeats), stream, soak, tuner, graph, live (the tuner on this machine's ring), natural (steps of the natural gradient on the device)."`
	JSON bool     `help:"Print one JSON object per line; the first names the CPU and the GL renderer."`
	glFlags
	tunerFlags
	liveFlags
	graphBenchFlags

	Duration time.Duration `default:"10m" help:"Length of a soak."`
	Slots    int           `default:"0" help:"Slots of a ring drain; 0 chooses by device (1 Mi on a software renderer, 4 Mi otherwise)."`
}

// benchRow is one measured figure. Ratio is value over yardstick value.
type benchRow struct {
	Name           string  `json:"name"`
	Value          float64 `json:"value"`
	Unit           string  `json:"unit"`
	Yardstick      string  `json:"yardstick"`
	YardstickValue float64 `json:"yardstick_value"`
	Ratio          float64 `json:"ratio"`
	// Low and High, if there, bound Value with a confidence of 95 %.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// benchMachine is the first line of a report: what the figures were measured on.
type benchMachine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	GLRenderer string `json:"gl_renderer"`
	GLVersion  string `json:"gl_version"`
	Go         string `json:"go"`
	Version    string `json:"ringmaster"`
}

func (c *benchCmd) Run(ctx context.Context, std stdio, log *slog.Logger) error {
	if err := c.check(); err != nil {
		return err
	}
	device, deviceErr := c.open(log)
	if deviceErr != nil && (c.Device != "" || c.needsDevice()) {
		return deviceErr // asked for this one, so others' figures are no answer
	}
	machine := benchMachine{CPU: cpuName(), Cores: runtime.NumCPU(), Go: runtime.Version(), Version: version, GLRenderer: "none"}
	if deviceErr == nil {
		defer device.Close()
		_, machine.GLRenderer, machine.GLVersion = device.Identity()
	}
	report := benchReport{out: std.out, json: c.JSON}
	report.begin(machine)
	for _, name := range c.Name {
		if err := c.measure(ctx, name, device, deviceErr, &report, log); err != nil {
			return err
		}
	}
	return nil
}

// measure runs one benchmark. deviceErr is why there is no device; what needs one is not asked for then.
func (c *benchCmd) measure(ctx context.Context, name string, device *glcompute.Device, deviceErr error, report *benchReport, log *slog.Logger) error {
	switch name {
	case "policy":
		benchPolicy(report)
		return nil
	case "decode":
		return benchDecode(report)
	case "stream":
		return benchStream(ctx, log, report)
	case "soak":
		return benchSoak(ctx, log, c.Duration, report)
	case "tuner":
		return benchTuner(ctx, log, &c.tunerFlags, report)
	case "live":
		return benchLive(ctx, device, &c.liveFlags, report)
	case "natural":
		return benchNatural(device, report)
	case "drain":
		return benchDrain(device, c.Slots, report)
	case "ring":
		if err := benchRing(device, c.Slots, report); err != nil {
			return err
		}
		if err := benchFeed(device, report); err != nil {
			return err
		}
		return benchLease(device, report)
	case "graph":
		if err := benchGraph(ctx, &c.graphBenchFlags, report); err != nil {
			return err
		}
		if deviceErr != nil {
			log.Warn("without searches on a device", "error", deviceErr)
			return nil
		}
		return benchGraphDevice(ctx, device, &c.graphBenchFlags, report)
	}
	return nil
}

// check refuses what cannot be measured, before anything is.
func (c *benchCmd) check() error {
	for _, name := range c.Name {
		var err error
		switch name {
		case "graph":
			err = c.graphBenchFlags.check()
		case "tuner":
			err = c.tunerFlags.check()
		case "live":
			err = c.liveFlags.check()
		case "soak":
			if c.Duration <= 0 {
				err = fmt.Errorf("bench: --duration %v: a soak takes more than no time", c.Duration)
			}
		case "ring", "drain":
			if c.Slots < 0 {
				err = fmt.Errorf("bench: --slots %d: at least 1 is needed, or 0 to choose by device", c.Slots)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// needsDevice tells whether something is to be measured that is nothing without a device.
func (c *benchCmd) needsDevice() bool {
	return len(c.Graph) > 0 || slices.ContainsFunc(c.Name, func(name string) bool {
		return slices.Contains([]string{"ring", "drain", "live", "natural"}, name)
	})
}

// benchReport prints rows as they are measured.
type benchReport struct {
	out  io.Writer
	json bool
}

func (r *benchReport) begin(m benchMachine) {
	if r.json {
		json.NewEncoder(r.out).Encode(m)
		return
	}
	fmt.Fprintf(r.out, "%s, %d cores; GL: %s, %s; %s\n", m.CPU, m.Cores, m.GLRenderer, m.GLVersion, m.Go)
	r.line("name", "value", "unit", "yardstick", "ratio", "yardstick is")
}

func (r *benchReport) row(row benchRow) {
	if row.YardstickValue != 0 {
		row.Ratio = row.Value / row.YardstickValue
	}
	if r.json {
		json.NewEncoder(r.out).Encode(row)
		return
	}
	yardstick, ratio := "-", "-"
	if row.YardstickValue != 0 {
		yardstick, ratio = fourDigits(row.YardstickValue), fmt.Sprintf("%.3f", row.Ratio)
	}
	is := row.Yardstick
	if row.Low != 0 || row.High != 0 {
		is = fmt.Sprintf("%s (95 %%: %s to %s)", is, fourDigits(row.Low), fourDigits(row.High))
	}
	r.line(row.Name, fourDigits(row.Value), row.Unit, yardstick, ratio, is)
}

// line is not a table's, because each row is printed when it is measured.
func (r *benchReport) line(name, value, unit, yardstick, ratio, is string) {
	fmt.Fprintf(r.out, "%-34s %9s %-10s %9s %6s  %s\n", name, value, unit, yardstick, ratio, is)
}

// fourDigits is a number with four digits, in thousands (k), millions (M) or more (G) from
// 10,000 on.
func fourDigits(v float64) string {
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.4g G", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.4g M", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.4g k", v/1e3)
	}
	return fmt.Sprintf("%.4g", v)
}

// benchPolicy times a decision beside a lookup in a Go map keyed by the whole
// request, which is what answering from a cache would cost at the least.
func benchPolicy(report *benchReport) {
	cfg := policy.Standard()
	requests := benchRequests(1024)
	cache := make(map[policy.Request]int, len(requests))
	for i, r := range requests {
		cache[r] = i
	}
	var state policy.State
	groups := uint32(0)
	decide := func(n int) {
		for i := range n {
			// A refused request leaves the plan's state as it was; it is timed too.
			rec, next, _ := policy.Decide(&cfg, &requests[i%len(requests)], state)
			state = next
			groups += rec.WorkerGroups
		}
	}
	found := 0
	lookup := func(n int) {
		for i := range n {
			found += cache[requests[i%len(requests)]]
		}
	}
	value, yardstick := alternate(20, 50_000, decide, lookup)
	report.row(benchRow{Name: "policy/decide", Value: value, Unit: "ns", Yardstick: "Go map lookup of the same request", YardstickValue: yardstick})
	allocs := testing.AllocsPerRun(100, func() { decide(len(requests)) })
	report.row(benchRow{Name: "policy/allocs", Value: allocs / float64(len(requests)), Unit: "allocs", Yardstick: "none"})
	runtime.KeepAlive(found)
	runtime.KeepAlive(groups)
}

// alternate times two functions turn by turn, so that both see the same
// machine, and returns the median nanoseconds of one iteration of each.
func alternate(rounds, iterations int, a, b func(n int)) (aNs, bNs float64) {
	as, bs := make([]float64, rounds), make([]float64, rounds)
	a(iterations)
	b(iterations)
	for i := range rounds {
		as[i] = timeOf(iterations, a)
		bs[i] = timeOf(iterations, b)
	}
	slices.Sort(as)
	slices.Sort(bs)
	return as[rounds/2], bs[rounds/2]
}

func timeOf(iterations int, fn func(n int)) float64 {
	start := time.Now()
	fn(iterations)
	return float64(time.Since(start).Nanoseconds()) / float64(iterations)
}

// benchRequests varies every field that moves in production, by a fixed
// multiplicative sequence, so that all topologies and pressures occur.
func benchRequests(n int) []policy.Request {
	requests := make([]policy.Request, n)
	x := uint64(1)
	next := func(below uint64) uint64 {
		x = x*6364136223846793005 + 1442695040888963407
		return (x >> 33) % below
	}
	for i := range requests {
		requests[i] = policy.Request{
			QueueLen: uint32(next(100_000)), RequestedWorkerGroups: uint32(next(3) * 64),
			Limits:              policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32},
			ExpectedHitsPerItem: uint32(next(4)), HotOpcodeCount: uint32(next(16)), HotWindowCount: uint32(next(8)),
			MaxPriorityAge: uint32(next(64)), GraphNodeCount: 100_000, GraphEdgeCount: uint32(next(200_000)),
			FrontierDensityBps: uint16(next(10_001)), MemoryPressureBps: uint16(next(10_001)),
		}
	}
	return requests
}

func cpuName() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "model name"); ok {
			return strings.TrimLeft(name, "\t :")
		}
	}
	return runtime.GOARCH
}
