package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringmaster/cmd/runtime/explain"
	"ringmaster/cmd/runtime/explain/ask"
	"ringmaster/cmd/runtime/graphs"
	"ringmaster/cmd/runtime/health"
	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/oversight"
	"ringmaster/cmd/runtime/schema"
	"ringmaster/cmd/runtime/sharedconfig"
	"ringmaster/cmd/runtime/slots"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/megakernel"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/embedded"
)

// runCmd serves until it is told to stop.
type runCmd struct {
	option.NATS
	option.GL          `group:"Device and kernels:"`
	option.Policy      `group:"Decisions:"`
	option.DecisionLog `group:"Decisions:"`
	option.Decided     `group:"Decisions:"`
	option.Opcodes     `group:"Device and kernels:"`
	option.Programs    `group:"Device and kernels:"`
	option.Lease       `group:"Device and kernels:"`
	option.Ring        `group:"Queues and work:"`
	option.Autotune    `group:"Tuner:"`
	option.HTTP        `group:"Metrics and traces:"`
	option.Traces      `group:"Metrics and traces:"`
	Worker             string        `help:"Name of this worker in subjects: letters, digits, _ and -, at most 64 (default: the host's, and with --device the device's)."`
	Pools              []string      `group:"Queues and work:" name:"pool" placeholder:"NAME" env:"RINGMASTER_POOL" help:"Take batches that are sent to pool.NAME too, while this worker has little left to do; may be given several times."`
	DecideOnly         bool          `name:"decide-only" aliases:"no-gpu" help:"Decide for all workers that nobody else decides for: no GL context, no work executed. Several share the workers, and each takes over where another ends."`
	Audits             uint32        `group:"Decisions:" name:"audit-launches" placeholder:"N" env:"RINGMASTER_AUDIT_LAUNCHES" shared:"" help:"Launch one of N decisions once at a geometry drawn at random from the usual one and its neighbours, so that ringmaster whatif can tell what others cost; never of what is urgent, and not where somebody waits for long. 200 costs about half a per cent of the launches (default: none)."`
	Shadow             bool          `help:"Decide for all workers beside whatever decides for them, on PREFIX.shadow, where nobody acts on it: from the telemetry and the launches that engines report on PREFIX. ringmaster shadow report compares the two."`
	ExecuteOnly        bool          `name:"execute-only" help:"Run what a process with --decide-only decides, and decide only while there is none."`
	Listen             string        `group:"NATS:" default:"127.0.0.1:4222" help:"Address of the embedded NATS server, used when no server is named."`
	Insecure           bool          `group:"NATS:" name:"insecure-listen" help:"Let the embedded server listen where other machines reach it, although it asks nobody who they are and lets everybody do everything."`
	Store              string        `group:"NATS:" placeholder:"DIR" help:"Directory of the embedded server's streams (default: under the user's state directory)."`
	Rate               float64       `group:"Queues and work:" placeholder:"N" default:"20000" env:"RINGMASTER_RATE" shared:"" help:"Telemetry records accepted per second and worker name, with bursts of twice as many. More are refused."`
	Queues             int           `group:"Queues and work:" name:"max-queues" placeholder:"N" shared:"" help:"Most queues known at a time; an idle one costs about 8 KiB (default: 16384)."`
	HangAfter          time.Duration `default:"30s" env:"RINGMASTER_HANG_AFTER" help:"Longest time that a launch, a transfer or a turn of a graph request may take. After that the process ends with exit code 75, for its supervisor to restart it. 0: wait forever."`
	Deliveries         uint64        `group:"Queues and work:" name:"max-deliveries" placeholder:"N" default:"20" env:"RINGMASTER_MAX_DELIVERIES" shared:"" help:"Give a batch up after it was delivered this often, to this process or earlier ones, without an outcome; its done record says so. Waiting for room does not count. 0: never."`
	DoneStream         string        `group:"Queues and work:" name:"done-stream" enum:"auto,always,off" default:"auto" env:"RINGMASTER_DONE_STREAM" help:"Keep done records in a JetStream stream for a day, and acknowledge work only when the stream has its record: auto where the stream can be made, always, or off."`
	Replicas           int           `group:"NATS:" placeholder:"N" env:"RINGMASTER_REPLICAS" help:"How many servers of a cluster keep each stream, 1 to 5 (default: 3 on a cluster of three or more servers, else 1)."`
	ReplyPrefix        []string      `group:"NATS:" name:"reply-prefix" placeholder:"PREFIX" env:"RINGMASTER_REPLY_PREFIX" help:"Answer requests whose reply subjects begin with PREFIX, as inbox_prefix of a NATS context has it; may be given several times (default: _INBOX). This user's own inboxes are always answered, and no other subjects."`
	ShareDevice        bool          `group:"Device and kernels:" name:"share-device" help:"Serve even if another worker of this host uses the same GPU. The two slow each other down, and their measurements show it."`
	Memory             option.Memory `group:"Device and kernels:" name:"memory-budget" placeholder:"BYTES" default:"auto" env:"RINGMASTER_MEMORY_BUDGET" help:"Most device memory that graphs, their jobs and hit buffers take; decisions leave room for it. auto: ${memory_share} % of what is free when the worker starts, if the driver reports it. none or 0: no bound but the device's."`
	Window             bool          `group:"Device and kernels:" help:"Show the ring live in a window. Needs a display, and opens the GL context with glfw."`
	Drain              time.Duration `default:"10s" help:"Longest wait for work in flight after SIGTERM."`

	ConfigKey string `group:"Log and settings:" name:"config-key" placeholder:"KEY" env:"RINGMASTER_CONFIG_KEY" help:"Follow the settings that ringmaster config put stores under this key. They count before those of a file, and begin anew at each change, as at a SIGHUP."`

	given    []any                   // flags, for the log
	args     []string                // the command line
	settings []worker.Setting        // all that can be settings
	own      *policy.Config          // of the settings
	shared   *sharedconfig.Following // nil: it follows none
}

