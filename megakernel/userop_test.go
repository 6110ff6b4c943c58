//go:build cgo

package megakernel

import (
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/userop"
	"ringmaster/ring"
)

// testOpcodes is a catalog with the opcodes of testdata, whose references are
// below.
func testOpcodes(t *testing.T) *kernel.Catalog {
	t.Helper()
	for name, reference := range map[string]func(*userop.Slot){"mix": mixReference, "poke": pokeReference, "spin": spinReference} {
		userop.References[name] = reference
		t.Cleanup(func() { delete(userop.References, name) })
	}
	ops, err := userop.LoadDir(os.DirFS("testdata/opcodes"))
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := kernel.NewCatalog(ops)
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

const (
	opMix   = 40
	opSpin  = 41
	opWhirl = 42 // the same
	opNames = 43
	opPoke  = 63
)

func spinReference(s *userop.Slot) {
	n := uint32(0)
	for i := uint32(0); i < s.Args[0] && s.Step(); i++ {
		n += i ^ n>>3
	}
	s.Result(n)
}

func mixReference(s *userop.Slot) {
	base, a, b, turns, inner, code := s.Args[0], s.Args[1], s.Args[2], s.Args[3], s.Args[4], s.Args[5]
	sum := uint32(0)
	for i := uint32(0); i < turns && s.Step(); i++ {
		if i == 5 {
			continue
		}
		for j := uint32(0); j < inner && s.Step(); j++ {
			if j == 6 {
				break
			}
			sum = sum*3 + s.Load(base+(i+j)&7) + i
		}
	}
	s.Store(base, sum)
	sum += s.AtomicAdd(base+1, a)
	sum += s.Update(base+2, func(old uint32) uint32 { return min(old, a) })
	sum += s.Update(base+3, func(old uint32) uint32 { return max(old, b) })
	sum += s.Update(base+4, func(old uint32) uint32 { return old & a })
	sum += s.Update(base+5, func(old uint32) uint32 { return old | b })
	sum += s.Update(base+6, func(old uint32) uint32 { return old ^ a })
	sum += s.Update(base+7, func(uint32) uint32 { return b })
	sum += s.Update(base+7, func(old uint32) uint32 {
		if old == b {
			return a
		}
		return old
	})
	left := b & 31
	for left > 0 && s.Step() {
		left--
		switch left & 3 {
		case 0:
			sum += a >> 3 & 31
		case 1:
			sum ^= uint32(bits.OnesCount32(b)) << 7
		default:
			other := b
			if left > 9 {
				other = a
			}
			sum += uint32(max(int32(a), -int32(b))) ^ other
		}
	}
	s.Result(sum + s.Sequence + uint32(len(s.Window)))
	if code != 0 {
		s.Fail(code)
	}
	s.Store(base+a&7, sum)
}

func pokeReference(s *userop.Slot) {
	a := &s.Args
	first, value := a[1], a[3]
	switch a[0] & 7 {
	case 0:
		s.Store(first, value)
	case 1:
		s.AtomicAdd(first, value)
	case 2:
		s.Update(first, func(old uint32) uint32 { return min(old, a[4]+a[5]) })
	case 3:
		s.Update(first, func(old uint32) uint32 { return max(old, a[6]^a[7]) })
	case 4:
		s.Update(first, func(old uint32) uint32 { return old | a[8]&a[9] })
	case 5:
		s.Update(first, func(uint32) uint32 { return a[10] | a[11] })
	case 6:
		s.Update(first, func(old uint32) uint32 {
			if old == value {
				return 1
			}
			return old
		})
	default:
		s.Result(s.Load(first))
	}
	s.Store(a[2], value)
}

// drainAll runs a batch to its end by launches of a kind, and counts those
// of which counted is true.
func drainAll(t *testing.T, e *Engine, order Order, slots []ring.Slot, counted func(*Report) bool) (BatchResult, int) {
	t.Helper()
	if err := e.Submit(order.Queue, Batch{ID: "b", Slots: slices.Clone(slots), WantResults: true}); err != nil {
		t.Fatal(err)
	}
	order.Geometry.Width, order.Geometry.Groups, order.Geometry.Chunk = 64, 4, 128
	n := 0
	for range 10_000 {
		order.Launch++
		report, err := e.Launch(order)
		if err != nil {
			t.Fatal(err)
		}
		if counted(&report) {
			n++
		}
		if len(report.Finished) > 0 {
			return report.Finished[0], n
		}
	}
	t.Fatal("10,000 launches did not finish the batch")
	return BatchResult{}, n
}

func anyLaunch(*Report) bool { return true }

// faultsOf are the faults of a batch by slot.
func faultsOf(r *BatchResult, n int) []ring.FaultCode {
	codes := make([]ring.FaultCode, n)
	for _, f := range r.Faults {
		codes[f.Index] = f.Code
	}
	return codes
}

func TestOperatorsOpcodesDoOnTheDeviceWhatTheirReferencesDo(t *testing.T) {
	catalog := testOpcodes(t)
	for name, c := range map[string]struct {
		order   Order
		counted func(*Report) bool
	}{
		"interpreter": {Order{}, func(r *Report) bool { return r.Kernel.Kind == kernel.Interpreter }},
		"fused":       {Order{Fuse: true, Geometry: policy.Geometry{Depth: 24}}, func(r *Report) bool { return r.Kernel.Kind == kernel.Fused && r.Kernel.Hot.Has(opMix) }},
		"lease":       {Order{Mode: ModeLease, Geometry: policy.Geometry{Depth: 200}}, func(r *Report) bool { return r.Leased }},
	} {
		t.Run(name, func(t *testing.T) {
			c.order.Queue = "q"
			doWhatTheirReferencesDo(t, catalog, c.order, c.counted)
		})
	}
}

func doWhatTheirReferencesDo(t *testing.T, catalog *kernel.Catalog, order Order, counted func(*Report) bool) {
	const regions = 2048
	e := newEngine(t, openDevice(t), func(c *Config) {
		c.Catalog, c.WindowWords, c.MaxQueues, c.Lease = catalog, 8*regions, 2, order.Mode == ModeLease
	})
	rng := rand.New(rand.NewPCG(1, 2))
	window := make([]uint32, 8*regions)
	for i := range window {
		window[i] = rng.Uint32()
	}
	if err := e.Write("q", 0, window); err != nil {
		t.Fatal(err)
	}
	slots := make([]ring.Slot, regions)
	for i := range slots {
		s := &slots[i]
		s.Opcode, s.Priority = opMix, ring.PriorityNormal
		s.Args = [ring.ArgWords]uint32{8 * uint32(i), rng.Uint32(), rng.Uint32(), rng.Uint32N(12), rng.Uint32N(9)}
		switch i % 16 {
		case 3: // one step too many, in one loop or in both
			s.Args[3], s.Args[4] = 601-1000*rng.Uint32N(2), 0
		case 4:
			s.Args[3], s.Args[4] = 300, 5
		case 5:
			s.Args[5] = 1 + rng.Uint32N(ring.UserFaults+2)
		case 6: // leaves the window at some access; no other slot has this place
			if i > regions-32 {
				s.Args[0] = 8*regions - 4
				s.Args[0] += 8 * (rng.Uint32() >> 3)
			}
		}
	}
	slots[regions-1].Opcode = uint32(kernel.OpNop) // the window's last words belong to slots that leave it
	result, launches := drainAll(t, e, order, slots, counted)
	if launches == 0 {
		t.Error("no launch ran on the kernel that this is about")
	}
	codes := faultsOf(&result, len(slots))
	counts := map[ring.FaultCode]int{}
	for i := range slots {
		s := slots[i]
		s.Sequence = uint32(i)
		fault, word, ok := catalog.Execute(&s, window)
		if !ok || fault != codes[i] || fault == ring.FaultNone && word != result.Results[i] {
			t.Errorf("slot %d %v: %q with result %d, the reference %q with %d", i, s.Args[:6], codes[i], result.Results[i], fault, word)
		}
		counts[min(fault, ring.FaultUser)]++
	}
	got := make([]uint32, len(window))
	if err := e.Read("q", 0, got); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i] != window[i] {
			t.Fatalf("word %d is %d, the reference leaves %d", i, got[i], window[i])
		}
	}
	for _, code := range []ring.FaultCode{ring.FaultNone, ring.FaultTooManySteps, ring.FaultUser} {
		if counts[code] == 0 {
			t.Errorf("no slot ended in %q: %v", code, counts)
		}
	}
}

