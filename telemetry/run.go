package telemetry

import (
	"encoding/binary"
	"fmt"
)

// Run is slots that differ in nothing but their arguments. What a Go slice, a typed
// array or a numpy array of words has in memory is what the wire carries of an argument.
type Run struct {
	Opcode   uint32
	Priority uint32 // 0 critical, 1 high, 2 normal, 3 low, 4 idle
	Count    uint32 // slots, 1..MaxBatchSlots
	Args     [MaxSlotArgs]Arg
	NArgs    int // arguments given; the rest are zero
}

// Arg is an argument of a run: one word for all its slots, or a word for each.
type Arg struct {
	Value uint32 // of all slots, if Words is nil
	Words []byte // little-endian words, one a slot
}

// Words makes an argument of one word for each slot.
func Words(words []uint32) Arg {
	b := make([]byte, len(words)*wordBytes)
	for i, w := range words {
		binary.LittleEndian.PutUint32(b[i*wordBytes:], w)
	}
	return Arg{Words: b}
}

// At is the argument of the i-th slot of the run.
func (a *Arg) At(i int) uint32 {
	if a.Words == nil {
		return a.Value
	}
	return binary.LittleEndian.Uint32(a.Words[i*wordBytes:])
}

// validate is for senders: the decoder has refused all of this.
func (r *Run) validate() error {
	if r.Count < 1 || r.Count > MaxBatchSlots || r.Priority > MaxPriority || r.NArgs < 0 || r.NArgs > MaxSlotArgs {
		return fmt.Errorf("%d slots of priority %d with %d arguments, want 1..%d, 0..%d, 0..%d",
			r.Count, r.Priority, r.NArgs, MaxBatchSlots, MaxPriority, MaxSlotArgs)
	}
	for i := range r.Args[:r.NArgs] {
		if n := len(r.Args[i].Words); r.Args[i].Words != nil && n != int(r.Count)*wordBytes {
			return fmt.Errorf("argument %d has %d bytes, want %d: %d words of 4", i, n, int(r.Count)*wordBytes, r.Count)
		}
	}
	return nil
}

// decodeRuns reads runs and ends at the one that makes more slots than a batch may have.
func decodeRuns(d *Decoder, runs *[]Run, n int) refusal {
	*runs = resize(*runs, n)
	left := uint64(MaxBatchSlots)
	for i := range *runs {
		run := &(*runs)[i]
		if code := decodeRun(d, run, left); code != accepted {
			return code
		}
		left -= uint64(run.Count)
	}
	return accepted
}

// decodeRun reads [opcode, priority, count, arg0..arg11] of at most limit slots. An
// argument is an integer, or count little-endian words, which stay where they are. Like
// a slot, a run is executed, so nothing in it is skipped.
func decodeRun(d *Decoder, run *Run, limit uint64) refusal {
	r := &d.r
	n, code := r.row(3)
	if code != accepted {
		return code
	}
	if n > 3+MaxSlotArgs {
		return d.refuseElement("a run of %d arguments, want at most %d", n-3, MaxSlotArgs)
	}
	*run = Run{NArgs: n - 3}
	var head [3]uint32
	if code := r.words(head[:]); code != accepted {
		return code
	}
	switch {
	case head[1] > MaxPriority:
		return d.refuseElement("a run of priority %d, want 0..%d", head[1], MaxPriority)
	case head[2] < 1 || uint64(head[2]) > limit:
		return d.refuseElement("a run of %d slots, want 1 to the %d that are left of a batch's %d", head[2], limit, MaxBatchSlots)
	}
	run.Opcode, run.Priority, run.Count = head[0], head[1], head[2]
	for i := range run.Args[:run.NArgs] {
		if code := d.arg(&run.Args[i], int(run.Count)); code != accepted {
			return code
		}
	}
	return accepted
}

// arg reads an argument of a run of count slots.
func (d *Decoder) arg(a *Arg, count int) refusal {
	r := &d.r
	words, code := r.bin(maxU32)
	switch {
	case code == refuseType:
		v, code := r.ranged(0, maxU32)
		a.Value = uint32(v)
		return code
	case code == accepted && len(words) != count*wordBytes:
		return d.refuseElement("an argument of %d bytes for %d slots, want %d", len(words), count, count*wordBytes)
	}
	a.Words = words
	return code
}

func (e *encoder) run(r *Run) {
	n := min(max(r.NArgs, 0), MaxSlotArgs)
	_ = e.EncodeArrayLen(3 + n)
	_ = e.EncodeUint(uint64(r.Opcode))
	_ = e.EncodeUint(uint64(r.Priority))
	_ = e.EncodeUint(uint64(r.Count))
	for i := range r.Args[:n] {
		if a := &r.Args[i]; a.Words == nil {
			_ = e.EncodeUint(uint64(a.Value))
		} else {
			_ = e.EncodeBytesLen(len(a.Words))
			_, _ = e.Write(a.Words)
		}
	}
}
