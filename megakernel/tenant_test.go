//go:build cgo

package megakernel

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernel/kerneltest"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

func nops(n int, priority uint32) []ring.Slot {
	return slices.Repeat([]ring.Slot{slot(kernel.OpNop, priority)}, n)
}

func TestSlotThatHoldsTooMuchIsRefusedAtSubmit(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	full := slot(kernel.OpPacked, 0, ^uint32(0), ^uint32(0))
	if err := e.Submit("q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpNop, 0), full}}); !errors.Is(err, ErrBatch) || !errors.Is(err, kernel.ErrSlot) {
		t.Errorf("error %v", err)
	}
	if e.Pending("q") != 0 {
		t.Errorf("%d slots pending", e.Pending("q"))
	}
}

// TestHostileSlotsStayInTheirWindow runs 100,000 slots of random words, between
// two windows of guard words. Every slot ends, and nothing outside changes.
func TestHostileSlotsStayInTheirWindow(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.MaxQueues, c.WindowWords = 3, 512 })
	guard := make([]uint32, 512)
	for i := range guard {
		guard[i] = 0xC0DE0000 + uint32(i)
	}
	for _, q := range []string{"below", "q", "above"} {
		if err := e.Write(q, 0, guard); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	edges := []uint32{0, 1, 511, 512, 513, 1 << 16, 1<<31 - 1, 1 << 31, ^uint32(0) - 511, ^uint32(0)}
	const n, each = 100_000, 10_000
	refused, accepted := 0, 0
	for range n / each {
		b := Batch{ID: "b"}
		for range each {
			s := ring.Slot{Opcode: r.Uint32N(20), Tenant: r.Uint32(), Priority: r.Uint32N(ring.Priorities), Sequence: r.Uint32()}
			if r.IntN(10) == 0 {
				s.Opcode = r.Uint32()
			}
			for i := range s.Args {
				if s.Args[i] = r.Uint32(); r.IntN(2) == 0 {
					s.Args[i] = edges[r.IntN(len(edges))]
				}
			}
			if kernel.BuiltIn().Has(kernel.Opcode(s.Opcode)) && kernel.Opcode(s.Opcode) == kernel.OpPacked && kernel.BuiltIn().CheckSlot(&s) != nil {
				if err := e.Submit("q", Batch{Slots: []ring.Slot{s}}); err == nil {
					t.Fatalf("slot %v was taken", s)
				}
				refused++
				continue
			}
			b.Slots = append(b.Slots, s)
		}
		accepted += len(b.Slots)
		submit(t, e, "q", b)
	}
	var ended uint32
	for launches := 0; e.Pending("q") > 0; launches++ {
		if launches > 100_000 {
			t.Fatalf("%d slots never end", e.Pending("q"))
		}
		report := launch(t, e, Order{Queue: "q", Geometry: policy.Geometry{Width: 256, Groups: 8, Chunk: 1024}})
		ended += report.Executed + report.Faulted
	}
	if int(ended) != accepted || refused == 0 {
		t.Errorf("%d slots ended of %d, %d refused", ended, accepted, refused)
	}
	for _, q := range []string{"below", "above"} {
		got := make([]uint32, 512)
		if err := e.Read(q, 0, got); err != nil || !slices.Equal(got, guard) {
			t.Errorf("window %q changed, error %v", q, err)
		}
	}
}

func TestAMaskLooksIntoPackedSlots(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	if err := e.Configure("q", QueueOptions{Opcodes: uint64(kernel.NewOpcodeSet(kernel.OpPacked, kernel.OpNop, kernel.OpLoad))}); err != nil {
		t.Fatal(err)
	}
	packed := func(parts ...kerneltest.Part) []ring.Slot {
		args, ok := kerneltest.Pack(parts...)
		if !ok {
			t.Fatal("the parts do not fit a slot")
		}
		return []ring.Slot{{Opcode: uint32(kernel.OpPacked), Args: args}}
	}
	if err := e.Submit("q", Batch{ID: "b", Slots: packed(kerneltest.Part{Opcode: uint32(kernel.OpNop)}, kerneltest.Part{Opcode: uint32(kernel.OpStore), Args: []uint32{1, 2}})}); !errors.Is(err, ErrForbidden) {
		t.Errorf("a packed store: %v", err)
	}
	submit(t, e, "q", Batch{ID: "b", Slots: packed(kerneltest.Part{Opcode: uint32(kernel.OpNop)}, kerneltest.Part{Opcode: uint32(kernel.OpLoad), Args: []uint32{2}})})
}
