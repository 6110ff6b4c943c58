package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ringmaster/cmd/runtime/text"
	"ringmaster/ring"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// wait collects the done records of a group's batches and prints what they say, with
// the results in the order of the slots.
func (s *submission) wait(ctx context.Context, g *slotGroup, order []string, batches map[string][]ring.Slot) error {
	outcomes := make(map[string]*telemetry.Done)
	err := s.outcomes.Wait(ctx, order, func(d *telemetry.Done) error {
		if d.WorkSentNs != s.sentNs[d.Batch] {
			return fmt.Errorf("batch %s was submitted before and will not run again; give this one another --batch", d.Batch)
		}
		outcomes[d.Batch] = d
		s.show(g, d, batches[d.Batch])
		return nil
	}, func(r *telemetry.Rejected) {
		fmt.Fprintf(s.std.err, "refused work of this queue, perhaps another's (%s): %s\n", plain(r.Reason), plain(r.Detail))
	})
	switch {
	case errors.Is(err, natsio.ErrRefused):
		return errors.New(plain(err.Error()))
	case err != nil && ctx.Err() != nil:
		first := slices.IndexFunc(order, func(id string) bool { return outcomes[id] == nil })
		return s.overdue(ctx, order[first])
	case err != nil:
		return err
	}
	if !s.cmd.Results {
		return nil
	}
	all := download{format: "u32"}
	var results []uint32
	for _, id := range order {
		results = append(results, outcomes[id].Results...)
	}
	return all.print(s.std.out, results)
}

// show prints what became of a batch.
func (s *submission) show(g *slotGroup, d *telemetry.Done, slots []ring.Slot) {
	took := ""
	if d.WorkSentNs > 0 {
		took = fmt.Sprintf(" after %v", time.Since(time.Unix(0, d.WorkSentNs)).Round(10*time.Microsecond))
	}
	fmt.Fprintf(s.std.err, "batch %s: %d slots of %s: %d executed, %d faulted, %d dropped%s\n",
		d.Batch, len(slots), g.opcode, d.Executed, d.Faulted, d.Dropped, took)
	for _, f := range d.Faults {
		if int(f.Index) < len(slots) {
			fmt.Fprintf(s.std.err, "fault: slot %d, arguments %v: %s\n", f.Index, slots[f.Index].Args, ring.FaultCode(f.Code))
		}
	}
	if more := int(d.Faulted) - len(d.Faults); more > 0 {
		fmt.Fprintf(s.std.err, "and %d faults more\n", more)
	}
	for print := range slices.Chunk(d.Prints, telemetry.PrintWords) {
		fmt.Fprintf(s.std.err, "print: slot %d: %d\n", print[0], print[1:])
	}
	if more := int(d.Printed) - len(d.Prints)/telemetry.PrintWords; more > 0 {
		fmt.Fprintf(s.std.err, "and %d prints more\n", more)
	}
	if d.Dropped > 0 {
		fmt.Fprintf(s.std.err, "dropped: %s%s\n", plain(d.Error), s.lostData(d.Error))
	}
	if n := uint64(d.Executed) + uint64(d.Faulted) + uint64(d.Dropped); n != uint64(len(slots)) {
		fmt.Fprintf(s.std.err, "batch %s: the worker speaks of %d slots, %d were sent: do not trust it\n", text.Plain(d.Batch), n, len(slots))
		s.failed = true
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
