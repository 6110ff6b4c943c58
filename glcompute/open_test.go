//go:build cgo && linux

package glcompute

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestOpenAutoGivesADeviceThatComputes(t *testing.T) {
	d, attempts, err := Open(Config{})
	if err != nil {
		missing(t, err)
	}
	defer d.Close()
	taken := 0
	for _, a := range attempts {
		t.Log(a)
		if a.Err == nil {
			taken++
		}
	}
	if taken != 1 {
		t.Errorf("%d attempts without an error, want the one that was taken", taken)
	}
	if err := d.SelfTest(); err != nil {
		t.Error(err)
	}
}

func TestInfoIsComplete(t *testing.T) {
	d := openDevice(t, Config{})
	i := d.Info()
	t.Logf("%v\n%+v\n%s", i, i.Limits, strings.Join(i.Capabilities.List(), "\n"))
	if i.Vendor == "" || i.Renderer == "" || i.Version == "" || i.GLSL == "" || !strings.HasPrefix(i.Way, "egl-") {
		t.Errorf("a name is missing: %+v", i)
	}
	// The minima of the OpenGL 4.3 specification, tables 23.61 and 23.64.
	l := i.Limits
	if l.WorkgroupInvocations < 1024 || l.WorkgroupCount[0] < 65535 || l.WorkgroupSize[0] < 1024 ||
		l.WorkgroupSize[2] < 64 || l.SharedMemory < 32<<10 || l.StorageBlockSize < 1<<24 || l.StorageBlocks < 8 {
		t.Errorf("limits below the specification's minima: %+v", l)
	}
	vendor, renderer, version := d.Identity()
	x, groups, invocations := d.WorkgroupLimits()
	if vendor != i.Vendor || renderer != i.Renderer || version != i.Version || x != l.WorkgroupSize[0] ||
		groups != l.WorkgroupCount[0] || invocations != l.WorkgroupInvocations || d.StorageBlockLimit() != l.StorageBlockSize {
		t.Error("the device's methods and its Info differ")
	}
	if i.Software && strings.Contains(i.Version, "Mesa") {
		if c := i.Capabilities; !c.RobustAccess || !c.LoseOnReset || !c.ResetStatus || !c.BufferStorage {
			t.Errorf("Mesa has these, the device reports %+v", c)
		}
	}
}

func TestEveryEGLWayThatOpensComputes(t *testing.T) {
	opened := map[string]bool{}
	for _, w := range eglWays(Config{}) {
		d, err := onThread(newObjects(), func() (context, Attempt, error) {
			c, err := w.open()
			return c, w.attempt(c, err), err
		})
		if err != nil {
			t.Logf("%s (%s): %v", w.backend, w.detail, err)
			continue
		}
		opened[w.backend] = true
		if err := d.SelfTest(); err != nil {
			t.Errorf("%s: %v", w.backend, err)
		}
		if err := d.Close(); err != nil {
			t.Errorf("%s: close: %v", w.backend, err)
		}
	}
	if !opened["egl-surfaceless"] && !opened["egl-device"] {
		missing(t, "neither the surfaceless nor the device platform opens")
	}
}

