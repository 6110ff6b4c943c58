package main

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/tuned"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/megakernel"
	"ringmaster/megakernel/calibration"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/megakernel/lease"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/ring"
	"ringmaster/telemetry"
)

// autotuneFlags say how geometries are tuned and where results are kept.
type autotuneFlags struct {
	tunerCacheFlag
	Autotuner autotunerMode `default:"on" env:"RINGMASTER_AUTOTUNER" help:"on: tune the whole geometry. natural: tune the width only, by the natural gradient. off: keep the policy's own geometry. reference: the tuner of vyre, to compare with, as reference-on and reference-off in its modes on and off."`
}

// tunerCacheFlag says where results of tuners are kept.
type tunerCacheFlag struct {
	TunerCache *string `placeholder:"DIR" env:"RINGMASTER_TUNER_CACHE" help:"Directory for the tuner's results (default: under the user's cache directory). Empty: keep none."`
}

// dir is the directory of the results, "" for none.
func (f *tunerCacheFlag) dir() string {
	if f.TunerCache != nil {
		return *f.TunerCache
	}
	return filepath.Join(cacheDir(), "tuner")
}

// autotunerMode is a mode, spelled as in vyre. Unlike there, an unset variable means on.
type autotunerMode struct{ session.Mode }

// UnmarshalText refuses a text that names no mode, before anything is started.
func (m *autotunerMode) UnmarshalText(word []byte) (err error) {
	m.Mode, err = session.ParseMode(string(word))
	return err
}

// tuning is how a node tunes and what its tuners begin from, nil for nothing.
func (f *autotuneFlags) tuning(log *slog.Logger) (session.Mode, *tuned.Memory) {
	if f.Autotuner.Mode == session.Off {
		return session.Off, nil
	}
	return f.Autotuner.Mode, tuned.New(tuned.Config{Dir: f.dir(), Log: log})
}

// leaseFlags say how launches reach the device.
type leaseFlags struct {
	Mode          string        `enum:"wave,lease,auto" default:"auto" env:"RINGMASTER_MODE" help:"How launches run. wave: each is a dispatch of its own, at the recommended geometry. lease: those of at most 256 slots go to a kernel that stays on the device, if its self-test passes. auto: as lease for slots without long loops; on a software renderer, as wave."`
	LeaseDuration time.Duration `default:"50ms" env:"RINGMASTER_LEASE_DURATION" help:"Longest time that a lease's kernel stays on the device, more than 0 and at most 1s. It ends sooner when no work comes or something else needs the device."`
}

// check refuses a duration that no lease can have.
func (f *leaseFlags) check() error {
	if f.LeaseDuration <= 0 || f.LeaseDuration > lease.MaxDuration {
		return fmt.Errorf("--lease-duration %v: want more than 0 and at most %v; for no resident kernel, --mode wave", f.LeaseDuration, lease.MaxDuration)
	}
	return nil
}

// launchMode says how launches run on a device.
func (f *leaseFlags) launchMode(device worker.Device) megakernel.LaunchMode {
	switch {
	case f.Mode == "lease":
		return megakernel.ModeLease
	case f.Mode == "auto" && !device.Info().Software:
		return megakernel.ModeAuto
	}
	return megakernel.ModeWave
}

// ringFlags size the ring's heap and bound what queues may do.
type ringFlags struct {
	Windows     int      `default:"64" help:"Windows of the heap. Each queue with work or data has one; when none is free, the least useful idle one is reassigned."`
	WindowWords uint32   `name:"window-words" default:"65536" help:"Size of a window in words of 4 bytes."`
	Limit       []string `placeholder:"QUEUE:BOUND=VALUE,..." sep:"none" help:"Bounds of a queue, or with * of every queue that no other --limit names: pending=N unfinished slots (batches beyond that wait, up to 128 per queue; more are refused), rate=N slots a second, burst=N slots at once, opcodes=NAME+NAME... . May be repeated."`
}

