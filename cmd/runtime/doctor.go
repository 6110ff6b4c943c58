package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"ringmaster/cmd/runtime/doctor"
	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/slots"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/lease"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
	"ringmaster/telemetry/natsio/decided"
)

// doctorCmd tries everything the runtime needs and says what is missing.
type doctorCmd struct {
	runCmd       // its flags
	Running bool `help:"Ask the worker of this name that runs already, and try nothing: its version, device, main loop, decisions, backlog and refusals."`
	JSON    bool `name:"json" help:"Print one JSON object per line that is found."`
}

// Exit codes of doctor: a bit for each part that is missing.
const (
	doctorNoStart = 1
	doctorNoGL    = 4
	doctorNoNATS  = 8
	doctorUnwell  = 16
)

// finding is a line of doctor as JSON.
type finding struct {
	About   string `json:"about"`
	Missing bool   `json:"missing"`
	Says    string `json:"says"`
}

func (c *doctorCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	code := 0
	out := text.PlainWriter{To: std.Out} // drivers and servers choose their names
	about := ""
	say := func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		switch {
		case !c.JSON:
			fmt.Fprintln(out, line)
		case !strings.HasPrefix(line, " "):
			about = line
		default:
			line = strings.TrimSpace(line)
			_ = text.JSON(std.Out, finding{about, strings.HasPrefix(line, "missing: "), strings.TrimPrefix(line, "missing: ")}) // as with print: the reader has gone
		}
	}
	if c.Running {
		well, err := c.examineRunning(ctx, say, log)
		if err == nil && !well {
			err = terminal.ExitCode(doctorUnwell)
		}
		return err
	}
	if !c.examineStart(say) {
		code |= doctorNoStart
	}
	if !c.DecideOnly && !c.Shadow && !c.examineGL(say, log) {
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

// leastSpace is below which a disk of streams is as good as full.
const leastSpace = 256 << 20

// examineStart tries what run does before it has a device or a server: its flags, the HTTP port, and where an embedded
// server would listen and store.
func (c *doctorCmd) examineStart(say func(string, ...any)) (fine bool) {
	say("start")
	fine = true
	missing := func(err error) {
		if err != nil {
			fine = false
			say("  missing: %v", err)
		}
	}
	missing(c.check())
	opcodes, err := slots.LoadOpcodes(c.Opcodes.Dir)
	if err == nil {
		_, err = c.Ring.Limits(opcodes)
	}
	missing(err)
	if c.Addr != "" {
		missing(free("--http", c.Addr))
	}
	if c.Given() {
		return fine
	}
	if _, _, err := option.SplitListen(c.Listen); err != nil {
		missing(err)
	} else {
		missing(free("--listen", c.Listen))
	}
	store := c.store()
	claim, err := worker.ClaimStore(store, "doctor")
	if err != nil {
		missing(err)
		return fine
	}
	defer claim.Release()
	if err := worker.TryDisk(store); err != nil {
		missing(fmt.Errorf("streams cannot be stored in %s: %w; --store names another directory", store, err))
		return fine
	}
	switch space, all, err := worker.DiskSpace(store); {
	case err != nil:
		missing(err)
	case space < leastSpace:
		missing(fmt.Errorf("the disk of %s has %d MiB left of %d: make room, or name another directory with --store", store, space>>20, all>>20))
	default:
		say("  streams: in %s, which can be written; %d MiB are free of %d", store, space>>20, all>>20)
	}
	return fine
}

// free says who might listen at an address already.
func free(flag, addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("%s %s: %w; is another ringmaster up?", flag, addr, err)
	}
	return l.Close()
}

func (c *doctorCmd) examineGL(say func(string, ...any), log *slog.Logger) bool {
	say("OpenGL 4.3 compute")
	attempts, err := glcompute.Probe(c.GL.Config())
	if err != nil {
		say("  missing: %v", err)
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
	say("  %s", doctor.Units(info.Units))
	say("  %s", doctor.Memory(worker.DeviceMemory(device)))
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
		return c.embeddedCheck(ctx, cfg, say)
	}
	return c.probe(ctx, cfg, say)
}

