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
	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/lease"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/decided"
)

// doctorCmd tries everything the runtime needs and says what is missing.
type doctorCmd struct {
	option.NATS
	option.GL
	option.Programs
	DecideOnly bool `name:"decide-only" aliases:"no-gpu" help:"Leave GL out: for machines that only decide."`
}

// Exit codes of doctor: a bit for each part that is missing.
const (
	doctorNoGL   = 4
	doctorNoNATS = 8
)

func (c *doctorCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	code := 0
	out := text.PlainWriter{To: std.Out} // drivers and servers choose their names
	say := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	if !c.DecideOnly && !c.examineGL(say, log) {
		code |= doctorNoGL
	}
	if !c.examineNATS(ctx, say, log) {
		code |= doctorNoNATS
	}
	if code != 0 {
		return terminal.ExitCode(code)
	}
	say("nothing is missing")
	return nil
}

func (c *doctorCmd) examineGL(say func(string, ...any), log *slog.Logger) bool {
	say("OpenGL 4.3 compute")
	attempts, err := glcompute.Probe(c.GL.Config())
	if err != nil {
		say("  %v", err)
		return false
	}
	for _, a := range attempts {
		mark := "works "
		if a.Err != nil {
			mark = "  --  "
		}
		say("  %s %s", mark, strings.TrimSuffix(a.String(), ": ok"))
	}
	c.listDevices(say)
	device, err := c.Open(log)
	if err != nil {
		say("  missing: %s", lastSentences(err))
		return false
	}
	defer device.Close()
	info := device.Info()
	say("  chosen: %s (%s)", info.Renderer, info.Way)
	if info.Software && c.Device == "" {
		say("  warning: no GPU was found; this is a software renderer, which runs the ring on this machine's processors")
	}
	say("  vendor %s, OpenGL %s, GLSL %s", info.Vendor, info.Version, info.GLSL)
	l := info.Limits
	say("  limits: workgroup %v, %d invocations, groups %v, shared %d bytes, %d storage blocks of %d MiB",
		l.WorkgroupSize, l.WorkgroupInvocations, l.WorkgroupCount, l.SharedMemory, l.StorageBlocks, l.StorageBlockSize>>20)
	say("  %s", unitsState(info.Units))
	say("  %s", memoryState(worker.DeviceMemory(device)))
	for _, line := range info.Capabilities.List() {
		say("  %s", line)
	}
	start := time.Now()
	if err := device.SelfTest(); err != nil {
		say("  missing: the compute self-test failed: %v", err)
		return false
	}
	say("  %s", c.Programs.State())
	say("  %s", leaseState(device))
	say("  compute self-test: passed in %v", time.Since(start).Round(time.Millisecond))
	return true
}

// listDevices prints what --device can select. Without a list the ways above
// still hold.
func (c *doctorCmd) listDevices(say func(string, ...any)) {
	devices, err := glcompute.Devices()
	if err != nil {
		say("  devices: none for --device: %v", err)
		return
	}
	say("  devices (--device takes the index, the UUID or a node):")
	for _, d := range devices {
		say("    %v", d)
	}
}

// lastSentences is the advice at the end of a GL error; the attempts before it
// have been printed already.
func lastSentences(err error) string {
	var unavailable *glcompute.UnavailableError
	if errors.As(err, &unavailable) && unavailable.Advice != "" {
		return unavailable.Advice
	}
	return err.Error()
}

func (c *doctorCmd) examineNATS(ctx context.Context, say func(string, ...any), log *slog.Logger) bool {
	say("NATS")
	cfg := c.NATS.Config("ringmaster doctor", log)
	if !c.Given() {
		return embeddedCheck(ctx, cfg, say)
	}
	return probe(ctx, cfg, say)
}

// embeddedCheck starts the embedded server for a moment: with no server named,
// that is what the runtime would use.
func embeddedCheck(ctx context.Context, cfg natsio.Config, say func(string, ...any)) bool {
	server, err := startServer("127.0.0.1", -1, "", cfg.Logger)
	if err != nil {
		say("  missing: no server was named, and the embedded one does not start: %v", err)
		return false
	}
	defer server.Shutdown()
	say("  no server named (--nats, --creds, --context): the embedded one is used")
	cfg.URL = server.URL()
	return probe(ctx, cfg, say)
}

func probe(ctx context.Context, cfg natsio.Config, say func(string, ...any)) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	report, err := natsio.Probe(ctx, cfg)
	if err != nil {
		say("  missing: %v", err)
		return false
	}
	if report.Reachable {
		say("  %s: server %q, version %s, round trip %v, largest payload %d bytes",
			report.URL, report.ServerName, report.ServerVersion, report.RTT.Round(time.Microsecond), report.MaxPayload)
		say("  JetStream: %s; work stream: %s", presence(report.JetStream, "missing"), presence(report.WorkStream, "made on first use"))
	}
	if report.JetStream {
		if err := decisionsStored(ctx, cfg); err != nil {
			report.Missing = append(report.Missing, fmt.Sprintf("decisions cannot be stored, so a restart forgets them and no other process takes over: %v", err))
		} else {
			say("  decisions: stored in %s", decided.StreamName(cfg.Subjects))
		}
	}
	if report.SmallStream != "" {
		say("  note: %s", report.SmallStream)
	}
	for _, sentence := range report.Missing {
		say("  missing: %s", sentence)
	}
	return len(report.Missing) == 0
}

// decisionsStored says why a runtime could not store its decisions.
func decisionsStored(ctx context.Context, cfg natsio.Config) error {
	conn, err := natsio.Connect(cfg)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.WaitState(ctx, natsio.StateConnected); err != nil {
		return err
	}
	return decided.Check(ctx, conn)
}

func presence(there bool, otherwise string) string {
	if there {
		return "there"
	}
	return otherwise
}

// leaseState says, for doctor, whether a device can keep a kernel resident.
func leaseState(device *glcompute.Device) string {
	const bytes = 1024
	var heap gpu.Buffer
	err := device.Do(func() (err error) {
		heap, err = device.NewBuffer(bytes)
		return err
	})
	if err != nil {
		return "lease: not tried: " + err.Error()
	}
	traits := gpu.TraitsOf(device)
	l, err := lease.Open(device, &traits, lease.Config{Heap: heap, HeapBytes: bytes})
	var support lease.Support
	if err == nil {
		support = l.Support()
		err = l.Close()
	}
	err = errors.Join(err, device.Do(func() error {
		device.DeleteBuffer(heap)
		return nil
	}))
	if err != nil {
		return "lease: none, small launches run as waves: " + err.Error()
	}
	return "lease: " + support.String()
}

// unitsState is doctor's line about what the device is.
func unitsState(u glcompute.Units) string {
	if u.Count == 0 || u.Lanes == 0 {
		return "units: not reported by the driver; the limits of the API shape launches"
	}
	return fmt.Sprintf("units: %d, each of which holds %d invocations at once (%s)", u.Count, u.Lanes, u.Source)
}

// memoryState is doctor's line about device memory.
func memoryState(m glcompute.Memory, known bool) string {
	if !known {
		return "memory: not reported by the driver; a --memory-budget in bytes bounds graphs, and so does the host's free memory"
	}
	return fmt.Sprintf("memory: %v; the --memory-budget of run is %d %% of what is free, now %d MiB", m, worker.MemoryShare, worker.MemoryBudget{Auto: true}.Bytes(m, known)>>20)
}
