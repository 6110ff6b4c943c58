package harness

import (
	"errors"
	"fmt"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/memory"
	"ringmaster/ring"
)

// ErrLoad says that slots cannot be drained on a [Harness]: they fault, or one
// launch does not finish them.
var ErrLoad = errors.New("slots cannot be drained over and over")

// ErrDevice says that a launch did not run every slot, and does not say why.
var ErrDevice = errors.New("device memory is inconsistent")

// mostDispatches is the most dispatches a launch of a harness is cut into.
const mostDispatches = 16

// Config sizes a harness.
type Config struct {
	Catalog     *kernel.Catalog // nil: the built-in opcodes
	Slots       int             // most slots of a load, 1 to ring.MaxPages*ring.PageSlots
	WindowWords int             // words of the window, at least 1
	Lead        int             // untimed drains right before each timed one, so that a GPU is at its full clock
}

// Harness measures geometries: it keeps slots resident on a device and
// drains them again and again by the ring's own kernels, without the time it
// takes to submit them. Status words are set back between launches, outside
// what is timed; the window's contents are not. Close frees it. A harness is used by
// one goroutine at a time.
type Harness struct {
	dev      gpu.Device
	cfg      Config
	traits   gpu.Traits
	limits   kernel.Limits // of traits
	memory   *memory.Ring
	pristine gpu.Buffer // a buffer of the status words before a launch
	zeros    gpu.Buffer // a buffer of empty control blocks
	queries  [2]gpu.Query
	programs map[uint32]*Chain // interpreters, by width
	control  []ring.Control

	slots   int // of the load
	pages   int
	steps   uint32
	opcodes kernel.OpcodeSet
	depth   int      // pages of a dispatch the schedules on the device are for; 0: none
	entries []uint32 // of each dispatch
}

// Report is what a launch of a harness took.
type Report struct {
	Ns         uint64         // from the begin of the first dispatch to the end of the last
	WallNs     uint64         // from the first command until the host saw the end
	TimeSource gpu.TimeSource // clock of Ns
	Dispatches int
}

// New makes a harness without a load. An error leaves nothing behind.
func New(dev gpu.Device, cfg Config) (*Harness, error) {
	if cfg.Catalog == nil {
		cfg.Catalog = kernel.BuiltIn()
	}
	if cfg.Slots < 1 || cfg.Slots > ring.MaxPages*ring.PageSlots || cfg.WindowWords < 1 {
		return nil, fmt.Errorf("harness: %d slots and a window of %d words, want at least 1 of each", cfg.Slots, cfg.WindowWords)
	}
	s := &Harness{dev: dev, cfg: cfg, traits: gpu.TraitsOf(dev), programs: make(map[uint32]*Chain), control: make([]ring.Control, 1)}
	s.limits = kernel.LimitsOf(&s.traits)
	pages := (cfg.Slots + ring.PageSlots - 1) / ring.PageSlots
	err := dev.Do(func() (err error) {
		if s.memory, err = memory.New(dev, &s.traits, pages, cfg.WindowWords, memory.PrintRecords, mostDispatches); err != nil {
			return err
		}
		if s.pristine, err = dev.NewBuffer(pages * ring.PageSlots * ring.WordBytes); err == nil {
			s.zeros, err = dev.NewBuffer(mostDispatches * memory.ControlStride)
		}
		if err == nil && s.traits.Timestamps && !s.memory.Direct {
			s.queries = [2]gpu.Query{dev.NewQuery(), dev.NewQuery()}
		}
		dev.Finish() // the zeros of new buffers are there before they are written over
		if err == nil {
			err = dev.Check()
		}
		if err != nil {
			s.delete()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("harness of %d slots: %w", cfg.Slots, err)
	}
	return s, nil
}

// Close frees what the harness has on the device.
func (s *Harness) Close() error {
	return s.dev.Do(func() error {
		s.delete()
		return s.dev.Check()
	})
}

func (s *Harness) delete() {
	for _, b := range [...]gpu.Buffer{s.pristine, s.zeros} {
		if b.Buffer != 0 {
			s.dev.DeleteBuffer(b)
		}
	}
	for _, q := range s.queries {
		if q.Query != 0 {
			s.dev.DeleteQuery(q)
		}
	}
	for _, p := range s.programs {
		p.delete(s.dev)
	}
	if s.memory != nil {
		s.memory.Delete()
	}
}

// Load puts slots and the first words of the window on the device in place of
// what was there. It refuses slots that a launch would not finish.
func (s *Harness) Load(slots []ring.Slot, window []uint32) error {
	if len(slots) < 1 || len(slots) > s.cfg.Slots || len(window) > s.cfg.WindowWords {
		return fmt.Errorf("harness: %d slots and %d words, room is for 1 to %d and %d: %w", len(slots), len(window), s.cfg.Slots, s.cfg.WindowWords, ErrLoad)
	}
	s.steps, s.opcodes = 0, 0
	for i := range slots {
		op := kernel.Opcode(slots[i].Opcode)
		if err := s.cfg.Catalog.CheckSlot(&slots[i]); err != nil {
			return fmt.Errorf("harness: slot %d: %w", i, err)
		}
		if !kernel.Once.Has(op) {
			return fmt.Errorf("harness: slot %d: %s: %w", i, s.cfg.Catalog.Name(op), ErrLoad)
		}
		s.steps = max(s.steps, s.cfg.Catalog.Steps(&slots[i]))
		s.opcodes |= 1 << op
	}
	if cost := s.cfg.Catalog.RowCost(kernel.Kernel{Kind: kernel.Interpreter}, s.opcodes, s.steps); cost >= kernel.DefaultLoopBudget {
		return fmt.Errorf("harness: the opcodes together take up to %d loop iterations a slot, a dispatch has %d: %w", cost, kernel.DefaultLoopBudget, ErrLoad)
	}
	own := make([]ring.Slot, len(slots)) // the caller's may lie beside Go pointers
	copy(own, slots)
	for i := range own {
		own[i].Tenant, own[i].Sequence = 0, uint32(i)
	}
	s.slots, s.pages, s.depth = len(slots), (len(slots)+ring.PageSlots-1)/ring.PageSlots, 0
	return s.dev.Do(func() error {
		memory.Write(s.memory, ring.BindSlots, 0, own)
		memory.Write(s.memory, ring.BindHeap, 0, append([]uint32(nil), window...))
		statuses := make([]ring.Status, s.pages*ring.PageSlots)
		for i := range own {
			statuses[i] = ring.NewStatus(ring.Published)
		}
		s.dev.WriteBuffer(s.pristine, 0, gpu.Bytes(statuses))
		s.dev.Finish()
		return s.dev.Check()
	})
}
