package main

import (
	"log/slog"
	"os"
	"path/filepath"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
)

// glFlags say which GL context to open.
type glFlags struct {
	GL     string `name:"gl" enum:"auto,egl,glfw" default:"auto" env:"RINGMASTER_GL" help:"How to open the GL context: auto, egl (needs no display) or glfw (needs a window system)."`
	Device string `env:"RINGMASTER_DEVICE" placeholder:"DEVICE" help:"GPU to use: index, UUID or DRM node, as doctor lists them (default: the first that is not a software renderer)."`
}

func (f *glFlags) config() glcompute.Config {
	return glcompute.Config{
		Backend: glcompute.Backend(f.GL), Device: f.Device,
		Display: os.Getenv("DISPLAY"), WaylandDisplay: os.Getenv("WAYLAND_DISPLAY"),
	}
}

// open opens the device.
func (f *glFlags) open(log *slog.Logger) (*glcompute.Device, error) {
	mesaCache(log)
	device, attempts, err := glcompute.Open(f.config())
	for _, a := range attempts {
		log.Debug("gl attempt", "backend", a.Backend, "detail", a.Detail, "error", a.Err)
	}
	if err == nil {
		roomForGL()
	}
	return device, err
}

// defaultWorker names a worker that was given no name: after the host and, with
// --device, after the device too, so that the workers of one host differ. It takes the
// UUID, which stays the same when the driver lists its devices in another order.
func (f *glFlags) defaultWorker(device *glcompute.Device) string {
	host := workerName()
	if device == nil || f.Device == "" {
		return host
	}
	suffix := "-gpu" + subjectToken(filepath.Base(f.Device))
	if info := device.Info(); !info.Software && len(info.Capabilities.DeviceUUID) >= 8 {
		suffix = "-" + info.Capabilities.DeviceUUID[:8]
	}
	return host[:min(len(host), max(0, 64-len(suffix)))] + suffix[:min(len(suffix), 64)]
}

// reopen opens the device again after it was lost. Where the device can be named, it is
// the same one, even if another would answer sooner.
func (f *glFlags) reopen(was glcompute.Info, log *slog.Logger) func() (worker.Device, error) {
	again := *f
	if id := was.Capabilities.DeviceUUID; id != "" && !was.Software && was.Way != string(glcompute.GLFW) {
		again.Device = id
	}
	return func() (worker.Device, error) {
		device, err := again.open(log)
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
		dir = filepath.Join(cacheDir(), "mesa")
	}
	if err := worker.ReserveMesaIndex(dir); err != nil {
		log.Warn("Mesa's shader cache is not used; every start compiles all shaders again", "directory", dir, "error", err)
		os.Setenv(off, "true")
		return
	}
	os.Setenv(named, dir)
}