// limits reads --limit: the bounds of named queues, and those of all others under *.
func (f *ringFlags) limits(set *opcodeSet) (map[string]megakernel.QueueOptions, error) {
	limits := make(map[string]megakernel.QueueOptions)
	for _, spec := range f.Limit {
		queue, bounds, found := strings.Cut(spec, ":")
		if !found || queue != "*" && !telemetry.ValidToken(queue) {
			return nil, fmt.Errorf("--limit %q: want a queue's name or *, a colon and bounds such as pending=10000", spec)
		}
		if _, twice := limits[queue]; twice {
			return nil, fmt.Errorf("--limit %q: queue %s has a limit already", spec, queue)
		}
		var o megakernel.QueueOptions
		for bound := range strings.SplitSeq(bounds, ",") {
			if err := setBound(&o, bound, set); err != nil {
				return nil, fmt.Errorf("--limit %q: %w", spec, err)
			}
		}
		if o.Burst > 0 && o.Rate == 0 {
			return nil, fmt.Errorf("--limit %q: burst is how far a rate may be exceeded; give rate too", spec)
		}
		if err := o.Validate(); err != nil {
			return nil, fmt.Errorf("--limit %q: %w", spec, err)
		}
		limits[queue] = o
	}
	return limits, nil
}

// setBound reads one BOUND=VALUE.
func setBound(o *megakernel.QueueOptions, bound string, set *opcodeSet) (err error) {
	name, value, _ := strings.Cut(bound, "=")
	count := func(to *int) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > math.MaxInt32 {
			return fmt.Errorf("%s: want 1 to %d slots", bound, math.MaxInt32)
		}
		*to = n
		return nil
	}
	switch name {
	case "pending":
		return count(&o.MaxPending)
	case "burst":
		return count(&o.Burst)
	case "rate":
		if o.Rate, err = strconv.ParseFloat(value, 64); err != nil || !(o.Rate > 0) || math.IsInf(o.Rate, 1) {
			return fmt.Errorf("%s: want more than 0 slots a second, not infinitely many; leave rate out for no bound", bound)
		}
		return nil
	case "opcodes":
		for op := range strings.SplitSeq(value, "+") {
			id, err := set.lookup(op)
			if err != nil {
				return err
			}
			o.Opcodes |= uint64(kernel.NewOpcodeSet(id))
		}
		return nil
	}
	return fmt.Errorf("%q is no bound; there are pending, rate, burst and opcodes", bound)
}

// check refuses a heap that no ring can have, before anything is opened.
func (f *ringFlags) check() error {
	if most := 1 << 16; f.Windows < 1 || f.Windows > most {
		return fmt.Errorf("--windows %d: want 1 to %d", f.Windows, most)
	}
	if f.WindowWords < 1 {
		return fmt.Errorf("--window-words 0: want at least 1")
	}
	return nil
}

// fits refuses a heap that a device cannot have.
func (f *ringFlags) fits(device gpu.Device) error {
	bytes, limit := int64(f.Windows)*int64(f.WindowWords)*ring.WordBytes, device.StorageBlockLimit()
	if bytes > limit || int64(f.Windows)*int64(f.WindowWords) >= 1<<32 {
		return fmt.Errorf("--windows %d of --window-words %d take %d bytes, the device's storage blocks end at %d: at most %d windows of that size, or %d words for so many",
			f.Windows, f.WindowWords, bytes, limit, limit/ring.WordBytes/int64(f.WindowWords), limit/ring.WordBytes/int64(f.Windows))
	}
	ring := worker.EngineConfig{Windows: f.Windows, WindowWords: f.WindowWords}
	return ring.Validate()
}

// programFlags say where compiled GPU programs are kept.
type programFlags struct {
	ProgramCache   string `placeholder:"DIR" env:"RINGMASTER_PROGRAM_CACHE" help:"Directory for compiled GPU programs; only this user may have access (default: under the user's cache directory)."`
	NoProgramCache bool   `env:"RINGMASTER_NO_PROGRAM_CACHE" help:"Keep no compiled GPU programs; compile them at every start."`
}

func (f *programFlags) programDir() string {
	if f.ProgramCache != "" {
		return f.ProgramCache
	}
	return filepath.Join(cacheDir(), "programs")
}

// binaries opens the directory of compiled programs. Without
// a directory everything works, only more slowly, so a problem with it is logged and is
// no error.
func (f *programFlags) binaries(log *slog.Logger) *disk.Dir {
	if f.NoProgramCache {
		return nil
	}
	dir, err := disk.Open(f.programDir())
	if err != nil {
		log.Warn("no program cache; every start compiles its kernels", "err", err)
		return nil
	}
	return dir
}