// keepDone are the values of --done-stream.
var keepDone = map[string]natsio.KeepDone{"auto": natsio.KeepIfPossible, "always": natsio.KeepAlways, "off": natsio.KeepNone}

func (c *runCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	ctx, stop := terminal.UntilSignal(ctx)
	defer stop()
	hangups, ignore := terminal.Hangups(std.Err)
	defer ignore()
	if err := c.check(); err != nil {
		return err
	}
	seen, err := oversight.Begin(ctx, c.oversight(log))
	if err != nil {
		return fmt.Errorf("--http: %w", err)
	}
	defer seen.Close()
	opcodes, err := slots.LoadOpcodes(c.Opcodes.Dir)
	if err != nil {
		return err
	}
	limits, err := c.Ring.Limits(opcodes)
	if err != nil {
		return err
	}
	device, release, err := c.claimed(opcodes, log)
	if err != nil {
		return err
	}
	defer release()
	bus, closed, err := c.bus(log)
	if err != nil {
		return err
	}
	defer closed()
	if err := seen.Follow(&bus, c.Worker); err != nil {
		return fmt.Errorf("--otlp-endpoint: %w", err)
	}
	cfg := c.nodeConfig(bus, device, opcodes, limits, log)
	seen.Meter(&cfg)
	cfg.Settings, cfg.Drain = c.inUse, stop
	node, err := worker.Start(ctx, cfg)
	switch {
	case err != nil && ctx.Err() != nil:
		log.Info("stopped before anybody was served")
		return nil
	case err != nil:
		return err
	}
	return c.serve(ctx, node, device, bus, seen, hangups, log)
}