func TestHostileSlotsOfOperatorsOpcodesStayInTheirWindow(t *testing.T) {
	catalog := testOpcodes(t)
	const words, slotCount = 512, 100_000
	e := newEngine(t, openDevice(t), func(c *Config) {
		c.Catalog, c.WindowWords, c.MaxQueues, c.MaxBatchSlots = catalog, words, 3, slotCount
		c.HeapWords = 3 * words
	})
	guard := make([]uint32, words)
	for i := range guard {
		guard[i] = 0xA5A5A5A5 ^ uint32(i)
	}
	for _, queue := range []string{"low", "victim", "high"} { // in this order in the heap
		if err := e.Write(queue, 0, guard); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	address := func() uint32 {
		switch rng.Uint32N(4) {
		case 0:
			return rng.Uint32()
		case 1:
			return words - 2 + rng.Uint32N(4)
		case 2:
			return -rng.Uint32N(2 * words)
		}
		return rng.Uint32N(words)
	}
	slots := make([]ring.Slot, slotCount)
	for i := range slots {
		slots[i].Opcode, slots[i].Priority = opPoke, ring.PriorityNormal
		for a := range slots[i].Args {
			slots[i].Args[a] = rng.Uint32()
		}
		slots[i].Args[1], slots[i].Args[2] = address(), address()
	}
	result, _ := drainAll(t, e, Order{Queue: "victim"}, slots, anyLaunch)
	codes := faultsOf(&result, len(slots))
	window := slices.Clone(guard)
	for i := range slots {
		if fault, _, _ := catalog.Execute(&slots[i], window); fault != codes[i] {
			t.Fatalf("slot %d %v ended in %q, on the host in %q", i, slots[i].Args[:3], codes[i], fault)
		}
	}
	if result.Executed == 0 || result.Faulted == 0 {
		t.Errorf("%d executed, %d faulted", result.Executed, result.Faulted)
	}
	for _, queue := range []string{"low", "high"} {
		got := make([]uint32, words)
		if err := e.Read(queue, 0, got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, guard) {
			t.Errorf("the window of %s changed", queue)
		}
	}
}

func TestOperatorsOpcodesCompileInEveryKindOfKernel(t *testing.T) {
	catalog := testOpcodes(t)
	dev := openDevice(t)
	fused, ok := kernel.FusedKernel(policy.Geometry{Width: 64, Groups: 1, Chunk: 128}, kernel.NewOpcodeSet(kernel.OpAdd, opMix, opSpin, opNames))
	if !ok {
		t.Fatal("no fused kernel")
	}
	for _, kernel := range []kernel.Kernel{{Kind: kernel.Interpreter, Width: 64}, fused, {Kind: kernel.Lease, Width: 64}} {
		err := dev.Do(func() error {
			program, err := dev.CompileCompute(catalog.Source(kernel))
			dev.DeleteProgram(program)
			return err
		})
		if err != nil {
			t.Errorf("%v: %v", kernel, err)
		}
	}
}

// Invocations of a vector run in step on software renderers, and some of these
// end loops silently after about 65,535 turns of a vector.
func TestALoopThatTheDriverCutsShortIsAFault(t *testing.T) {
	catalog := testOpcodes(t)
	// A budget that the device does not have, or such a batch is refused.
	e := newEngine(t, openDevice(t), func(c *Config) { c.Catalog, c.MaxQueues, c.LoopBudget = catalog, 1, 1<<17 })
	slots := make([]ring.Slot, 64)
	for i := range slots {
		slots[i] = ring.Slot{Opcode: opSpin + uint32(i%2), Priority: ring.PriorityNormal, Args: [ring.ArgWords]uint32{32768}}
	}
	result, _ := drainAll(t, e, Order{Queue: "q"}, slots, anyLaunch)
	codes := faultsOf(&result, len(slots))
	_, want, _ := catalog.Execute(&slots[0], nil)
	for i, code := range codes {
		if code != ring.FaultTooManySteps && (code != ring.FaultNone || result.Results[i] != want) {
			t.Errorf("slot %d ended in %q with result %d, want %d or a fault", i, code, result.Results[i], want)
		}
	}
	t.Logf("%d of %d slots were cut short", result.Faulted, len(slots))
}
