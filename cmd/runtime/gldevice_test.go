//go:build cgo

package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ringmaster/glcompute"
	"ringmaster/telemetry"
)

func TestSecondProcessForAWorkerOrItsDeviceIsRefused(t *testing.T) {
	dir := t.TempDir()
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	gpu := glcompute.Info{Renderer: "GPU X/9", Capabilities: glcompute.Capabilities{DeviceUUID: "0123456789abcdef0123456789abcdef"}}
	first, err := claimWorker(dir, "w1", "nats://a:4222-x.v1", gpu, false, log)
	if err != nil || said.Len() > 0 {
		t.Fatalf("%v, logged %s", err, &said)
	}
	if _, err := claimWorker(dir, "w1", "nats://a:4222-x.v1", gpu, false, log); err == nil || !strings.Contains(err.Error(), "worker w1 on GPU X/9, process ") {
		t.Errorf("the same worker again: %v", err)
	}
	// Another worker, or the same name on another bus, shares the GPU knowingly.
	for _, other := range [][2]string{{"w2", "nats://a:4222-x.v1"}, {"w1", "nats://b:4222-x.v1"}} {
		said.Reset()
		if _, err := claimWorker(dir, other[0], other[1], gpu, false, log); err == nil || !strings.Contains(err.Error(), "worker w1 on GPU X/9") ||
			!strings.Contains(err.Error(), "--share-device") {
			t.Errorf("%v, not sharing: %v", other, err)
		}
		c, err := claimWorker(dir, other[0], other[1], gpu, true, log)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said.String(), "worker w1 on GPU X/9") {
			t.Errorf("%v: not warned about the first: %s", other, &said)
		}
		c.release()
	}
	// A software renderer is nobody's alone.
	said.Reset()
	gpu.Software = true
	c, err := claimWorker(dir, "w3", "", gpu, false, log)
	if err != nil || said.Len() > 0 {
		t.Errorf("on the CPU: %v, logged %s", err, &said)
	}
	c.release()
	// An embedded server has one worker.
	gpu.Software = true
	for range 2 {
		c, err := claimWorker(dir, "w1", "", gpu, false, log)
		if err != nil || said.Len() > 0 {
			t.Errorf("beside an embedded server: %v, logged %s", err, &said)
		}
		defer c.release()
	}
	first.release()
	gpu.Software = false
	again, err := claimWorker(dir, "w1", "nats://a:4222-x.v1", gpu, false, log)
	if err != nil || said.Len() > 0 {
		t.Errorf("after the first ended: %v, logged %s", err, &said)
	}
	again.release()
}

// A worker that comes back on a disk that takes nothing serves all the same.
func TestAWorkerServesWhereNoFileCanBeLocked(t *testing.T) {
	file := writeFile(t, "file", "")
	var said bytes.Buffer
	c, err := claimWorker(file+"/workers", "w1", "nats://a:4222-x.v1", glcompute.Info{Renderer: "GPU X/9"}, false, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil || !strings.Contains(said.String(), "cannot tell whether another process serves this worker") {
		t.Fatalf("%v, logged %s", err, &said)
	}
	c.release()
}

func TestSecondRunForAWorkerIsRefused(t *testing.T) {
	requireGL(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	server := newRestartable(t)
	args := []string{"run", "--nats", server.server.URL(), "--worker", "w1"}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	serving := &lockedBuffer{}
	first := make(chan int, 1)
	go func() { first <- execute(ctx, args, stdio{in: strings.NewReader(""), out: serving, err: serving}) }()
	for !strings.Contains(serving.String(), "serving on") {
		select {
		case code := <-first:
			t.Fatalf("run ended with exit code %d: %s", code, serving)
		case <-time.After(10 * time.Millisecond):
		}
	}
	second := ringmaster(t, t.Context(), "", args...)
	if second.code != 1 || !strings.Contains(second.err, "served already (worker w1 on ") {
		t.Errorf("the second: exit code %d, %s", second.code, second.err)
	}
	stop()
	if code := <-first; code != 0 {
		t.Errorf("the first: exit code %d, %s", code, serving)
	}
}

func TestAnEmbeddedServerIsTheBusThatOthersReachByItsAddress(t *testing.T) {
	bus := func(args runCmd) string {
		args.Prefix = telemetry.DefaultPrefix
		return args.busName()
	}
	embedded := bus(runCmd{Listen: "127.0.0.1:4222"})
	if other := bus(runCmd{natsFlags: natsFlags{URL: "nats://127.0.0.1:4222"}}); embedded == "" || embedded != other {
		t.Errorf("embedded it is %q, by its address %q", embedded, other)
	}
	for _, listen := range []string{"127.0.0.1:4223", "127.0.0.1:0", "nonsense"} {
		if got := bus(runCmd{Listen: listen}); got == embedded {
			t.Errorf("--listen %s is the same bus", listen)
		}
	}
}

func TestDefaultWorkerNamesTheDeviceThatWasSelected(t *testing.T) {
	device := openGL(t, &glFlags{GL: "auto"})
	host := workerName()
	for selected, want := range map[string]string{
		"":                        host,
		"0":                       host + "-gpu0",
		"/dev/dri/renderD128":     host + "-gpurenderD128",
		strings.Repeat("long", 9): host + "-gpu" + strings.Repeat("long", 9),
	} {
		f := glFlags{Device: selected}
		got := f.defaultWorker(device)
		if device.Info().Software && got != want && len(host)+len(want) < 64 || len(got) > 64 {
			t.Errorf("--device %q: %q, want %q", selected, got, want)
		}
	}
	f := glFlags{Device: "0"}
	if got := f.defaultWorker(nil); got != host {
		t.Errorf("without a device: %q", got)
	}
}

func TestUnknownDeviceIsAnErrorThatListsTheDevices(t *testing.T) {
	device := openGL(t, &glFlags{GL: "auto", Device: "0"})
	for _, args := range [][]string{
		{"run", "--device", "77", "--listen", "127.0.0.1:0"},
		{"demo", "--device", "77"},
		{"doctor", "--device", "77"},
	} {
		var out, problems bytes.Buffer
		code := execute(t.Context(), args, stdio{in: strings.NewReader(""), out: &out, err: &problems})
		text := out.String() + problems.String()
		if code == 0 || !strings.Contains(text, "0: "+device.Info().Renderer) || strings.Contains(text, "install") {
			t.Errorf("%s: exit code %d, %s", args[0], code, text)
		}
	}
}

func TestDoctorListsDevices(t *testing.T) {
	device := openGL(t, &glFlags{GL: "auto", Device: "0"})
	var out bytes.Buffer
	if code := execute(t.Context(), []string{"doctor"}, stdio{out: &out, err: &out}); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if want := "0: " + device.Info().Renderer + ", UUID " + device.Info().Capabilities.DeviceUUID; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in\n%s", want, &out)
	}
}

// openGL opens a device for a test, or skips as requireGL does.
func openGL(t *testing.T, f *glFlags) *glcompute.Device {
	t.Helper()
	requireGL(t)
	device, err := f.open(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { device.Close() })
	return device
}
