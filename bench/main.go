// Command bench measures parts of Ringmaster, each beside a yardstick in the same run:
//
//	go run ./bench [--json] NAME ...
//
// It is a program of its own, so that no yardstick is linked into ringmaster. Its figures are ratios of two
// things that took turns on one machine; docs/performance.md says which of them have to hold. run.sh and graph.sh
// set it beside programs in CUDA (bench/cuda), and bench/spaces has what a device was recorded to do.
//
// A benchmark has a file of its own name, whatif that of the course whose loads it plays; turns.go is the way in which all of them take turns, report.go
// prints rows.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"ringmaster/glcompute"
)

func main() {
	os.Exit(glcompute.Main(func() int { // the main thread is reserved for the window system
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}))
}

// command is what to measure, and the flags of all benchmarks.
type command struct {
	Name   []string `arg:"" enum:"${names}" help:"What to measure: ${names}. ring is drains of several kernels, feed, staging and lease; drain is what run.sh repeats of it; stream is ingest, overload and latency; work is batches from submission to their done records; live is the tuner on this machine's ring, own the part of it that compares the geometry without a tuner with the best of a sweep; natural is steps of the natural gradient on the device; course is the whole loop beside what a user would do without it (docs/course.md); whatif is what ringmaster whatif says beside what it is about, on loads of the course."`
	JSON   bool     `help:"Print one JSON object per line; the first names the CPU and the GL renderer."`
	GL     string   `name:"gl" enum:"auto,egl,glfw" default:"auto" env:"RINGMASTER_GL" help:"How to open the GL context: auto, egl (needs no display) or glfw (needs a window system)."`
	Device string   `env:"RINGMASTER_DEVICE" placeholder:"DEVICE" help:"GPU to use: index, UUID or DRM node, as doctor lists them (default: the first that is not a software renderer)."`

	tunerFlags
	liveFlags
	graphFlags
	courseFlags

	Duration time.Duration `default:"10m" help:"Length of a soak."`
	Slots    int           `default:"0" help:"Slots of a ring drain, or of a wave of feed; 0 chooses by device (drains: 1 Mi on a software renderer, 4 Mi otherwise)."`
}

// session is what benchmarks run in.
type session struct {
	ctx       context.Context
	flags     *command
	device    *glcompute.Device // nil if there is none
	deviceErr error             // why there is no device
	log       *slog.Logger
	*report
}

// benchmark is one that can be asked for by name.
type benchmark struct {
	name  string
	gpu   bool // it is nothing without a device
	check func(*command) error
	run   func(*session) error
}

func unchecked(*command) error { return nil }

// benchmarks are all there are.
var benchmarks = []benchmark{
	{"policy", false, unchecked, benchPolicy},
	{"decode", false, unchecked, benchDecode},
	{"ring", true, checkSlots, benchRing},
	{"drain", true, checkSlots, benchDrain},
	{"feed", true, checkSlots, benchFeed},
	{"staging", true, unchecked, benchStaging},
	{"lease", true, unchecked, benchLease},
	{"stream", false, unchecked, benchStream},
	{"ingest", false, unchecked, benchIngest},
	{"overload", false, unchecked, benchOverload},
	{"latency", false, unchecked, benchLatency},
	{"work", true, unchecked, benchWork},
	{"soak", false, checkSoak, benchSoak},
	{"tuner", false, func(c *command) error { return c.tunerFlags.check() }, benchTuner},
	{"graph", false, func(c *command) error { return c.graphFlags.check() }, benchGraph},
	{"live", true, func(c *command) error { return c.liveFlags.check() }, benchLive},
	{"own", true, func(c *command) error { return c.liveFlags.check() }, benchOwn},
	{"natural", true, unchecked, benchNatural},
	{"course", true, func(c *command) error { return c.courseFlags.check() }, benchCourse},
	{"whatif", true, func(c *command) error { return c.courseFlags.check() }, benchWhatIf},
}

func checkSlots(c *command) error {
	if c.Slots < 0 {
		return fmt.Errorf("--slots %d: at least 1 is needed, or 0 to choose by device", c.Slots)
	}
	return nil
}

func checkSoak(c *command) error {
	if c.Duration <= 0 {
		return fmt.Errorf("--duration %v: a soak takes more than no time", c.Duration)
	}
	return nil
}

// execute measures what the arguments ask for and returns the exit code: 0 success, 1 failure, 2 wrong usage.
func execute(ctx context.Context, args []string, out, errOut io.Writer) int {
	var names []string
	for _, b := range benchmarks {
		names = append(names, b.name)
	}
	var c command
	exited := -1
	parser, err := kong.New(&c, kong.Name("bench"), kong.Description("Measures parts of Ringmaster, each beside a yardstick."),
		kong.Writers(out, errOut), kong.Exit(func(code int) { exited = code }), kong.Vars{"names": strings.Join(names, ",")})
	if err != nil {
		panic(err) // the command struct is malformed, which is a bug
	}
	_, err = parser.Parse(args)
	switch {
	case exited >= 0:
		return exited // --help was printed
	case err != nil:
		fmt.Fprintf(errOut, "bench: %v; --help says more\n", err)
		return 2
	}
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if err := c.run(ctx, &report{out: out, json: c.JSON}, log); err != nil {
		fmt.Fprintf(errOut, "bench: %v\n", err)
		return 1
	}
	return 0
}

func (c *command) run(ctx context.Context, to *report, log *slog.Logger) error {
	var asked []benchmark
	needsDevice := c.Device != "" || len(c.Graph) > 0
	for _, name := range c.Name {
		b := benchmarks[slices.IndexFunc(benchmarks, func(b benchmark) bool { return b.name == name })]
		if err := b.check(c); err != nil { // before anything is measured
			return err
		}
		asked, needsDevice = append(asked, b), needsDevice || b.gpu
	}
	s := &session{ctx: ctx, flags: c, log: log, report: to}
	s.device, _, s.deviceErr = glcompute.Open(c.glConfig())
	if s.deviceErr != nil {
		s.device = nil
		if needsDevice {
			return s.deviceErr // the figures of another device are no answer
		}
	}
	on := machine{CPU: cpuName(), Cores: runtime.NumCPU(), Go: runtime.Version(), Version: revision(), GLRenderer: "none"}
	if s.device != nil {
		defer s.device.Close()
		_, on.GLRenderer, on.GLVersion = s.device.Identity()
	}
	to.begin(on)
	for _, b := range asked {
		if err := b.run(s); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	return nil
}

// glConfig is the device that the flags ask for.
func (c *command) glConfig() glcompute.Config {
	return glcompute.Config{
		Backend: glcompute.Backend(c.GL), Device: c.Device, Display: os.Getenv("DISPLAY"),
	}
}

// version is set by the linker.
var version = ""

// revision names the version that is measured: the linker's, or the commit that it was built from.
func revision() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value[:min(len(s.Value), 12)]
			}
		}
	}
	return "unknown"
}
