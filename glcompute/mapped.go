//go:build cgo && linux

package glcompute

import (
	"errors"
	"fmt"

	"github.com/go-gl/gl/v4.3-core/gl"
)

const (
	mapAccess     = gl.MAP_READ_BIT | gl.MAP_WRITE_BIT | gl.MAP_PERSISTENT_BIT | gl.MAP_COHERENT_BIT
	clientBarrier = 0x4000 // GL_CLIENT_MAPPED_BUFFER_BARRIER_BIT, GL_ARB_buffer_storage
)

// NewMapped makes a buffer of zeros that stays mapped, coherently, until
// DeleteBuffer: StoreMapped, LoadMapped, StoreWord and LoadWord reach it from any
// goroutine while shaders use it. WriteBuffer refuses it. Where the driver cannot
// do that (see Supports), the error wraps errors.ErrUnsupported.
func (d *Device) NewMapped(size int) (Buffer, error) {
	if !d.info.Capabilities.BufferStorage {
		return Buffer{}, fmt.Errorf("glcompute: mapped buffer: the driver has no GL_ARB_buffer_storage: %w", errors.ErrUnsupported)
	}
	if size <= 0 {
		return Buffer{}, fmt.Errorf("glcompute: mapped buffer of %d bytes: want at least 1", size)
	}
	var buffer Buffer
	err := d.own(func() {
		gl.GenBuffers(1, &buffer.Buffer)
		gl.BindBuffer(gl.COPY_WRITE_BUFFER, buffer.Buffer)
		gl.BufferStorage(gl.COPY_WRITE_BUFFER, size, nil, mapAccess)
	})
	var m *mapping
	if err == nil {
		err = d.own(func() { m = mapBound(d.mapBufferRange, gl.COPY_WRITE_BUFFER, size, mapAccess) })
	}
	if err == nil && m == nil {
		err = errors.New("the driver did not map it")
	}
	if err != nil {
		if m != nil {
			m.close()
		}
		gl.DeleteBuffers(1, &buffer.Buffer)
		return Buffer{}, fmt.Errorf("glcompute: mapped buffer of %d bytes: %w", size, err)
	}
	m.streams = !d.info.Software
	d.objects.addBuffer(buffer, size)
	d.objects.setMapping(buffer, m)
	return buffer, nil
}

// unmap ends a buffer's mapping, if it has one, after the copies under way.
func (d *Device) unmap(buffer Buffer) {
	m := d.objects.setMapping(buffer, nil)
	if m == nil {
		return
	}
	m.close()
	gl.BindBuffer(gl.COPY_WRITE_BUFFER, buffer.Buffer)
	gl.UnmapBuffer(gl.COPY_WRITE_BUFFER)
}
