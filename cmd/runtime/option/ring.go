package option

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"ringmaster/cmd/runtime/slots"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/lease"
	"ringmaster/ring"
	"ringmaster/telemetry"
)

// Lease say how launches reach the device.
type Lease struct {
	Mode     string        `enum:"wave,lease,auto" default:"auto" env:"RINGMASTER_MODE" help:"How launches run. wave: each is a dispatch of its own, at the recommended geometry. lease: those of at most 256 slots go to a kernel that stays on the device, if its self-test passes. auto: as lease for slots without long loops; on a software renderer, as wave."`
	Duration time.Duration `name:"lease-duration" default:"50ms" env:"RINGMASTER_LEASE_DURATION" shared:"" help:"Longest time that a lease's kernel stays on the device, more than 0 and at most 1s. It ends sooner when no work comes or something else needs the device."`
}

// Check refuses a duration that no lease can have.
func (f *Lease) Check() error {
	if f.Duration <= 0 || f.Duration > lease.MaxDuration {
		return fmt.Errorf("--lease-duration %v: want more than 0 and at most %v; for no resident kernel, --mode wave", f.Duration, lease.MaxDuration)
	}
	return nil
}

// LaunchMode says how launches run on a device.
func (f *Lease) LaunchMode(device worker.Device) megakernel.LaunchMode {
	switch {
	case f.Mode == "lease":
		return megakernel.ModeLease
	case f.Mode == "auto" && !device.Info().Software:
		return megakernel.ModeAuto
	}
	return megakernel.ModeWave
}

// Ring size the ring's heap and bound what queues may do.
type Ring struct {
	Windows     int      `default:"64" help:"Windows of the heap. Each queue with work or data has one; when none is free, the least useful idle one is reassigned."`
	WindowWords uint32   `name:"window-words" default:"65536" help:"Size of a window in words of 4 bytes."`
	Limit       []string `placeholder:"QUEUE:BOUND=VALUE,..." sep:"none" shared:"" help:"Bounds of a queue, or with * of every queue that no other --limit names: pending=N unfinished slots (batches beyond that wait, up to 128 per queue; more are refused), rate=N slots a second, burst=N slots at once, opcodes=NAME+NAME... . May be repeated."`
}

// Limits reads --limit: the bounds of named queues, and those of all others under *.
func (f *Ring) Limits(set *slots.Opcodes) (map[string]megakernel.QueueOptions, error) {
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
func setBound(o *megakernel.QueueOptions, bound string, set *slots.Opcodes) (err error) {
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
			id, err := set.Lookup(op)
			if err != nil {
				return err
			}
			o.Opcodes |= uint64(kernel.NewOpcodeSet(id))
		}
		return nil
	}
	return fmt.Errorf("%q is no bound; there are pending, rate, burst and opcodes", bound)
}

// Check refuses a heap that no ring can have, before anything is opened.
func (f *Ring) Check() error {
	if most := 1 << 16; f.Windows < 1 || f.Windows > most {
		return fmt.Errorf("--windows %d: want 1 to %d", f.Windows, most)
	}
	if f.WindowWords < 1 {
		return fmt.Errorf("--window-words 0: want at least 1")
	}
	return nil
}

// Fits refuses a heap that a device cannot have.
func (f *Ring) Fits(device gpu.Device) error {
	bytes, limit := int64(f.Windows)*int64(f.WindowWords)*ring.WordBytes, device.StorageBlockLimit()
	if bytes > limit || int64(f.Windows)*int64(f.WindowWords) >= 1<<32 {
		return fmt.Errorf("--windows %d of --window-words %d take %d bytes, the device's storage blocks end at %d: at most %d windows of that size, or %d words for so many",
			f.Windows, f.WindowWords, bytes, limit, limit/ring.WordBytes/int64(f.WindowWords), limit/ring.WordBytes/int64(f.Windows))
	}
	ring := worker.EngineConfig{Windows: f.Windows, WindowWords: f.WindowWords}
	return ring.Validate()
}

// Memory bounds device memory: auto, none or a number of bytes. Its zero value is none.
type Memory struct{ worker.MemoryBudget }

// UnmarshalText reads a flag.
func (f *Memory) UnmarshalText(word []byte) (err error) {
	*f = Memory{}
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
