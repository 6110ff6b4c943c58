package ledger

import (
	"encoding/binary"
	"fmt"
	"sort"

	"ringmaster/ring"
)

// Run is slots that differ in nothing but their arguments. They are made when they are
// written to the device's memory: until then a run takes the memory of its words.
type Run struct {
	Opcode   uint32
	Priority uint32
	Count    int // at least 1
	Args     [ring.ArgWords]Arg
}

// Arg is an argument of a run: one word for all its slots, or a word for each.
type Arg struct {
	Value uint32 // of all slots, if Words is nil
	Words []byte // little-endian words, one a slot
}

// Slot makes the i-th slot of the run, but for tenant and sequence.
func (r *Run) Slot(i int, s *ring.Slot) {
	*s = ring.Slot{Opcode: r.Opcode, Priority: r.Priority}
	for a := range r.Args {
		arg := &r.Args[a]
		s.Args[a] = arg.Value
		if arg.Words != nil {
			s.Args[a] = binary.LittleEndian.Uint32(arg.Words[i*ring.WordBytes:])
		}
	}
}

// fill makes the slots from the from-th one on, of which sequence is the first one's number.
func (r *Run) fill(dst []ring.Slot, from int, tenant, sequence uint32) {
	same := ring.Slot{Opcode: r.Opcode, Priority: r.Priority, Tenant: tenant}
	for a := range r.Args {
		same.Args[a] = r.Args[a].Value
	}
	for i := range dst {
		same.Sequence = sequence + uint32(i)
		dst[i] = same
	}
	for a := range r.Args {
		if r.Args[a].Words == nil {
			continue
		}
		words := r.Args[a].Words[from*ring.WordBytes:][:len(dst)*ring.WordBytes]
		for i := range dst {
			dst[i].Args[a] = binary.LittleEndian.Uint32(words[i*ring.WordBytes:])
		}
	}
}

// check refuses a run that cannot be filled, or not in a batch of at most limit slots.
func (r *Run) check(limit int) error {
	if r.Count < 1 || r.Count > limit {
		return fmt.Errorf("%d slots, want 1..%d", r.Count, limit)
	}
	if r.Priority >= ring.Priorities {
		return fmt.Errorf("priority %d, want below %d", r.Priority, ring.Priorities)
	}
	for a := range r.Args {
		if words := r.Args[a].Words; words != nil && len(words) != r.Count*ring.WordBytes {
			return fmt.Errorf("argument %d has %d bytes for %d slots", a, len(words), r.Count)
		}
	}
	return nil
}

// Len is the number of slots of the batch.
func (b *Batch) Len() int {
	n := len(b.Slots)
	for i := range b.Runs {
		n += b.Runs[i].Count
	}
	return n
}

// index notes where each run ends.
func (b *Entry) index() {
	b.length = len(b.Slots)
	b.ends = make([]int, len(b.Runs))
	for i := range b.Runs {
		b.length += b.Runs[i].Count
		b.ends[i] = b.length
	}
}

// runAt is the run with a slot, which is none of those listed, and the run's first slot.
func (b *Entry) runAt(slot int) (run, first int) {
	run = sort.SearchInts(b.ends, slot+1)
	return run, b.ends[run] - b.Runs[run].Count
}

// segment is where the segment that begins at a slot ends, and how many of its slots have
// each priority.
func (b *Entry) segment(start int, fence uint32) (end int, count [ring.Priorities]int) {
	for end = start; end < len(b.Slots); {
		s := &b.Slots[end]
		count[s.Priority]++
		end++
		if s.Opcode == fence {
			return end, count
		}
	}
	for end < b.length {
		i, _ := b.runAt(end)
		run := &b.Runs[i]
		n := b.ends[i] - end
		if run.Opcode == fence {
			n = 1 // each of its slots ends a segment
		}
		count[run.Priority] += n
		end += n
		if run.Opcode == fence {
			break
		}
	}
	return end, count
}

// priority is that of a slot.
func (b *Entry) priority(slot int) uint32 {
	if slot < len(b.Slots) {
		return b.Slots[slot].Priority
	}
	i, _ := b.runAt(slot)
	return b.Runs[i].Priority
}

// slot is a slot with tenant and sequence, in the batch or made in scratch.
func (b *Entry) slot(i int, scratch *ring.Slot) *ring.Slot {
	s := scratch
	if i < len(b.Slots) {
		s = &b.Slots[i]
	} else {
		run, first := b.runAt(i)
		b.Runs[run].Slot(i-first, scratch)
	}
	s.Tenant, s.Sequence = b.queue.window.Tenant, b.result.Sequence+uint32(i)
	return s
}

// slots are those of from..from+n in the order of the batch, in the batch or, if some are
// of runs, in gather, which needs room for n.
func (b *Entry) slots(from, n int, gather []ring.Slot) []ring.Slot {
	tenant, sequence := b.queue.window.Tenant, b.result.Sequence
	listed := b.Slots[min(from, len(b.Slots)):min(from+n, len(b.Slots))]
	for i := range listed {
		listed[i].Tenant, listed[i].Sequence = tenant, sequence+uint32(from+i)
	}
	if len(listed) == n {
		return listed
	}
	out := gather[:n]
	for rest := out[copy(out, listed):]; len(rest) > 0; {
		at := from + n - len(rest)
		i, first := b.runAt(at)
		made := min(len(rest), b.ends[i]-at)
		b.Runs[i].fill(rest[:made], at-first, tenant, sequence+uint32(at))
		rest = rest[made:]
	}
	return out
}
