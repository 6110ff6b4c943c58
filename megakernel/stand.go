package megakernel

import (
	"errors"
	"fmt"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// ErrStand says that slots cannot be drained on a [Stand]: they fault, or one
// launch does not finish them.
var ErrStand = errors.New("slots cannot be drained over and over")

// standWaves is the most dispatches a launch of a stand is cut into.
const standWaves = 16

// StandConfig sizes a stand.
type StandConfig struct {
	Catalog     *kernel.Catalog // nil: the built-in opcodes
	Slots       int             // most slots of a load, 1 to ring.MaxPages*ring.PageSlots
	WindowWords int             // words of the window, at least 1
	LoopBudget  uint32          // 0: DefaultLoopBudget
	Lead        int             // untimed drains right before each timed one, so that a GPU is at its full clock
}

// Stand is a test stand for geometries: it keeps slots resident on a device and
// drains them again and again by the ring's own kernels, without the time it
// takes to submit them. Status words are set back between launches, outside
// what is timed; the window's contents are not. Close frees it. A stand is used by
// one goroutine at a time.
type Stand struct {
	dev      gpu.Device
	cfg      StandConfig
	traits   gpu.Traits
	limits   kernel.Limits // of traits
	memory   *memory
	pristine gpu.Buffer // a buffer of the status words before a launch
	zeros    gpu.Buffer // a buffer of empty control blocks
	queries  [2]gpu.Query
	programs map[uint32]*StandProgram // interpreters, by width
	control  []ring.Control

	slots   int // of the load
	pages   int
	steps   uint32
	opcodes kernel.OpcodeSet
	depth   int      // pages of a dispatch the schedules on the device are for; 0: none
	entries []uint32 // of each dispatch
}

// StandReport is what a launch of a stand took.
type StandReport struct {
	Ns         uint64     // from the begin of the first dispatch to the end of the last
	WallNs     uint64     // from the first command until the host saw the end
	TimeSource TimeSource // clock of Ns
	Dispatches int
}

// NewStand makes a stand without a load. An error leaves nothing behind.
func NewStand(dev gpu.Device, cfg StandConfig) (*Stand, error) {
	if cfg.Catalog == nil {
		cfg.Catalog = kernel.BuiltIn()
	}
	if cfg.LoopBudget == 0 {
		cfg.LoopBudget = kernel.DefaultLoopBudget
	}
	if cfg.Slots < 1 || cfg.Slots > ring.MaxPages*ring.PageSlots || cfg.WindowWords < 1 {
		return nil, fmt.Errorf("stand: %d slots and a window of %d words, want at least 1 of each", cfg.Slots, cfg.WindowWords)
	}
	s := &Stand{dev: dev, cfg: cfg, traits: gpu.TraitsOf(dev), programs: make(map[uint32]*StandProgram), control: make([]ring.Control, 1)}
	s.limits = kernel.LimitsOf(&s.traits)
	pages := (cfg.Slots + ring.PageSlots - 1) / ring.PageSlots
	err := dev.Do(func() (err error) {
		if s.memory, err = newMemory(dev, &s.traits, pages, cfg.WindowWords, PrintRecords, standWaves); err != nil {
			return err
		}
		if s.pristine, err = dev.NewBuffer(pages * ring.PageSlots * ring.WordBytes); err == nil {
			s.zeros, err = dev.NewBuffer(standWaves * controlStride)
		}
		if err == nil && s.traits.Timestamps && !s.memory.direct {
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
		return nil, fmt.Errorf("stand of %d slots: %w", cfg.Slots, err)
	}
	return s, nil
}

// Close frees what the stand has on the device.
func (s *Stand) Close() error {
	return s.dev.Do(func() error {
		s.delete()
		return s.dev.Check()
	})
}

func (s *Stand) delete() {
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
		s.memory.delete()
	}
}

// Load puts slots and the first words of the window on the device in place of
// what was there. It refuses slots that a launch would not finish.
func (s *Stand) Load(slots []ring.Slot, window []uint32) error {
	if len(slots) < 1 || len(slots) > s.cfg.Slots || len(window) > s.cfg.WindowWords {
		return fmt.Errorf("stand: %d slots and %d words, room is for 1 to %d and %d: %w", len(slots), len(window), s.cfg.Slots, s.cfg.WindowWords, ErrStand)
	}
	s.steps, s.opcodes = 0, 0
	for i := range slots {
		op := kernel.Opcode(slots[i].Opcode)
		if err := s.cfg.Catalog.CheckSlot(&slots[i]); err != nil {
			return fmt.Errorf("stand: slot %d: %w", i, err)
		}
		if !kernel.Once.Has(op) {
			return fmt.Errorf("stand: slot %d: %s: %w", i, s.cfg.Catalog.Name(op), ErrStand)
		}
		s.steps = max(s.steps, s.cfg.Catalog.Steps(&slots[i]))
		s.opcodes |= 1 << op
	}
	if cost := s.cfg.Catalog.RowCost(kernel.Kernel{Kind: kernel.Interpreter}, s.opcodes, s.steps); cost >= s.cfg.LoopBudget {
		return fmt.Errorf("stand: the opcodes together take up to %d loop iterations a slot, a dispatch has %d: %w", cost, s.cfg.LoopBudget, ErrStand)
	}
	own := make([]ring.Slot, len(slots)) // the caller's may lie beside Go pointers
	copy(own, slots)
	for i := range own {
		own[i].Tenant, own[i].Sequence = 0, uint32(i)
	}
	s.slots, s.pages, s.depth = len(slots), (len(slots)+ring.PageSlots-1)/ring.PageSlots, 0
	return s.dev.Do(func() error {
		write(s.memory, ring.BindSlots, 0, own)
		write(s.memory, ring.BindHeap, 0, append([]uint32(nil), window...))
		statuses := make([]ring.Status, s.pages*ring.PageSlots)
		for i := range own {
			statuses[i] = ring.NewStatus(ring.Published)
		}
		s.dev.WriteBuffer(s.pristine, 0, gpu.Bytes(statuses))
		s.dev.Finish()
		return s.dev.Check()
	})
}