// claimed opens the device that the flags ask for, nil for none, and claims it for this process until it is released.
func (c *runCmd) claimed(opcodes *slots.Opcodes, log *slog.Logger) (device *glcompute.Device, release func(), err error) {
	if c.Window {
		if err := c.forWindow(); err != nil {
			return nil, nil, err
		}
	}
	if device, err = c.device(log); err != nil {
		return nil, nil, err
	}
	if c.Worker == "" {
		c.Worker = c.DefaultWorker(device)
	}
	if device == nil {
		return nil, func() {}, nil
	}
	claim, err := c.claim(device, opcodes, log)
	if err != nil {
		device.Close()
		return nil, nil, err
	}
	return device, func() { claim.Release(); device.Close() }, nil // which the node closes too
}

// bus is the connection that the flags ask for, to a server of the process's own where none is named.
func (c *runCmd) bus(log *slog.Logger) (cfg natsio.Config, closed func(), err error) {
	cfg = c.NATS.Config("ringmaster run", log)
	cfg.Replicas, cfg.ReplyPrefixes = c.Replicas, c.ReplyPrefix
	if c.Shadow {
		cfg.Shadowed, cfg.Subjects = cfg.Subjects, cfg.Subjects.Shadow()
		c.Tuner.Mode = session.Off // nobody would launch what it wants to look at
	}
	if c.Given() {
		return cfg, func() {}, nil
	}
	server, closed, err := c.embedded(log)
	if err != nil {
		return cfg, nil, err
	}
	cfg.URL = server.URL()
	log.Info("embedded NATS server", "url", server.URL(), "store", c.store())
	return cfg, closed, nil
}

// claim checks that a device can have the ring that the flags ask for, claims it for this
// process, and has it compile the operator's opcodes.
func (c *runCmd) claim(device *glcompute.Device, opcodes *slots.Opcodes, log *slog.Logger) (*worker.Claim, error) {
	if err := c.Ring.Fits(device); err != nil {
		return nil, err
	}
	claim, err := worker.ClaimWorker(filepath.Join(option.StateDir(), "workers"), c.Worker, c.busName(), device.Info(), c.ShareDevice, log)
	if err != nil {
		return nil, err
	}
	if err := opcodes.Compile(device); err != nil {
		claim.Release()
		return nil, err
	}
	opcodes.Log(log)
	return claim, nil
}

// nodeConfig is the node that the flags ask for, on a device that may be nil.
func (c *runCmd) nodeConfig(bus natsio.Config, device *glcompute.Device, opcodes *slots.Opcodes, limits map[string]megakernel.QueueOptions, log *slog.Logger) worker.Config {
	cfg := worker.Config{
		NATS: bus, Policy: c.policy(), Name: c.Worker, Log: log, Version: version, MaxQueues: c.Queues, Rate: c.rateLimit(),
		Decisions: c.DecisionLog.Config(version), Stored: c.Decided.Bounds(),
	}
	cfg.Autotuner, cfg.Memory = c.Autotune.Memory(log)
	cfg.Wrong = func(r *worker.Reading) (texts []string) {
		for _, why := range health.Ready(r) {
			texts = append(texts, why.Text)
		}
		if c.shared != nil {
			if _, refused := c.shared.Status(); refused != "" {
				texts = append(texts, "the shared settings are wrong and older ones are in use: "+refused)
			}
		}
		return texts
	}
	cfg.ExplainSchema = schema.Of[explain.Explanation]()
	cfg.Explain = func(ctx context.Context, conn *natsio.Conn, worker, queue string, decided *bool) (any, error) {
		return ask.Decisions(ctx, conn, worker, queue, explain.Heard{Decided: decided})
	}
	if device == nil {
		return cfg
	}
	cfg.Device, cfg.ExecuteOnly, cfg.Pools = device, c.ExecuteOnly, c.Pools
	cfg.Engine = worker.EngineConfig{
		Catalog: opcodes.Catalog, Binaries: c.Binaries(log), Mode: c.LaunchMode(device), LeaseDuration: c.Lease.Duration,
		Windows: c.Windows, WindowWords: c.WindowWords, Limits: limits,
		Reopen: c.Reopen(device.Info(), log), HangAfter: c.HangAfter, Hung: endOnHang(log),
	}
	cfg.MemoryBudget, cfg.Deliveries, cfg.KeepDone = c.Memory.MemoryBudget, c.Deliveries, keepDone[c.DoneStream]
	cfg.Graphs = func(n *worker.Node, budget uint64) (worker.Graphs, error) {
		service, err := graphs.Serve(n.Conn(), graphs.Config{
			Worker: c.Worker, Policy: &cfg.Policy, System: n.System(), Log: log, Decisions: n.Decisions(), Budget: budget, Files: n.Conn(),
			Borrow: n.Engine().Borrow, Repair: n.Engine().Repair, Programs: n.Engine().Ring().Programs(),
			Publish: func(queue string, g *telemetry.Graph) telemetry.Header { return n.Outlet().Graph(c.Worker, queue, g) },
		})
		if err != nil {
			return nil, err
		}
		return service, nil
	}
	return cfg
}