func TestProbeTriesEveryWay(t *testing.T) {
	attempts, err := Probe(Config{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	worked := false
	for _, a := range attempts {
		t.Log(a)
		names = append(names, a.Backend)
		worked = worked || a.Err == nil
	}
	for _, want := range []string{"egl-device", "egl-surfaceless", "egl-default", "glfw"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s was not tried", want)
		}
	}
	if !worked {
		missing(t, "no way works")
	}
}

func TestOpenSelectsOneDevice(t *testing.T) {
	d, attempts, err := Open(Config{Device: "0"})
	if err != nil {
		missing(t, err)
	}
	defer d.Close()
	if len(attempts) != 1 || d.Info().Way != "egl-device" || !strings.Contains(d.Info().Detail, "device 0 of ") {
		t.Errorf("device 0 gave %v by %v", d.Info(), attempts)
	}
	for _, none := range []string{"63", "/dev/dri/none", "0123456789abcdef0123456789abcdef"} {
		_, attempts, err := Open(Config{Device: none})
		if err == nil || len(attempts) != 1 || !strings.Contains(err.Error(), none) {
			t.Errorf("device %s: %v by %v", none, err, attempts)
		}
		if !errors.Is(err, ErrNoDevice) || strings.Contains(err.Error(), "install") {
			t.Errorf("device %s: %v", none, err)
		}
		if !strings.Contains(err.Error(), "(0: ") || !strings.Contains(err.Error(), d.Info().Renderer) {
			t.Errorf("device %s: the error does not say what there is: %v", none, err)
		}
	}
}

func TestDevicesListsWhatDeviceSelects(t *testing.T) {
	list, err := Devices()
	if err != nil {
		missing(t, err)
	}
	opened := 0
	for i, l := range list {
		t.Log(l)
		if l.Index != i || l.Err != nil {
			continue
		}
		opened++
		d := openDevice(t, Config{Device: strconv.Itoa(i)})
		if d.Info().Renderer != l.Renderer || d.Info().Capabilities.DeviceUUID != l.UUID || d.Info().Software != l.Software {
			t.Errorf("device %d is %v, listed as %v", i, d.Info(), l)
		}
		for _, node := range l.Nodes {
			if d := openDevice(t, Config{Device: node}); d.Info().Capabilities.DeviceUUID != l.UUID {
				t.Errorf("node %s is %v, listed as %v", node, d.Info(), l)
			}
		}
		if l.UUID == "" {
			continue
		}
		upper := strings.ToUpper(l.UUID)
		dashed := "GPU-" + upper[:8] + "-" + upper[8:12] + "-" + upper[12:16] + "-" + upper[16:20] + "-" + upper[20:]
		if d := openDevice(t, Config{Device: dashed}); d.Info().Capabilities.DeviceUUID != l.UUID || d.Info().Way != "egl-device" {
			t.Errorf("UUID %s is %v, listed as %v", dashed, d.Info(), l)
		}
	}
	if opened == 0 {
		missing(t, "no listed device opens")
	}
	withoutEGL(t)
	if _, err := Devices(); err == nil || !strings.Contains(err.Error(), "/nonexistent") {
		t.Errorf("without a library: %v", err)
	}
}

// withoutEGL takes the EGL library away until the test ends.
func withoutEGL(t *testing.T) {
	t.Helper()
	file := eglFile
	eglFile = "/nonexistent/libEGL.so.1"
	t.Cleanup(func() { eglFile = file })
}

func TestMissingLibraryIsAReadableError(t *testing.T) {
	withoutEGL(t)
	for _, backend := range []Backend{Auto, EGL} {
		d, attempts, err := Open(Config{Backend: backend})
		if d != nil {
			t.Fatal("opened a device without a library")
		}
		var unavailable *UnavailableError
		if !errors.As(err, &unavailable) || len(unavailable.Attempts) != len(attempts) || len(attempts) == 0 {
			t.Fatalf("%s: %v, want an UnavailableError with its attempts", backend, err)
		}
		for _, want := range []string{"/nonexistent/libEGL.so.1", "libegl1", "libgl1-mesa-dri", "NVIDIA"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error does not mention %s: %v", backend, want, err)
			}
		}
	}
}

func TestDevicesWorkAtTheSameTimeAndCloseInAnyOrder(t *testing.T) {
	first := openDevice(t, Config{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			d, _, err := Open(Config{})
			if err != nil {
				t.Error(err)
				return
			}
			for range 3 {
				if err := d.SelfTest(); err != nil {
					t.Error(err)
				}
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// It shares its display with those that were closed.
	if err := first.SelfTest(); err != nil {
		t.Errorf("after the others were closed: %v", err)
	}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	before := displayUsers()
	for range 3 {
		d, _, err := Open(Config{})
		if err != nil {
			missing(t, err)
		}
		do(t, d, func() error {
			if _, err := d.NewBuffer(64); err != nil {
				return err
			}
			_, err := d.CompileCompute(selfTestSource)
			d.NewQuery()
			return err
		})
		for range 2 {
			if err := d.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		if buffers, programs := d.Live(); buffers != 0 || programs != 0 || len(d.queries) != 0 {
			t.Errorf("after Close %d buffers, %d programs and %d queries live", buffers, programs, len(d.queries))
		}
		if err := d.Do(func() error { return nil }); !errors.Is(err, ErrClosed) {
			t.Errorf("Do after Close: %v", err)
		}
		if err := d.SelfTest(); !errors.Is(err, ErrClosed) {
			t.Errorf("SelfTest after Close: %v", err)
		}
	}
	if after := displayUsers(); after != before {
		t.Errorf("%d EGL displays in use, %d before", after, before)
	}
}

func displayUsers() int {
	openDisplays.Lock()
	defer openDisplays.Unlock()
	return len(openDisplays.users)
}
