//go:build cgo && linux

package glcompute

import "fmt"

// OpenShared opens a second context in the share group of d, on a thread of its
// own: buffers, programs and fences made by one are those of the other too,
// queries are not. What one context wrote another sees after a fence that the
// first inserted was waited for. Either may be closed first.
func (d *Device) OpenShared() (*Device, error) {
	thread := NewThread()
	var shared *Device
	err := thread.Do(func() error {
		c, err := d.context.share()
		if err != nil {
			return err
		}
		shared, err = newDevice(c, Attempt{Backend: d.info.Way, Detail: d.info.Detail}, d.objects)
		if err != nil {
			c.release()
		}
		return err
	})
	if err != nil {
		thread.Close()
		return nil, fmt.Errorf("glcompute: open a context beside another: %w", err)
	}
	shared.thread = thread
	return shared, nil
}
