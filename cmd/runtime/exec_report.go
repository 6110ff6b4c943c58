package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ringmaster/megakernel"
	"ringmaster/ring"
)

// shownFaults is how many faulted slots of a group are listed.
const shownFaults = 5

// summary says what ran, what slots printed, and which faulted and why.
func (j *job) summary(out io.Writer, renderer string) {
	var opcodes []string
	for i := range j.groups {
		opcodes = append(opcodes, fmt.Sprintf("%s ×%d", j.groups[i].opcode, len(j.groups[i].slots)))
	}
	launches := "1 launch"
	if j.launches != 1 {
		launches = fmt.Sprintf("%d launches", j.launches)
	}
	fmt.Fprintf(out, "%s: %s, %v on %s\n", strings.Join(opcodes, ", "), launches, time.Duration(j.nanos), renderer)
	if j.adjusted != "" {
		fmt.Fprintf(out, "geometry: %s\n", j.adjusted)
	}
	slices.SortFunc(j.prints, func(a, b megakernel.Print) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for _, p := range j.prints {
		fmt.Fprintf(out, "print: slot %d: %d\n", p.Sequence, p.Args)
	}
	if j.overwritten > 0 {
		fmt.Fprintf(out, "and %d prints more, of which the log keeps none\n", j.overwritten)
	}
	for i := range j.groups {
		g := &j.groups[i]
		slices.SortFunc(g.faults, func(a, b megakernel.SlotFault) int { return int(a.Index) - int(b.Index) })
		for n, f := range g.faults {
			if n == shownFaults {
				fmt.Fprintf(out, "and %d more slots of %s\n", len(g.faults)-n, g.opcode)
				break
			}
			fmt.Fprintf(out, "fault: slot %d of %s, arguments %v: %s\n", f.Index, g.opcode, g.slots[f.Index].Args, f.Code)
		}
	}
}

// print writes the results and downloads that were asked for.
func (j *job) print(out io.Writer) error {
	for i := range j.groups {
		if j.results {
			all := download{format: "u32"}
			if err := all.print(out, j.groups[i].results); err != nil {
				return err
			}
		}
	}
	for _, d := range j.downloads {
		if err := d.print(out, j.after[d.offset:d.offset+d.count]); err != nil {
			return err
		}
	}
	return nil
}

// shownWords is how many words that differ are listed.
const shownWords = 5

// verify runs the slots one after the other with their Go references, on the
// window as it was, and compares the result with what the device left. Where slots
// of one group write what others of it read, there is no single right outcome, and
// the comparison may fail.
func (j *job) verify(catalog *megakernel.Catalog) error {
	window := slices.Clone(j.before)
	var problems []string
	note := func(format string, args ...any) {
		if len(problems) < shownWords {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	sequence := uint32(0)
	for i := range j.groups {
		g := &j.groups[i]
		faults := make(map[uint32]ring.FaultCode)
		for _, f := range g.faults {
			faults[f.Index] = f.Code
		}
		for n := range g.slots {
			s := g.slots[n]
			s.Sequence = sequence
			sequence++
			fault, result, known := catalog.Execute(&s, window)
			switch {
			case !known:
				return fmt.Errorf("opcode %s has no Go reference to verify with; --verify needs one", g.opcode)
			case fault != faults[uint32(n)]:
				note("slot %d of %s ended in %q, the reference in %q", n, g.opcode, faults[uint32(n)], fault)
			case result != g.results[n]:
				note("slot %d of %s has result %d, the reference %d", n, g.opcode, g.results[n], result)
			}
		}
	}
	for at, want := range window {
		if got := j.after[at]; got != want {
			note("word %d is %d (0x%08x), the reference leaves %d (0x%08x)", at, got, got, want, want)
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("the device and the Go references differ:\n%s", strings.Join(problems, "\n"))
	}
	return nil
}