// embeddedCheck starts the embedded server for a moment: with no server named,
// that is what the runtime would use.
func (c *doctorCmd) embeddedCheck(ctx context.Context, cfg natsio.Config, say func(string, ...any)) bool {
	server, err := startServer("127.0.0.1", -1, "", cfg.Logger)
	if err != nil {
		say("  missing: no server was named, and the embedded one does not start: %v", err)
		return false
	}
	defer server.Shutdown()
	say("  no server named (--nats, --creds, --context): the embedded one is used")
	cfg.URL = server.URL()
	return c.probe(ctx, cfg, say)
}

func (c *doctorCmd) probe(ctx context.Context, cfg natsio.Config, say func(string, ...any)) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	report, err := natsio.Probe(ctx, cfg, c.streams(cfg.Subjects)...)
	if err != nil {
		say("  missing: %v", err)
		return false
	}
	if report.Reachable {
		say("  %s: server %q, version %s, round trip %v, largest payload %d bytes",
			report.URL, report.ServerName, report.ServerVersion, report.RTT.Round(time.Microsecond), report.MaxPayload)
		say("  JetStream: %s; work stream: %s", presence(report.JetStream, "missing"), presence(report.WorkStream, "made on first use"))
	}
	if report.Reachable {
		c.beside(ctx, cfg, &report, say)
	}
	if report.JetStream && c.Given() {
		for _, f := range doctor.Room(&report) {
			if f.Missing {
				report.Missing = append(report.Missing, f.Says)
			} else {
				say("  %s", f.Says)
			}
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

// streams are those that run writes to.
func (c *doctorCmd) streams(s telemetry.Subjects) []string {
	names := []string{decided.StreamName(s)}
	if c.DecideOnly || c.Shadow {
		return names
	}
	names = append(names, s.Store()+"_WORK")
	if c.DoneStream != "off" {
		names = append(names, s.Store()+"_DONE")
	}
	return names
}

// examineRunning asks a process that serves how it is. The error says that it cannot be asked.
func (c *doctorCmd) examineRunning(ctx context.Context, say func(string, ...any), log *slog.Logger) (well bool, err error) {
	name := cmp.Or(c.Worker, option.HostName())
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var state worker.State
	err = c.With(ctx, "ringmaster doctor", log, func(ctx context.Context, conn *natsio.Conn) error {
		answer, err := conn.AskService(ctx, "state."+name)
		if errors.Is(err, natsio.ErrNoRuntime) {
			return fmt.Errorf("no worker %s serves on this bus: --worker names another; a process without a device goes by the id that `ringmaster top` shows", name)
		}
		if err == nil {
			err = json.Unmarshal(answer, &state)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("ask worker %s: %w", name, err)
	}
	say("worker %s", name)
	var unexpected error
	if state.Device != nil {
		unexpected = c.Unexpected(state.Device.Name, state.Device.Software)
	}
	well = true
	for _, f := range doctor.Running(&state, version, unexpected) {
		if f.Missing {
			well = false
			say("  missing: %s", f.Says)
		} else {
			say("  %s", f.Says)
		}
	}
	if well {
		say("nothing is missing")
	}
	return well, nil
}

// beside says what a connection as run has it finds: whether decisions can be stored, and whether a worker of the name
// serves already.
func (c *doctorCmd) beside(ctx context.Context, cfg natsio.Config, report *natsio.Report, say func(string, ...any)) {
	conn, err := natsio.Connect(cfg)
	if err == nil {
		defer conn.Close()
		err = conn.WaitState(ctx, natsio.StateConnected)
	}
	if err == nil && report.JetStream {
		err = decided.Check(ctx, conn)
	}
	switch {
	case !report.JetStream: // which is said already
	case err != nil:
		report.Missing = append(report.Missing, fmt.Sprintf("decisions cannot be stored, so a restart forgets them and no other process takes over: %v", err))
	default:
		say("  decisions: stored in %s", decided.StreamName(cfg.Subjects))
	}
	if err == nil && report.JetStream {
		if err := conn.TryStore(ctx); err != nil {
			report.Missing = append(report.Missing, err.Error())
		}
	}
	if conn == nil || c.DecideOnly || c.Shadow {
		return
	}
	name := cmp.Or(c.Worker, option.HostName())
	if serves, err := client.AnybodyTakes(ctx, conn, name, "doctor"); err == nil && serves {
		say("  note: a worker %s serves on this bus: another one of the name is refused on this host, and shares its work from elsewhere; --worker names another, --running asks how it is", name)
	}
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