// memoryFlag bounds device memory: auto, none or a number of bytes. Its zero value is none.
type memoryFlag struct{ worker.MemoryBudget }

// UnmarshalText reads a flag.
func (f *memoryFlag) UnmarshalText(word []byte) (err error) {
	*f = memoryFlag{}
	switch string(word) {
	case "auto":
		f.Auto = true
	case "none":
	default:
		if f.Fixed, err = strconv.ParseUint(string(word), 10, 64); err != nil {
			return fmt.Errorf("%q: want auto, none or a number of bytes", word)
		}
	}
	return nil
}

// glFlags say which GL context to open.
type glFlags struct {
	GL     string `name:"gl" enum:"auto,egl,glfw" default:"auto" env:"RINGMASTER_GL" help:"How to open the GL context: auto, egl (needs no display) or glfw (needs a window system)."`
	Device string `env:"RINGMASTER_DEVICE" placeholder:"DEVICE" help:"GPU to use: index, UUID or DRM node, as doctor lists them (default: the first that is not a software renderer)."`
}

func (f *glFlags) config() glcompute.Config {
	return glcompute.Config{
		Backend: glcompute.Backend(f.GL), Device: f.Device,
		Display: os.Getenv("DISPLAY"),
	}
}

// open opens the device, and finds out what it is if its driver does not tell.
func (f *glFlags) open(log *slog.Logger) (*glcompute.Device, error) {
	mesaCache(log)
	device, attempts, err := glcompute.Open(f.config())
	for _, a := range attempts {
		log.Debug("gl attempt", "backend", a.Backend, "detail", a.Detail, "error", a.Err)
	}
	if err == nil {
		roomForGL()
		if device.Info().Units == (glcompute.Units{}) {
			known, how := calibration.Known(device, filepath.Join(cacheDir(), "units"), log)
			device.Describe(glcompute.Units{Count: known.Units, Lanes: known.Lanes, Source: how})
		}
	}
	return device, err
}

// defaultWorker names a worker that was given no name: after the host and, with
// --device, after the device too, so that the workers of one host differ. It takes the
// UUID, which stays the same when the driver lists its devices in another order.
func (f *glFlags) defaultWorker(device *glcompute.Device) string {
	host := workerName()
	if device == nil || f.Device == "" {
		return host
	}
	suffix := "-gpu" + text.Token(filepath.Base(f.Device))
	if info := device.Info(); !info.Software && len(info.Capabilities.DeviceUUID) >= 8 {
		suffix = "-" + info.Capabilities.DeviceUUID[:8]
	}
	return host[:min(len(host), max(0, 64-len(suffix)))] + suffix[:min(len(suffix), 64)]
}

// reopen opens the device again after it was lost. Where the device can be named, it is
// the same one, even if another would answer sooner.
func (f *glFlags) reopen(was glcompute.Info, log *slog.Logger) func() (worker.Device, error) {
	again := *f
	if id := was.Capabilities.DeviceUUID; id != "" && !was.Software && was.Way != string(glcompute.GLFW) {
		again.Device = id
	}
	return func() (worker.Device, error) {
		device, err := again.open(log)
		if err != nil {
			return nil, err // and no gpu that holds a nil
		}
		return device, nil
	}
}

// mesaCache gives Mesa a directory of our own for its shader cache, unless the environment names
// one, because without a cache every start compiles all shaders again. Where the disk has no room for
// the cache's table, Mesa keeps none.
func mesaCache(log *slog.Logger) {
	const named, off = "MESA_SHADER_CACHE_DIR", "MESA_SHADER_CACHE_DISABLE"
	if os.Getenv(off) != "" {
		return
	}
	dir := os.Getenv(named)
	if dir == "" {
		dir = filepath.Join(cacheDir(), "mesa")
	}
	if err := worker.ReserveMesaIndex(dir); err != nil {
		log.Warn("Mesa's shader cache is not used; every start compiles all shaders again", "directory", dir, "error", err)
		os.Setenv(off, "true")
		return
	}
	os.Setenv(named, dir)
}
