//go:build cgo && linux

package glcompute

import (
	"errors"
	"fmt"

	"github.com/go-gl/gl/v4.3-core/gl"
)

// InsertFence puts a mark behind all commands so far, of which WaitFence tells
// whether they are done. Fences are shared by the devices of a share group; the zero
// fence means that the driver made none, and Check says why.
func (d *Device) InsertFence() Fence {
	return Fence{Fence: gl.FenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0)}
}

// WaitFence waits for a fence, at most timeoutNs nanoseconds; 0 only asks. The
// commands before a fence of this device need no Flush. It is an error if the fence
// does not exist or the context is lost; waiting again is then useless.
func (d *Device) WaitFence(fence Fence, timeoutNs uint64) (done bool, err error) {
	if fence.Fence == 0 {
		return false, errors.New("OpenGL: wait for fence 0")
	}
	var status uint32
	err = d.own(func() { status = gl.ClientWaitSync(fence.Fence, gl.SYNC_FLUSH_COMMANDS_BIT, timeoutNs) })
	switch {
	case err == nil && (status == gl.ALREADY_SIGNALED || status == gl.CONDITION_SATISFIED):
		// A lost context signals every fence, done or not.
		err := d.reset()
		return err == nil, err
	case err == nil && status == gl.TIMEOUT_EXPIRED:
		return false, nil
	case errors.Is(err, ErrContextLost):
		d.lost = err
		return false, err
	case err == nil:
		err = fmt.Errorf("glClientWaitSync: %#x", status)
	}
	return false, fmt.Errorf("OpenGL: wait for a fence: %w", err)
}

// DeleteFence deletes a fence; 0 is ignored. One that is waited for elsewhere
// lives until then.
func (d *Device) DeleteFence(fence Fence) {
	if fence.Fence != 0 {
		gl.DeleteSync(fence.Fence)
	}
}

// Flush sends what was given to the driver on to the device, without waiting.
func (d *Device) Flush() { gl.Flush() }

// NewQuery makes a query for Timestamp. Queries belong to one device, also
// within a share group.
func (d *Device) NewQuery() Query {
	var q Query
	gl.GenQueries(1, &q.Query)
	d.queries[q] = struct{}{}
	return q
}

// DeleteQuery deletes a query; 0 and queries already deleted are ignored.
func (d *Device) DeleteQuery(q Query) {
	if _, live := d.queries[q]; live {
		delete(d.queries, q)
		gl.DeleteQueries(1, &q.Query)
	}
}

// Timestamp records the device's time in a query when the commands before it are
// done. See Supports.
func (d *Device) Timestamp(q Query) { gl.QueryCounter(q.Query, gl.TIMESTAMP) }

// QueryResult is the recorded time in nanoseconds from an unknown begin, once it
// is there. It does not wait and does not flush.
func (d *Device) QueryResult(q Query) (ns uint64, ready bool) {
	a := d.answer
	gl.GetQueryObjectuiv(q.Query, gl.QUERY_RESULT_AVAILABLE, &a.available)
	if a.available == gl.FALSE {
		return 0, false
	}
	gl.GetQueryObjectui64v(q.Query, gl.QUERY_RESULT, &a.ns)
	return a.ns, true
}

// queryAnswer is memory that the driver writes to. Variables would be allocated at
// every call, since what is handed to C escapes.
type queryAnswer struct {
	ns        uint64
	available uint32
}
