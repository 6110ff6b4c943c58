package faultgl

import (
	"time"

	"ringmaster/megakernel/gpu"
)

// The calls that a lost or hanging device answers otherwise. Those that make
// something fail, those that wait block in a hang, the rest does nothing once
// the context is lost.

func (d *Device) Dispatch(program gpu.Program, groupsX uint32) {
	d.dispatch(func() { d.Device.Dispatch(program, groupsX) })
}

func (d *Device) DispatchIndirect(program gpu.Program, buffer gpu.Buffer, offset int) {
	d.dispatch(func() { d.Device.DispatchIndirect(program, buffer, offset) })
}

func (d *Device) Check() error {
	d.mu.Lock()
	loss := d.loss
	d.mu.Unlock()
	if loss != nil {
		return loss
	}
	return d.Device.Check()
}

func (d *Device) GraphicsReset() uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.status != 0 {
		return d.status
	}
	return d.Device.GraphicsReset()
}

func (d *Device) Finish() {
	if !d.dead() {
		d.Device.Finish()
	}
}

func (d *Device) WaitFence(fence gpu.Fence, timeoutNs uint64) (bool, error) {
	limit := min(time.Duration(min(timeoutNs, 1<<62)), time.Hour)
	if limit == 0 {
		limit = 1 // only ask
	}
	loss, hangs := d.wait(limit)
	switch {
	case loss != nil:
		return false, loss
	case hangs:
		return false, nil
	}
	return d.Device.WaitFence(fence, timeoutNs)
}

func (d *Device) QueryResult(query gpu.Query) (uint64, bool) {
	if loss, hangs := d.wait(1); loss != nil || hangs {
		return 0, false
	}
	return d.Device.QueryResult(query)
}

func (d *Device) ReadBuffer(buffer gpu.Buffer, offset int, dst []byte) {
	if !d.dead() {
		d.Device.ReadBuffer(buffer, offset, dst)
	}
}

func (d *Device) WriteBuffer(buffer gpu.Buffer, offset int, data []byte) {
	if !d.lost() {
		d.Device.WriteBuffer(buffer, offset, data)
	}
}

func (d *Device) CopyBuffer(src gpu.Buffer, srcOffset int, dst gpu.Buffer, dstOffset, size int) {
	if !d.lost() {
		d.Device.CopyBuffer(src, srcOffset, dst, dstOffset, size)
	}
}

func (d *Device) ClearBuffer(buffer gpu.Buffer, offset, size int) {
	if !d.lost() {
		d.Device.ClearBuffer(buffer, offset, size)
	}
}

func (d *Device) NewBuffer(size int) (gpu.Buffer, error) {
	if err := d.lossError(); err != nil {
		return gpu.Buffer{}, err
	}
	return d.Device.NewBuffer(size)
}

func (d *Device) NewMapped(size int) (gpu.Buffer, error) {
	if err := d.lossError(); err != nil {
		return gpu.Buffer{}, err
	}
	return d.Device.NewMapped(size)
}

func (d *Device) CompileCompute(source string) (gpu.Program, error) {
	if err := d.lossError(); err != nil {
		return gpu.Program{}, err
	}
	return d.Device.CompileCompute(source)
}

func (d *Device) LoadProgramBinary(format uint32, data []byte) (gpu.Program, error) {
	if err := d.lossError(); err != nil {
		return gpu.Program{}, err
	}
	return d.Device.LoadProgramBinary(format, data)
}

func (d *Device) ProgramBinary(program gpu.Program) (uint32, []byte, error) {
	if err := d.lossError(); err != nil {
		return 0, nil, err
	}
	return d.Device.ProgramBinary(program)
}

func (g *group) lossError() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.loss
}

func (g *group) lost() bool { return g.lossError() != nil }