// check refuses values that make no sense, before anything is started.
func (c *runCmd) check() error {
	switch {
	case c.Worker != "" && !telemetry.ValidWorker(c.Worker):
		return fmt.Errorf("worker name %q: use 1 to 64 letters, digits, _ or -, and not the word pool", c.Worker)
	case c.Shadow && (c.ExecuteOnly || c.Window || len(c.Pools) > 0):
		return errors.New("--shadow acts on nothing: --execute-only, --window and --pool are for processes that do")
	case c.DecideOnly && c.ExecuteOnly:
		return errors.New("--decide-only and --execute-only leave nothing to do; without either this process does both for its own worker")
	case c.DecideOnly && len(c.Pools) > 0:
		return errors.New("--pool is for processes that execute work, and --decide-only executes none")
	case !c.Given() && c.Store == "" && !option.HasStateDir():
		return fmt.Errorf("neither $HOME nor $XDG_STATE_HOME is set, and work that has to outlive this process is not for %s: name a directory with --store, or a server with --nats", os.TempDir())
	case c.Audits == 1:
		return errors.New("--audit-launches 1 would make every decision an audit: want 2 or more, such as 200, or 0 for none")
	case c.HangAfter < 0:
		return fmt.Errorf("--hang-after %v: want a duration, or 0 to wait for ever", c.HangAfter)
	case c.Drain < 0:
		return fmt.Errorf("--drain %v: want a duration, or 0 to leave work in flight to the next process", c.Drain)
	case c.ConfigKey != "" && !telemetry.ValidToken(c.ConfigKey):
		return fmt.Errorf("--config-key %q: use 1 to 64 letters, digits, _ or -", c.ConfigKey)
	case c.ConfigKey != "" && !option.HasStateDir():
		return errors.New("--config-key: neither $HOME nor $XDG_STATE_HOME is set, and a copy of the settings has to outlive this process")
	case c.Queues < 0:
		return fmt.Errorf("--max-queues %d: want a number of queues, or 0 for the default", c.Queues)
	case !(c.Rate > 0):
		return fmt.Errorf("--rate %v: want more than 0 records a second", c.Rate)
	}
	for i, pool := range c.Pools {
		if !telemetry.ValidToken(pool) || slices.Contains(c.Pools[:i], pool) {
			return fmt.Errorf("--pool %q: name each pool once, with 1 to 64 letters, digits, _ or -", pool)
		}
	}
	return errors.Join(c.Lease.Check(), c.Ring.Check())
}

// rateLimit is --rate with bursts of twice as many.
func (c *runCmd) rateLimit() *natsio.RateLimit {
	return &natsio.RateLimit{PerSecond: c.Rate, Burst: int(min(max(2*c.Rate, 1), math.MaxInt32))}
}

// busName identifies the bus that this process serves on, to tell it from other
// buses of the same host. The name of an embedded server is the address at which
// others reach it; it is empty if the port is chosen by the system, because then no
// other process can know the address in advance.
func (c *runCmd) busName() string {
	at := c.Context + c.URL + c.Creds
	if !c.Given() {
		host, port, err := option.SplitListen(c.Listen)
		if err != nil || port == 0 {
			return ""
		}
		at = "nats://" + net.JoinHostPort(host, strconv.Itoa(port))
	}
	return at + "-" + c.Prefix
}

