package megakernel

import (
	"fmt"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/ring"
)

// submitWave uploads a wave's pages, dispatches it and puts a fence behind what
// it leaves. Called on the device's thread.
func (e *Engine) submitWave(f *flight) error {
	m, dev := e.memory, e.dev
	near := m.near(len(f.wave.Pages)) && !e.watched.Load()
	m.bindWave(f.index, near)
	f.runs(func(first, n, _ int) {
		m.uploadStatuses(first*ring.PageSlots, e.ledger.Statuses(first, n), near)
	})
	if !near {
		e.uploadSlots(f)
	}
	clear(f.control)
	m.uploadSchedule(f.index, f.wave.Schedule, f.control, near)

	timed := dev.Supports("timestamp") && !m.direct
	f.submitted = time.Now()
	p := f.program.program.Value
	p.set(dev, &f.params)
	if timed {
		dev.Timestamp(e.query(f, 0))
	}
	dev.Dispatch(p.id, f.geometry.Groups)
	dev.Barrier()
	if f.coldProgram.program != nil {
		e.chain(f)
	}
	if timed {
		dev.Timestamp(e.query(f, 1))
	}
	if !near {
		f.runs(func(first, n, _ int) { m.returnWords(first, n, f.wave.Results) })
	}
	m.returnControl(f.index)
	f.fence = dev.InsertFence()
	dev.Flush()
	m.clearControl(f.index, f.control)
	if err := dev.Check(); err != nil {
		e.abandonWave(f)
		return fmt.Errorf("dispatch: %w", err)
	}
	return nil
}

// abandonWave forgets a wave that was dispatched and cannot be waited for. It may still
// run, and would write to pages and a control block that the next wave gets, so the device
// is finished first. Called on the device's thread.
func (e *Engine) abandonWave(f *flight) {
	e.dev.DeleteFence(f.fence)
	e.dev.Finish()
	e.memory.cleared[f.index] = false
}

// chain dispatches the interpreter on the cold list that a fused kernel leaves, with
// as many workgroups as that kernel said. Called on the device's thread.
func (e *Engine) chain(f *flight) {
	m, p := e.memory, f.coldProgram.program.Value
	m.bindScheduleOf(f.index, true)
	p.set(e.dev, &f.coldParams)
	control, _ := m.place(ring.BindControl, f.index)
	e.dev.DispatchIndirect(p.id, m.buffers[ring.BindControl], control+ring.ColdDispatchOffset)
	e.dev.Barrier()
}

// query is one of a flight's two timestamp queries, made at its first use.
func (e *Engine) query(f *flight, i int) gpu.Query {
	if f.queries[i].Query == 0 {
		f.queries[i] = e.dev.NewQuery()
	}
	return f.queries[i]
}

// uploadSlots sends the slots of a wave's pages that the device does not have.
func (e *Engine) uploadSlots(f *flight) {
	pages := f.wave.Pages
	for i := 0; i < len(pages); {
		first := pages[i].Page()
		n := 0
		for i+n < len(pages) && pages[i+n].Page() == first+uint32(n) && !e.uploaded[first+uint32(n)] {
			e.uploaded[first+uint32(n)] = true
			n++
		}
		if n > 0 {
			e.memory.uploadSlots(int(first), n)
		}
		i += max(n, 1)
	}
}

// fetchWave takes the times of a wave whose fence is done, and reads what came
// back where it does not come by itself. Called on the device's thread.
func (e *Engine) fetchWave(f *flight) error {
	dev := e.dev
	end := time.Now()
	dev.DeleteFence(f.fence)
	begin := f.submitted
	if e.lastEnd.After(begin) {
		begin = e.lastEnd // it waited behind another wave
	} else if !e.lastEnd.IsZero() {
		f.report.IdleNs = uint64(begin.Sub(e.lastEnd))
	}
	device := uint64(0)
	if f.queries[0].Query != 0 {
		t0, ok0 := dev.QueryResult(f.queries[0])
		t1, ok1 := dev.QueryResult(f.queries[1])
		if ok0 && ok1 && t1 > t0 {
			device = t1 - t0
		}
	}
	f.report.ElapsedNs, f.report.TimeSource = elapsed(device, uint64(end.Sub(begin)))
	e.lastEnd = end
	f.runs(func(first, n, _ int) { e.memory.fetch(first, n, f.wave.Results) })
	e.memory.fetchControl(f.index, f.control)
	return dev.Check()
}
