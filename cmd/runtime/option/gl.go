package option

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/megakernel/calibration"
)

// GL say which GL context to open.
type GL struct {
	Backend string `name:"gl" enum:"auto,egl,glfw" default:"auto" env:"RINGMASTER_GL" help:"How to open the GL context: auto, egl (needs no display) or glfw (needs a window system)."`
	Device  string `env:"RINGMASTER_DEVICE" placeholder:"DEVICE" help:"GPU to use: index, UUID or DRM node, as doctor lists them (default: the first that is not a software renderer)."`
	Expect  string `name:"expect-device" env:"RINGMASTER_EXPECT_DEVICE" placeholder:"TEXT" help:"Refuse a device whose name does not have TEXT in it, such as H200; gpu: refuse software renderers. Without it one of those is taken where OpenGL finds no GPU."`
}

// ErrUnexpectedDevice says that OpenGL opened another device than was expected.
var ErrUnexpectedDevice = errors.New("not the expected device")

// Unexpected says that a device is not the expected one.
func (f *GL) Unexpected(name string, software bool) error {
	if f.Expect == "" || strings.EqualFold(f.Expect, "gpu") && !software || strings.Contains(strings.ToLower(name), strings.ToLower(f.Expect)) {
		return nil
	}
	if software {
		name += ", a software renderer"
	}
	return fmt.Errorf("%w: --expect-device %s, and OpenGL opens %s; `ringmaster doctor` says which devices there are and what was tried, --device chooses one", ErrUnexpectedDevice, f.Expect, name)
}

func (f *GL) Config() glcompute.Config {
	return glcompute.Config{
		Backend: glcompute.Backend(f.Backend), Device: f.Device,
		Display: os.Getenv("DISPLAY"),
	}
}

// Open opens the device, and finds out what it is if its driver does not tell.
func (f *GL) Open(log *slog.Logger) (*glcompute.Device, error) {
	mesaCache(log)
	device, attempts, err := glcompute.Open(f.Config())
	for _, a := range attempts {
		log.Debug("gl attempt", "backend", a.Backend, "detail", a.Detail, "error", a.Err)
	}
	if err == nil {
		if err := f.Unexpected(device.Info().Renderer, device.Info().Software); err != nil {
			device.Close()
			return nil, err
		}
		roomForGL()
		if device.Info().Units == (glcompute.Units{}) {
			known, how := calibration.Known(device, filepath.Join(CacheDir(), "units"), log)
			device.Describe(glcompute.Units{Count: known.Units, Lanes: known.Lanes, Source: how})
		}
	}
	return device, err
}

// DefaultWorker names a worker that was given no name: after the host and, with
// --device, after the device too, so that the workers of one host differ. It takes the
// UUID, which stays the same when the driver lists its devices in another order.
func (f *GL) DefaultWorker(device *glcompute.Device) string {
	host := HostName()
	if device == nil || f.Device == "" {
		return host
	}
	suffix := "-gpu" + text.Token(filepath.Base(f.Device))
	if info := device.Info(); !info.Software && len(info.Capabilities.DeviceUUID) >= 8 {
		suffix = "-" + info.Capabilities.DeviceUUID[:8]
	}
	return host[:min(len(host), max(0, 64-len(suffix)))] + suffix[:min(len(suffix), 64)]
}

// Reopen opens the device again after it was lost. Where the device can be named, it is
// the same one, even if another would answer sooner.
func (f *GL) Reopen(was glcompute.Info, log *slog.Logger) func() (worker.Device, error) {
	again := *f
	if id := was.Capabilities.DeviceUUID; id != "" && !was.Software && was.Way != string(glcompute.GLFW) {
		again.Device = id
	}
	return func() (worker.Device, error) {
		device, err := again.Open(log)
		if err != nil {
			return nil, err // and no gpu that holds a nil
		}
		return device, nil
	}
}

// mesaCache gives Mesa a directory of our own for its shader cache, unless the environment names
// one, because without a cache every start compiles all shaders again. Where the disk has no room for
// the cache's table, Mesa keeps none.
func mesaCache(log *slog.Logger) {
	const named, off = "MESA_SHADER_CACHE_DIR", "MESA_SHADER_CACHE_DISABLE"
	if os.Getenv(off) != "" {
		return
	}
	dir := os.Getenv(named)
	if dir == "" {
		dir = filepath.Join(CacheDir(), "mesa")
	}
	if err := worker.ReserveMesaIndex(dir); err != nil {
		log.Warn("Mesa's shader cache is not used; every start compiles all shaders again", "directory", dir, "error", err)
		os.Setenv(off, "true")
		return
	}
	os.Setenv(named, dir)
}

// roomForGL lets one more goroutine run at a time than there are processors.
// The GL thread waits for the device inside a C call, and the Go scheduler goes
// on counting it as running for a while: on two processors that doubles the
// time from a record to its recommendation. A GOMAXPROCS of the user's own is left alone.
var roomForGL = sync.OnceFunc(func() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
})