// device opens the GL device, or explains what to install and how to go on without one.
func (c *runCmd) device(log *slog.Logger) (*glcompute.Device, error) {
	if c.DecideOnly || c.Shadow {
		return nil, nil
	}
	device, err := c.GL.Open(log)
	var unavailable *glcompute.UnavailableError
	if errors.As(err, &unavailable) {
		return nil, fmt.Errorf("%w\nTo decide without executing, run with --decide-only; `ringmaster doctor` tries every way and shows the details", err)
	}
	return device, err
}

// store is the directory of the embedded server's streams.
func (c *runCmd) store() string {
	if c.Store != "" {
		return c.Store
	}
	return filepath.Join(option.StateDir(), "jetstream")
}

// embedded starts a NATS server of the process's own. Its streams are nobody else's meanwhile: two servers that
// write the same files damage them.
func (c *runCmd) embedded(log *slog.Logger) (_ *embedded.Server, closed func(), err error) {
	store := c.store()
	host, port, err := option.SplitListen(c.Listen)
	if err != nil {
		return nil, nil, err
	}
	if port == 0 {
		port = -1 // any free port, as everywhere else
	}
	lock, err := worker.ClaimStore(store, "the server at "+c.Listen)
	if err != nil {
		return nil, nil, err
	}
	cfg := embedded.DefaultConfig()
	cfg.Host, cfg.Port, cfg.StoreDir, cfg.Insecure, cfg.Logger = host, port, store, c.Insecure, log
	server, err := embedded.Start(cfg)
	if err != nil {
		lock.Release()
		if errors.Is(err, embedded.ErrNotLoopback) {
			err = fmt.Errorf("%w; `ringmaster auth template` prints users for one; --insecure-listen lets everybody in", err)
		}
		if !errors.Is(err, embedded.ErrPortTaken) && !errors.Is(err, embedded.ErrNotLoopback) {
			err = fmt.Errorf("%w\nIts streams are kept in %s; --store names another directory", err, store)
		}
		return nil, nil, err
	}
	return server, func() { server.Shutdown(); lock.Release() }, nil
}

// startServer starts the embedded NATS server; an empty store is temporary.
func startServer(host string, port int, store string, log *slog.Logger) (*embedded.Server, error) {
	cfg := embedded.DefaultConfig()
	cfg.Host, cfg.Port, cfg.StoreDir, cfg.Logger = host, port, store, log
	return embedded.Start(cfg)
}

// withoutPasswords is a list of servers with their passwords masked, for messages.
func withoutPasswords(servers string) string {
	if servers == "" {
		return "the server of the NATS context"
	}
	list := strings.Split(servers, ",")
	for i, server := range list {
		list[i] = withoutPassword(strings.TrimSpace(server))
	}
	return strings.Join(list, ",")
}

// withoutPassword is the address of a server with its password masked, or its token, which stands where a user would.
func withoutPassword(server string) string {
	scheme, rest, ok := strings.Cut(server, "://")
	if !ok {
		scheme, rest = "nats", server
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		return "a server whose address is malformed"
	}
	if _, two := u.User.Password(); u.User != nil && !two {
		u.User = url.UserPassword("", u.User.Username())
	}
	if !ok {
		return strings.TrimPrefix(u.Redacted(), "nats://")
	}
	return u.Redacted()
}

// exitHang is the exit code of a process whose device does not return from a launch or a
// transfer. A dispatch cannot be canceled, so the process ends and its supervisor starts
// it again; its work was not acknowledged and is delivered to the next process. 75 is
// EX_TEMPFAIL: trying again is the right answer.
const exitHang = 75

// endOnHang ends the process without touching the device again.
func endOnHang(log *slog.Logger) func(why string) {
	return func(why string) {
		log.Error("the device hangs; the process ends, its work goes to the next one", "error", why, "exit_code", exitHang)
		os.Exit(exitHang)
	}
}
