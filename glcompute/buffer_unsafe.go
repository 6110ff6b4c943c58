//go:build cgo && linux

package glcompute

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/go-gl/gl/v4.3-core/gl"
)

// Buffers are made, read and written through GL_COPY_WRITE_BUFFER, a binding
// point that no shader sees, so the storage bindings of a dispatch stay.

// NewBuffer makes a buffer of size bytes, all zero. Sizes from 1 byte up are
// allowed; what the device cannot give is an error.
func (d *Device) NewBuffer(size int) (Buffer, error) {
	if size <= 0 {
		return Buffer{}, fmt.Errorf("OpenGL: buffer of %d bytes: want at least 1", size)
	}
	var buffer Buffer
	err := d.own(func() {
		gl.GenBuffers(1, &buffer.Buffer)
		gl.BindBuffer(gl.COPY_WRITE_BUFFER, buffer.Buffer)
		gl.BufferData(gl.COPY_WRITE_BUFFER, size, nil, gl.DYNAMIC_COPY)
	})
	if err == nil {
		err = d.own(func() { clearBound(size) })
	}
	if err != nil {
		gl.DeleteBuffers(1, &buffer.Buffer)
		return Buffer{}, fmt.Errorf("OpenGL: buffer of %d bytes: %w", size, err)
	}
	add(d.objects, d.objects.buffers, buffer)
	return buffer, nil
}

// clearBound zeroes the bound buffer, by words where its size allows, and waits
// for it: NVIDIA's driver (580.159) was seen to run the clear of a large buffer
// after a write that followed it.
func clearBound(size int) {
	defer gl.Finish()
	if size%4 == 0 {
		gl.ClearBufferData(gl.COPY_WRITE_BUFFER, gl.R32UI, gl.RED_INTEGER, gl.UNSIGNED_INT, nil)
	} else {
		gl.ClearBufferData(gl.COPY_WRITE_BUFFER, gl.R8UI, gl.RED_INTEGER, gl.UNSIGNED_BYTE, nil)
	}
}

// DeleteBuffer deletes a buffer; 0 and buffers already deleted are ignored. A
// mapped one is unmapped first, after the copies under way.
func (d *Device) DeleteBuffer(buffer Buffer) {
	if !d.objects.takeBuffer(buffer) {
		return
	}
	d.unmap(buffer)
	gl.DeleteBuffers(1, &buffer.Buffer)
}

// WriteBuffer copies data to a byte offset of a buffer; the driver has taken its
// copy on return. A range outside the buffer is GL_INVALID_VALUE from Check.
func (d *Device) WriteBuffer(buffer Buffer, offset int, data []byte) {
	if len(data) == 0 {
		return
	}
	gl.BindBuffer(gl.COPY_WRITE_BUFFER, buffer.Buffer)
	gl.BufferSubData(gl.COPY_WRITE_BUFFER, offset, len(data), unsafe.Pointer(&data[0]))
}

// ReadBuffer fills dst from a byte offset of a buffer and waits for the
// dispatches that write it; call Barrier between. A range outside the
// buffer leaves dst as it is and is GL_INVALID_VALUE from Check.
func (d *Device) ReadBuffer(buffer Buffer, offset int, dst []byte) {
	if len(dst) == 0 {
		return
	}
	gl.BindBuffer(gl.COPY_WRITE_BUFFER, buffer.Buffer)
	gl.GetBufferSubData(gl.COPY_WRITE_BUFFER, offset, len(dst), unsafe.Pointer(&dst[0]))
}

// BindStorage binds a range of a buffer, in bytes, to a storage-block binding
// point. A multiple of 256 suits every driver as the offset. A binding that
// is there already costs nothing.
func (d *Device) BindStorage(binding uint32, buffer Buffer, offset, size int) {
	if !d.rebind(binding, storageRange{buffer, offset, size}) {
		return
	}
	gl.BindBufferRange(gl.SHADER_STORAGE_BUFFER, binding, buffer.Buffer, offset, size)
}

// CopyBuffer copies size bytes between buffers on the device, or within one if the
// ranges do not overlap. A range outside a buffer is GL_INVALID_VALUE from Check.
func (d *Device) CopyBuffer(src Buffer, srcOffset int, dst Buffer, dstOffset, size int) {
	if size == 0 {
		return
	}
	gl.BindBuffer(gl.COPY_READ_BUFFER, src.Buffer)
	gl.BindBuffer(gl.COPY_WRITE_BUFFER, dst.Buffer)
	gl.CopyBufferSubData(gl.COPY_READ_BUFFER, gl.COPY_WRITE_BUFFER, srcOffset, dstOffset, size)
}

// ClearBuffer sets size bytes of a buffer to zero, by words where offset and size
// are multiples of 4. A range outside the buffer is GL_INVALID_VALUE from Check.
func (d *Device) ClearBuffer(buffer Buffer, offset, size int) {
	if size == 0 {
		return
	}
	defer gl.Finish() // as for clearBound
	gl.BindBuffer(gl.COPY_WRITE_BUFFER, buffer.Buffer)
	if offset%4 == 0 && size%4 == 0 {
		gl.ClearBufferSubData(gl.COPY_WRITE_BUFFER, gl.R32UI, offset, size, gl.RED_INTEGER, gl.UNSIGNED_INT, nil)
	} else {
		gl.ClearBufferSubData(gl.COPY_WRITE_BUFFER, gl.R8UI, offset, size, gl.RED_INTEGER, gl.UNSIGNED_BYTE, nil)
	}
}

// storageRange is what a binding point has.
type storageRange struct {
	buffer       Buffer
	offset, size int
}

// storageBindings are the binding points that are remembered.
const storageBindings = 16

// rebind remembers what will be bound to a binding point, and reports whether that is
// new. The name of a deleted buffer may be reused for another, so after a deletion
// anywhere in the share group everything counts as new.
func (d *Device) rebind(binding uint32, r storageRange) bool {
	if deleted := d.objects.deleted.Load(); deleted != d.boundSince {
		d.bound, d.boundSince = [storageBindings]storageRange{}, deleted
	}
	if binding >= storageBindings {
		return true
	}
	same := d.bound[binding] == r
	d.bound[binding] = r
	return !same
}

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
		return Buffer{}, fmt.Errorf("OpenGL: mapped buffer: the driver has no GL_ARB_buffer_storage: %w", errors.ErrUnsupported)
	}
	if size <= 0 {
		return Buffer{}, fmt.Errorf("OpenGL: mapped buffer of %d bytes: want at least 1", size)
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
		return Buffer{}, fmt.Errorf("OpenGL: mapped buffer of %d bytes: %w", size, err)
	}
	m.streams = !d.info.Software
	add(d.objects, d.objects.buffers, buffer)
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
