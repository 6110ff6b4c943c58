//go:build cgo

package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/glcompute"
	"ringmaster/megakernel/texttest"
	"ringmaster/telemetry"
)

func TestSecondRunForAWorkerIsRefused(t *testing.T) {
	requireGL(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	url := serverOf(t)
	args := []string{"run", "--nats", url, "--worker", "w1"}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	serving := &texttest.Log{}
	first := make(chan int, 1)
	go func() {
		first <- execute(ctx, args, terminal.Stdio{In: strings.NewReader(""), Out: serving, Err: serving})
	}()
	for !strings.Contains(serving.String(), "serving") {
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
	if other := bus(runCmd{NATS: option.NATS{URL: "nats://127.0.0.1:4222"}}); embedded == "" || embedded != other {
		t.Errorf("embedded it is %q, by its address %q", embedded, other)
	}
	for _, listen := range []string{"127.0.0.1:4223", "127.0.0.1:0", "nonsense"} {
		if got := bus(runCmd{Listen: listen}); got == embedded {
			t.Errorf("--listen %s is the same bus", listen)
		}
	}
}

func TestDefaultWorkerNamesTheDeviceThatWasSelected(t *testing.T) {
	device := openGL(t, &option.GL{Backend: "auto"})
	host := option.HostName()
	for selected, want := range map[string]string{
		"":                        host,
		"0":                       host + "-gpu0",
		"/dev/dri/renderD128":     host + "-gpurenderD128",
		strings.Repeat("long", 9): host + "-gpu" + strings.Repeat("long", 9),
	} {
		f := option.GL{Device: selected}
		got := f.DefaultWorker(device)
		if device.Info().Software && got != want && len(host)+len(want) < 64 || len(got) > 64 {
			t.Errorf("--device %q: %q, want %q", selected, got, want)
		}
	}
	f := option.GL{Device: "0"}
	if got := f.DefaultWorker(nil); got != host {
		t.Errorf("without a device: %q", got)
	}
}

func TestUnknownDeviceIsAnErrorThatListsTheDevices(t *testing.T) {
	device := openGL(t, &option.GL{Backend: "auto", Device: "0"})
	for _, args := range [][]string{
		{"run", "--device", "77", "--listen", "127.0.0.1:0"},
		{"demo", "--device", "77"},
		{"doctor", "--device", "77"},
	} {
		var out, problems bytes.Buffer
		code := execute(t.Context(), args, terminal.Stdio{In: strings.NewReader(""), Out: &out, Err: &problems})
		text := out.String() + problems.String()
		if code == 0 || !strings.Contains(text, "0: "+device.Info().Renderer) || strings.Contains(text, "install") {
			t.Errorf("%s: exit code %d, %s", args[0], code, text)
		}
	}
}

func TestDoctorListsDevices(t *testing.T) {
	device := openGL(t, &option.GL{Backend: "auto", Device: "0"})
	var out bytes.Buffer
	if code := execute(t.Context(), []string{"doctor"}, terminal.Stdio{Out: &out, Err: &out}); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if want := "0: " + device.Info().Renderer + ", UUID " + device.Info().Capabilities.DeviceUUID; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in\n%s", want, &out)
	}
}

// openGL opens a device for a test, or skips as requireGL does.
func openGL(t *testing.T, f *option.GL) *glcompute.Device {
	t.Helper()
	requireGL(t)
	device, err := f.Open(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { device.Close() })
	return device
}
