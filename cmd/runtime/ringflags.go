package main

import (
	"fmt"
	"strconv"
	"strings"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/ring"
	"ringmaster/telemetry"
)

// ringFlags size the ring's heap and bound what queues may do.
type ringFlags struct {
	Windows     int      `default:"64" help:"Windows of the heap. Each queue with work or data has one; when none is free, the least recently used idle one is reassigned."`
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
		if err != nil || n < 1 {
			return fmt.Errorf("%s: want a number of slots, at least 1", bound)
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
		if o.Rate, err = strconv.ParseFloat(value, 64); err != nil || !(o.Rate > 0) {
			return fmt.Errorf("%s: want more than 0 slots a second", bound)
		}
		return nil
	case "opcodes":
		for op := range strings.SplitSeq(value, "+") {
			id, found := set.lookup(op)
			if !found {
				return fmt.Errorf("there is no opcode %s; there are %s", op, set.names())
			}
			o.Opcodes |= uint64(megakernel.NewOpcodeSet(id))
		}
		return nil
	}
	return fmt.Errorf("%q is no bound; there are pending, rate, burst and opcodes", bound)
}

// check refuses a heap that no ring, or not this device, can have.
func (f *ringFlags) check(device gpu.Device) error {
	if most := 1 << 16; f.Windows < 1 || f.Windows > most {
		return fmt.Errorf("--windows %d: want 1 to %d", f.Windows, most)
	}
	if f.WindowWords < 1 {
		return fmt.Errorf("--window-words 0: want at least 1")
	}
	bytes, limit := int64(f.Windows)*int64(f.WindowWords)*ring.WordBytes, device.StorageBlockLimit()
	if bytes > limit || int64(f.Windows)*int64(f.WindowWords) >= 1<<32 {
		return fmt.Errorf("--windows %d of --window-words %d take %d bytes, the device's storage blocks end at %d: at most %d windows of that size, or %d words for so many",
			f.Windows, f.WindowWords, bytes, limit, limit/ring.WordBytes/int64(f.WindowWords), limit/ring.WordBytes/int64(f.Windows))
	}
	ring := worker.EngineConfig{Windows: f.Windows, WindowWords: f.WindowWords}
	return ring.Validate()
}
