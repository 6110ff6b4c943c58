package worker

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/glcompute"
)

func TestSecondProcessForAWorkerOrItsDeviceIsRefused(t *testing.T) {
	dir := t.TempDir()
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	gpu := glcompute.Info{Renderer: "GPU X/9", Capabilities: glcompute.Capabilities{DeviceUUID: "0123456789abcdef0123456789abcdef"}}
	first, err := ClaimWorker(dir, "w1", "nats://a:4222-x.v1", gpu, false, log)
	if err != nil || said.Len() > 0 {
		t.Fatalf("%v, logged %s", err, &said)
	}
	if _, err := ClaimWorker(dir, "w1", "nats://a:4222-x.v1", gpu, false, log); err == nil || !strings.Contains(err.Error(), "worker w1 on GPU X/9, process ") {
		t.Errorf("the same worker again: %v", err)
	}
	// Another worker, or the same name on another bus, shares the GPU knowingly.
	for _, other := range [][2]string{{"w2", "nats://a:4222-x.v1"}, {"w1", "nats://b:4222-x.v1"}} {
		said.Reset()
		if _, err := ClaimWorker(dir, other[0], other[1], gpu, false, log); err == nil || !strings.Contains(err.Error(), "worker w1 on GPU X/9") ||
			!strings.Contains(err.Error(), "--share-device") {
			t.Errorf("%v, not sharing: %v", other, err)
		}
		c, err := ClaimWorker(dir, other[0], other[1], gpu, true, log)
		must(t, err)
		if !strings.Contains(said.String(), "worker w1 on GPU X/9") {
			t.Errorf("%v: not warned about the first: %s", other, &said)
		}
		c.Release()
	}
	// A software renderer is nobody's alone.
	said.Reset()
	gpu.Software = true
	c, err := ClaimWorker(dir, "w3", "", gpu, false, log)
	if err != nil || said.Len() > 0 {
		t.Errorf("on the CPU: %v, logged %s", err, &said)
	}
	c.Release()
	// An embedded server has one worker.
	gpu.Software = true
	for range 2 {
		c, err := ClaimWorker(dir, "w1", "", gpu, false, log)
		if err != nil || said.Len() > 0 {
			t.Errorf("beside an embedded server: %v, logged %s", err, &said)
		}
		defer c.Release()
	}
	first.Release()
	gpu.Software = false
	again, err := ClaimWorker(dir, "w1", "nats://a:4222-x.v1", gpu, false, log)
	if err != nil || said.Len() > 0 {
		t.Errorf("after the first ended: %v, logged %s", err, &said)
	}
	again.Release()
}

// A worker that comes back on a disk that takes nothing serves all the same.
func TestAWorkerServesWhereNoFileCanBeLocked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	var said bytes.Buffer
	c, err := ClaimWorker(file+"/workers", "w1", "nats://a:4222-x.v1", glcompute.Info{Renderer: "GPU X/9"}, false, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil || !strings.Contains(said.String(), "cannot tell whether another process serves this worker") {
		t.Fatalf("%v, logged %s", err, &said)
	}
	c.Release()
}
