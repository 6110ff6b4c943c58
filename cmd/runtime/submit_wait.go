package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ringmaster/cmd/runtime/slots"
	"ringmaster/cmd/runtime/text"
	"ringmaster/ring"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// wait collects the done records of a group's batches and prints what they say, with
// the results in the order of the slots.
func (s *submission) wait(ctx context.Context, g *slots.Group, order []string, batches map[string][]ring.Slot) error {
	outcomes := make(map[string]*telemetry.Done)
	err := s.outcomes.Wait(ctx, order, func(d *telemetry.Done) error {
		before := d.WorkSentNs != s.sentNs[d.Batch]
		if n := len(batches[d.Batch]); before && int(d.Executed)+int(d.Faulted)+int(d.Dropped) != n {
			return fmt.Errorf("batch %s was submitted before with %d slots, and this one has %d: it does not run; give it another --batch", d.Batch, d.Executed+d.Faulted+d.Dropped, n)
		}
		if before {
			fmt.Fprintf(s.std.Err, "batch %s was submitted before and does not run again; this became of it:\n", d.Batch)
		}
		if err := impossible(d, len(batches[d.Batch]), s.cmd.Results); err != nil {
			return fmt.Errorf("batch %s: the worker's answer cannot be true, do not trust it: %w", d.Batch, err)
		}
		outcomes[d.Batch] = d
		s.show(g, d, batches[d.Batch])
		return nil
	}, func(r *telemetry.Rejected) {
		fmt.Fprintf(s.std.Err, "refused work of this queue, perhaps another's (%s): %s\n", text.Plain(r.Reason), text.Plain(r.Detail))
	})
	switch {
	case errors.Is(err, natsio.ErrRefused):
		return errors.New(text.Plain(err.Error()))
	case err != nil && ctx.Err() != nil:
		first := slices.IndexFunc(order, func(id string) bool { return outcomes[id] == nil })
		return s.overdue(ctx, order[first])
	case err != nil:
		return err
	}
	if !s.cmd.Results {
		return nil
	}
	all := slots.Download{Format: "u32"}
	var results []uint32
	for _, id := range order {
		if d := outcomes[id]; d.Executed > 0 && len(d.Results) == 0 {
			return fmt.Errorf("batch %s ran, but the worker no longer has its results", id)
		}
		results = append(results, outcomes[id].Results...)
	}
	return all.Print(s.std.Out, results)
}

// impossible says what a done record says that cannot be true of a batch of so many slots, or nil.
func impossible(d *telemetry.Done, slots int, results bool) error {
	beyond := func(index uint32) bool { return int(index) >= slots }
	if n := uint64(d.Executed) + uint64(d.Faulted) + uint64(d.Dropped); n != uint64(slots) {
		return fmt.Errorf("it speaks of %d slots, %d were sent", n, slots)
	}
	for _, f := range d.Faults {
		if beyond(f.Index) {
			return fmt.Errorf("slot %d is said to have faulted, %d were sent", f.Index, slots)
		}
	}
	for print := range slices.Chunk(d.Prints, telemetry.PrintWords) {
		if beyond(print[0]) {
			return fmt.Errorf("slot %d is said to have printed, %d were sent", print[0], slots)
		}
	}
	if n := len(d.Results); results && n > 0 && n != slots {
		return fmt.Errorf("it has %d results of %d slots", n, slots)
	}
	return nil
}

// show prints what became of a batch.
func (s *submission) show(g *slots.Group, d *telemetry.Done, slots []ring.Slot) {
	took := ""
	if d.WorkSentNs > 0 {
		took = fmt.Sprintf(" after %v", time.Since(time.Unix(0, d.WorkSentNs)).Round(10*time.Microsecond))
	}
	fmt.Fprintf(s.std.Err, "batch %s: %d slots of %s: %d executed, %d faulted, %d dropped%s\n",
		d.Batch, len(slots), g.Opcode, d.Executed, d.Faulted, d.Dropped, took)
	for _, f := range d.Faults {
		fmt.Fprintf(s.std.Err, "fault: slot %d, arguments %v: %s\n", f.Index, slots[f.Index].Args, ring.FaultCode(f.Code))
	}
	if more := int(d.Faulted) - len(d.Faults); more > 0 {
		fmt.Fprintf(s.std.Err, "and %d faults more\n", more)
	}
	for print := range slices.Chunk(d.Prints, telemetry.PrintWords) {
		fmt.Fprintf(s.std.Err, "print: slot %d: %d\n", print[0], print[1:])
	}
	if more := int(d.Printed) - len(d.Prints)/telemetry.PrintWords; more > 0 {
		fmt.Fprintf(s.std.Err, "and %d prints more\n", more)
	}
	if d.Dropped > 0 {
		fmt.Fprintf(s.std.Err, "dropped: %s%s\n", text.Plain(d.Error), s.lostData(d.Error))
	}
	s.failed = s.failed || d.Faulted > 0 || d.Dropped > 0
}

// lostData says what to do about work whose data is gone.
func (s *submission) lostData(reason string) string {
	if reason != "heap lost" || s.cmd.Epoch == 0 {
		return ""
	}
	return fmt.Sprintf(": the data of epoch %d is not in the queue's window; upload it again and name the epoch that is told then", s.cmd.Epoch)
}

// overdue says why a done record may be missing.
func (s *submission) overdue(ctx context.Context, id string) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("stopped; batch %s is with worker %s, `ringmaster cancel` withdraws it", id, s.cmd.Worker)
	}
	why := "the worker serves: `ringmaster watch` says whether it has a plan for the queue and why not, its log whether launches fail"
	if s.nobodyServes(ctx) {
		why = "nobody serves the worker any more; when it is back the batch runs"
	}
	return fmt.Errorf("no done record of batch %s within %v: %s; `ringmaster cancel --worker %s --queue %s %s` withdraws it",
		id, s.cmd.Timeout, why, s.cmd.Worker, s.cmd.Queue, id)
}
