package faultgl

import (
	"time"

	"ringmaster/megakernel/gpu"
)

// The calls that a lost or hanging device answers otherwise: those that make or read
// something fail, and those that wait block in a hang. What only gives the device work
// passes: nobody can read what comes of it.

func (d *Device) Dispatch(program gpu.Program, groupsX uint32) {
	d.dispatch(func() { d.Device.Dispatch(program, groupsX) })
}

func (d *Device) DispatchIndirect(program gpu.Program, buffer gpu.Buffer, offset int) {
	d.dispatch(func() { d.Device.DispatchIndirect(program, buffer, offset) })
}

func (d *Device) Check() error {
	_, err := unlessLost(d, func() (struct{}, error) { return struct{}{}, d.Device.Check() })
	return err
}

func (d *Device) Finish() {
	if loss, _ := d.wait(0); loss == nil {
		d.Device.Finish()
	}
}

func (d *Device) ReadBuffer(buffer gpu.Buffer, offset int, dst []byte) {
	if loss, _ := d.wait(0); loss == nil {
		d.Device.ReadBuffer(buffer, offset, dst)
	}
}

func (d *Device) WaitFence(fence gpu.Fence, timeoutNs uint64) (bool, error) {
	// 0 only asks, and wait takes it for no limit.
	if loss, hangs := d.wait(max(time.Duration(min(timeoutNs, uint64(time.Hour))), 1)); loss != nil || hangs {
		return false, loss
	}
	return d.Device.WaitFence(fence, timeoutNs)
}

func (d *Device) QueryResult(query gpu.Query) (uint64, bool) {
	if loss, hangs := d.wait(1); loss != nil || hangs {
		return 0, false
	}
	return d.Device.QueryResult(query)
}

func (d *Device) NewBuffer(size int) (gpu.Buffer, error) {
	return unlessLost(d, func() (gpu.Buffer, error) { return d.Device.NewBuffer(size) })
}

func (d *Device) NewMapped(size int) (gpu.Buffer, error) {
	return unlessLost(d, func() (gpu.Buffer, error) { return d.Device.NewMapped(size) })
}

func (d *Device) CompileCompute(source string) (gpu.Program, error) {
	return unlessLost(d, func() (gpu.Program, error) { return d.Device.CompileCompute(source) })
}

func (d *Device) LoadProgramBinary(format uint32, data []byte) (gpu.Program, error) {
	return unlessLost(d, func() (gpu.Program, error) { return d.Device.LoadProgramBinary(format, data) })
}

// unlessLost calls the device, or fails with its loss.
func unlessLost[T any](d *Device, call func() (T, error)) (result T, err error) {
	d.mu.Lock()
	loss := d.loss
	d.mu.Unlock()
	if loss != nil {
		return result, loss
	}
	return call()
}
