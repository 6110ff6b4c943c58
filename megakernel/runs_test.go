//go:build cgo

package megakernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// TestRunsLeaveWhatSlotsLeave runs the same work as slots and as runs, and compares the
// whole windows, the results and the faults.
func TestRunsLeaveWhatSlotsLeave(t *testing.T) {
	dev := openDevice(t)
	e := newEngine(t, dev, func(c *Config) { c.MaxQueues, c.WindowWords, c.HeapWords = 2, 4096, 8192 })
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 12 {
		slots := differentSlots(random)
		var windows [2][]uint32
		var results [2]BatchResult
		for i, b := range []Batch{{Slots: slots}, {Runs: runsOf(slots)}} {
			queue := fmt.Sprint("q", i)
			b.ID, b.WantResults, b.Slots = fmt.Sprint("b", round), true, slices.Clone(b.Slots)
			submit(t, e, queue, b)
			for turn := 0; e.Pending(queue) > 0; turn++ {
				r := launch(t, e, Order{Queue: queue, Geometry: testGeometryAt([]uint32{10, 256, 1000, 3}[turn%4])})
				for _, f := range r.Finished {
					results[i] = f
				}
			}
			windows[i] = make([]uint32, 4096)
			if err := e.Read(queue, 0, windows[i]); err != nil {
				t.Fatal(err)
			}
		}
		want, got := results[0], results[1]
		if want.Executed != got.Executed || want.Faulted != got.Faulted || int(got.Executed+got.Faulted) != len(slots) {
			t.Fatalf("round %d: %d slots, executed %d and %d, faulted %d and %d", round, len(slots), want.Executed, got.Executed, want.Faulted, got.Faulted)
		}
		if !slices.Equal(want.Results, got.Results) {
			t.Fatalf("round %d: results differ", round)
		}
		sortFaults(want.Faults)
		sortFaults(got.Faults)
		if !slices.Equal(want.Faults, got.Faults) {
			t.Fatalf("round %d: faults %v and %v", round, want.Faults, got.Faults)
		}
		if !slices.Equal(windows[0], windows[1]) {
			t.Fatalf("round %d: windows differ", round)
		}
	}
}

// A batch of many pages is shared out among goroutines, whatever the number of processors here.
// Each of its slots adds its number to a word of its own: one that is written to another's
// position, or twice, or not, leaves another word.
func TestPagesThatManyWriteHaveTheirOwnSlots(t *testing.T) {
	const slots = 10_000
	e := newEngine(t, openDevice(t), func(c *Config) { c.MaxQueues, c.WindowWords, c.HeapWords = 2, slots, 2*slots })
	e.hands = maxHands
	var addresses, numbers []byte
	var listed []ring.Slot
	want := make([]uint32, slots)
	for i := range uint32(slots) {
		want[i] = i + 1
		if i < 3000 {
			listed = append(listed, slot(kernel.OpAdd, ring.PriorityNormal, i+1, i))
			continue
		}
		addresses = binary.LittleEndian.AppendUint32(addresses, i)
		numbers = binary.LittleEndian.AppendUint32(numbers, i+1)
	}
	run := Run{Opcode: uint32(kernel.OpAdd), Priority: ring.PriorityNormal, Count: slots - len(listed)}
	run.Args[0].Words, run.Args[1].Words = numbers, addresses
	submit(t, e, "q", Batch{ID: "b", Slots: listed, Runs: []Run{run}})
	for e.Pending("q") > 0 {
		launch(t, e, Order{Queue: "q", Geometry: testGeometryAt(0)})
	}
	got := make([]uint32, slots)
	if err := e.Read("q", 0, got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Error("a slot did not run once as it was submitted")
	}
	for processors, hands := range map[int]int{1: 1, handProcessors - 1: 1, handProcessors: maxHands, 128: maxHands} {
		if got := handsOf(processors); got != hands {
			t.Errorf("%d hands with %d processors, want %d", got, processors, hands)
		}
	}
}

// differentSlots are slots of which no two write the same word, and which leave the same
// in any order: stores each to a word of its own, adds, loads of words that nobody writes,
// yields, fences, and faults.
func differentSlots(random *rand.Rand) (slots []ring.Slot) {
	next := uint32(0)
	for range 1 + random.IntN(6) {
		priority := random.Uint32N(ring.Priorities)
		op := []kernel.Opcode{kernel.OpStore, kernel.OpAdd, kernel.OpLoad, kernel.OpYield, kernel.OpFence, kernel.OpStore, 12}[random.IntN(7)]
		n := 1 + random.IntN(500)
		if op == kernel.OpFence {
			n = 1 + random.IntN(3)
		}
		for range n {
			switch op {
			case kernel.OpStore:
				slots = append(slots, slot(op, priority, random.Uint32(), next))
				next++ // up to 3,000; one in a while is outside
				if random.IntN(100) == 0 {
					slots = append(slots, slot(op, priority, 1, 4096))
				}
			case kernel.OpAdd:
				slots = append(slots, slot(op, priority, random.Uint32N(100), 4000))
			case kernel.OpLoad:
				slots = append(slots, slot(op, priority, 4050+random.Uint32N(50)))
			default:
				slots = append(slots, slot(op, priority, random.Uint32N(4)))
			}
		}
	}
	return slots
}

// runsOf are the same slots as runs with a word of each argument for each slot.
func runsOf(slots []ring.Slot) (runs []Run) {
	for i := range slots {
		s := &slots[i]
		if n := len(runs); n == 0 || runs[n-1].Opcode != s.Opcode || runs[n-1].Priority != s.Priority {
			runs = append(runs, Run{Opcode: s.Opcode, Priority: s.Priority})
		}
		run := &runs[len(runs)-1]
		run.Count++
		for a := range run.Args {
			run.Args[a].Words = binary.LittleEndian.AppendUint32(run.Args[a].Words, s.Args[a])
		}
	}
	return runs
}

func sortFaults(faults []SlotFault) {
	slices.SortFunc(faults, func(a, b SlotFault) int { return int(a.Index) - int(b.Index) })
}

func TestABatchOfRunsThatLieIsRefusedWhole(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	words := func(n int) (args [ring.ArgWords]Arg) {
		args[0].Words = make([]byte, n)
		return args
	}
	for name, runs := range map[string][]Run{
		"too few words of an opcode whose steps differ": {{Opcode: uint32(kernel.OpPacked), Count: 100, Args: words(8)}},
		"a count beyond any batch":                      {{Opcode: uint32(kernel.OpPacked), Count: 1 << 40}},
		"a priority there is not":                       {{Opcode: uint32(kernel.OpStore), Priority: 9, Count: 1}},
		"no slots":                                      {{Opcode: uint32(kernel.OpStore)}},
	} {
		if err := e.Submit("q", Batch{ID: "b", Runs: runs}); !errors.Is(err, ErrBatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := e.Pending("q"); n != 0 {
		t.Errorf("%d slots are pending", n)
	}
	submit(t, e, "q", Batch{ID: "b", Runs: []Run{{Opcode: uint32(kernel.OpNop), Count: 65536}}})
	if n := e.Pending("q"); n != 65536 {
		t.Errorf("%d slots are pending", n)
	}
}
