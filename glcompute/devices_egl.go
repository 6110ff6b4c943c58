//go:build cgo && linux

package glcompute

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// eglDevice is a device of the device platform, not opened.
type eglDevice struct {
	index    int
	nodes    []string
	software bool
	way      way
}

// listDevices asks EGL for its devices, or says why there are none.
func (e *eglLibrary) listDevices(client extensions) ([]eglDevice, error) {
	if !client[extDeviceBase] && !client[extDeviceEnumeration] {
		return nil, missingExtension(extDeviceEnumeration)
	}
	if !client[extPlatformDevice] {
		return nil, missingExtension(extPlatformDevice)
	}
	handles, err := e.devices()
	if err != nil {
		return nil, err
	}
	if len(handles) == 0 {
		return nil, errors.New("eglQueryDevicesEXT lists no device")
	}
	devices := make([]eglDevice, len(handles))
	for i, handle := range handles {
		d := &devices[i]
		d.index = i
		d.nodes, d.software = e.describeDevice(handle)
		d.way = e.way("egl-device", eglPlatformDevice, handle)
		d.way.software = d.software
		d.way.detail = strings.Join(append([]string{fmt.Sprintf("device %d of %d", i, len(handles))}, d.nodes...), " ")
		if d.software {
			d.way.detail += " software"
		}
	}
	return devices, nil
}

// describeDevice gives a device's DRM nodes and whether it is software.
func (e *eglLibrary) describeDevice(device uintptr) (nodes []string, software bool) {
	ext := parseExtensions(e.deviceString(device, eglExtensions))
	for _, node := range []struct {
		extension string
		name      int
	}{{extDeviceDRM, eglDRMDeviceFile}, {extDeviceDRMRenderNode, eglDRMRenderNodeFile}} {
		if !ext[node.extension] {
			continue
		}
		if path := e.deviceString(device, node.name); path != "" {
			nodes = append(nodes, path)
		}
	}
	return nodes, ext[extDeviceSoftware]
}

// Devices lists the devices of EGL's device platform and opens each for a moment
// to learn its names. The error says why there is no list at all; GL may open even
// then, by another way.
func Devices() ([]Listed, error) {
	lib, err := loadEGL(eglFile)
	if err != nil {
		return nil, fmt.Errorf("OpenGL: list devices: %w", err)
	}
	devices, err := lib.listDevices(lib.clientExtensions())
	if err != nil {
		return nil, fmt.Errorf("OpenGL: list devices: %w", err)
	}
	thread := NewThread()
	defer thread.Close()
	list := make([]Listed, len(devices))
	err = thread.Do(func() error {
		for i := range devices {
			list[i] = devices[i].examine()
		}
		return nil
	})
	return list, err
}

// examine opens the device, notes what it says and closes it.
func (d *eglDevice) examine() Listed {
	l := Listed{Index: d.index, Nodes: d.nodes, Software: d.software}
	c, err := d.way.open()
	if err != nil {
		l.Err = err
		return l
	}
	defer c.release()
	if l.Err = loadGL(c); l.Err != nil {
		return l
	}
	i := readInfo(c, Attempt{})
	l.Software = l.Software || i.Software
	l.UUID, l.Vendor, l.Renderer, l.Version = i.Capabilities.DeviceUUID, i.Vendor, i.Renderer, i.Version
	return l
}

// selectDevice is the way to the one device that was asked for.
func selectDevice(devices []eglDevice, want string, err error) way {
	s, bad := parseSelector(want)
	switch {
	case bad != nil:
		return closedWay("egl-device", "", bad)
	case err != nil:
		return closedWay("egl-device", "", fmt.Errorf("device %q: %w", want, err))
	case s.uuid != "":
		return way{backend: "egl-device", detail: "UUID " + s.uuid, open: func() (candidate, error) { return openUUID(devices, s.uuid) }}
	}
	for _, d := range devices {
		if d.index == s.index || s.node != "" && slices.Contains(d.nodes, s.node) {
			return d.way
		}
	}
	return closedWay("egl-device", "", notListed(want, devices))
}

// openUUID opens the devices one after another until one has the UUID.
func openUUID(devices []eglDevice, uuid string) (candidate, error) {
	for i := range devices {
		if devices[i].examine().UUID == uuid {
			return devices[i].way.open()
		}
	}
	return nil, notListed(uuid, devices)
}

// notListed says what there is instead of a device that is not.
func notListed(want string, devices []eglDevice) error {
	var list []string
	for i := range devices {
		list = append(list, devices[i].examine().String())
	}
	return fmt.Errorf("%w: %q is not among the %d that EGL lists (%s)", ErrNoDevice, want, len(devices), strings.Join(list, "; "))
}
