package megakernel

import (
	"fmt"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/ring"
)

// submitWave uploads a wave's pages, dispatches it and puts a fence behind what
// it leaves. Called on the device's thread.
//
// Everything that the host reads of the wave is ahead of the fence, and what only the next
// wave needs is behind it: a wave's latency is the time to its fence.
func (x *executor) submitWave(f *flight) error {
	m, dev := x.memory, x.dev
	near := m.Near(len(f.wave.Pages)) && !x.watched.Load()
	m.BindWave(f.index, near)
	f.runs(func(first, n, _ int) {
		m.UploadStatuses(first*ring.PageSlots, x.ledger.Statuses(first, n), near)
	})
	if !near {
		x.uploadSlots(f)
	}
	clear(f.control)
	m.UploadSchedule(f.index, f.wave.Schedule, f.control, near)

	timed := x.traits.Timestamps && !m.Direct
	f.submitted = time.Now()
	p := f.program.Program
	p.SetUniforms(dev, &f.params)
	if timed {
		dev.Timestamp(x.query(f, 0))
	}
	dev.Dispatch(p.ID, f.geometry.Groups)
	dev.Barrier()
	if f.coldProgram.Program != nil {
		x.chain(f)
	}
	if timed {
		dev.Timestamp(x.query(f, 1))
	}
	if !near {
		f.runs(func(first, n, _ int) { m.ReturnWords(first, n, f.wave.Results) })
	}
	m.ReturnControl(f.index)
	f.fence = dev.InsertFence()
	dev.Flush()
	m.ClearControl(f.index, f.control)
	if err := dev.Check(); err != nil {
		x.abandonWave(f)
		return fmt.Errorf("dispatch: %w", err)
	}
	return nil
}

// abandonWave forgets a wave that was dispatched and cannot be waited for. It may still
// run, and would write to pages and a control block that the next wave gets, so the device
// is finished first. Called on the device's thread.
func (x *executor) abandonWave(f *flight) {
	x.dev.DeleteFence(f.fence)
	x.dev.Finish()
	x.memory.Forget(f.index)
}

// chain dispatches the interpreter on the cold list that a fused kernel leaves, with
// as many workgroups as that kernel said. Called on the device's thread.
func (x *executor) chain(f *flight) {
	m, p := x.memory, f.coldProgram.Program
	m.BindSchedule(f.index, true)
	p.SetUniforms(x.dev, &f.coldParams)
	control, _ := m.Place(ring.BindControl, f.index)
	x.dev.DispatchIndirect(p.ID, m.Buffers[ring.BindControl], control+ring.ColdDispatchOffset)
	x.dev.Barrier()
}

// query is one of a flight's two timestamp queries, made at its first use.
func (x *executor) query(f *flight, i int) gpu.Query {
	if f.queries[i].Query == 0 {
		f.queries[i] = x.dev.NewQuery()
	}
	return f.queries[i]
}

// uploadSlots sends the slots of a wave's pages that the device does not have.
func (x *executor) uploadSlots(f *flight) {
	pages := f.wave.Pages
	for i := 0; i < len(pages); {
		first := pages[i].Page()
		n := 0
		for i+n < len(pages) && pages[i+n].Page() == first+uint32(n) && !x.uploaded[first+uint32(n)] {
			x.uploaded[first+uint32(n)] = true
			n++
		}
		if n > 0 {
			x.memory.UploadSlots(int(first), n)
		}
		i += max(n, 1)
	}
}

// fetchWave takes the times of a wave whose fence is done, and reads what came
// back where it does not come by itself. Called on the device's thread.
func (x *executor) fetchWave(f *flight) error {
	dev := x.dev
	end := time.Now()
	dev.DeleteFence(f.fence)
	begin := f.submitted
	if x.lastEnd.After(begin) {
		begin = x.lastEnd // it waited behind another wave
	}
	device := uint64(0)
	if f.queries[0].Query != 0 {
		t0, ok0 := dev.QueryResult(f.queries[0])
		t1, ok1 := dev.QueryResult(f.queries[1])
		if ok0 && ok1 && t1 > t0 {
			device = t1 - t0
		}
	}
	f.report.ElapsedNs, f.report.TimeSource = gpu.Elapsed(device, uint64(end.Sub(begin)))
	x.lastEnd = end
	f.runs(func(first, n, _ int) { x.memory.Fetch(first, n, f.wave.Results) })
	x.memory.FetchControl(f.index, f.control)
	return dev.Check()
}

// submitAndSpin submits a wave and waits until it is done, inlineWait is over, or there is
// something else to do. Called on the device's thread.
func (x *executor) submitAndSpin(f *flight) error {
	if err := x.submitWave(f); err != nil {
		return err
	}
	// A driver that waits may sleep for longer than a small wave takes, so the
	// fence is polled, except where that takes the processor from the wave.
	slice := uint64(0)
	if x.memory.Direct {
		slice = uint64(fenceWait)
	}
	for {
		done, err := x.dev.WaitFence(f.fence, slice)
		switch {
		case err != nil:
			x.abandonWave(f)
			return err
		case done:
			f.fetched = true
			return x.fetchWave(f)
		case !x.jobs.idle() || time.Since(f.submitted) > inlineWait:
			return nil
		}
	}
}
