//go:build cgo

package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// remembered is the memory of a worker whose cache is in a directory.
type remembered struct {
	t   *testing.T
	dir string
}

func (m remembered) Recall(device string, key cache.Key, after uint64) (cache.Entry, uint64, bool) {
	c := cache.Open(cache.Options{Dir: m.dir, Device: device, Max: 8, Log: slog.New(slog.DiscardHandler)})
	<-c.Loaded()
	e, ok := c.Get(key)
	if err := c.Close(); err != nil {
		m.t.Error(err)
	}
	return e, after + 1, ok && after == 0
}

func (m remembered) Remember(string, cache.Entry) {}

func TestWhatTuneStoresIsWhereAWorkersTunerBegins(t *testing.T) {
	requireGL(t)
	dir := t.TempDir()
	got := ringmaster(t, t.Context(), "", "tune", "--slots", "add a0=1 a1=0..4096/1", "--ring", "3000",
		"--strategy", "search", "--seconds", "0", "--launches", "40", "--tuner-cache", dir, "--json")
	var result tuneResult
	if err := json.Unmarshal([]byte(got.stdout), &result); err != nil || got.code != 0 {
		t.Fatalf("exit code %d, %v, %s", got.code, err, got.err)
	}
	chosen := result.chosen()
	if chosen == nil || result.Stored == "" || result.Slots != 3000 {
		t.Fatalf("%+v", result)
	}
	// A launch report as a worker with this device has it, at a geometry of its own.
	device := openGL(t, &option.GL{Backend: "auto"})
	worker := worker.Announcement(device, nil)
	standard := policy.Standard()
	env := session.Env{Mode: session.On, Spaces: session.NewSpaces(&standard), Limits: megakernel.LimitsOf(device), Device: actors.IdentityOf(&worker), Memory: remembered{t, dir}}
	clock := telemetry.TimeWall
	if !device.Info().Software {
		clock = telemetry.TimeQuery
	}
	report := session.Report{
		Program: kernel.NewIdentities(nil).Of(kernel.Kernel{Kind: kernel.Interpreter, Width: 256}), Named: true, Source: uint8(clock),
		Geometry: policy.Geometry{Width: 256, Groups: 8, Chunk: 256}, Slots: 2500, Ns: 1_000_000, WallNs: 1_100_000,
	}
	var s session.Session
	if _, err := s.Observe(&env, &report); err != nil {
		t.Fatal(err)
	}
	want := policy.Geometry{Width: chosen.Width, Groups: chosen.Groups, Chunk: chosen.Chunk, Depth: chosen.Depth}
	asked, _ := s.View().For(2500, session.NoLook)
	if asked == (policy.Geometry{}) { // the choice is the policy's own
		plan, _, err := policy.Decide(&standard, &policy.Request{QueueLen: 4096, Limits: env.Limits}, policy.State{})
		if err != nil {
			t.Fatal(err)
		}
		asked = plan.Geometry()
		asked.Depth = 0
	}
	if asked.Depth == 0 {
		asked.Depth = 4096 // the whole launch, which is the bucket's
	}
	if asked != want {
		t.Errorf("the worker asks for %+v, tune chose %+v", asked, want)
	}
}

func TestTuneSweepsThisMachinesRing(t *testing.T) {
	requireGL(t)
	picture := filepath.Join(t.TempDir(), "tune.svg")
	for _, name := range []string{"light-256", "heavy-256"} {
		got := ringmaster(t, t.Context(), "", "tune", "--workload", name, "--launches", "60", "--seconds", "0", "--tuner-cache=", "--picture", picture)
		if got.code != 0 || got.err != "" {
			t.Fatalf("exit code %d, %s", got.code, got.err)
		}
		if drawn, err := os.ReadFile(picture); err != nil || strings.Count(string(drawn), `<circle class="strong"`) != 1 || !strings.Contains(string(drawn), "A launch of "+name) {
			t.Errorf("the picture: %v, %s", err, drawn)
		}
		if strings.Contains(got.stdout, "stored") {
			t.Errorf("stored without a directory:\n%s", got.stdout)
		}
		for _, want := range []string{name + ", 256 slots, on", "sweep, 60 launches", "WIDTH", "VS BEST", "<- chosen"} {
			if !strings.Contains(got.stdout, want) {
				t.Errorf("%q is not in:\n%s", want, got.stdout)
			}
		}
	}
}

func TestTuneSaysBeforeItMeasuresThatANewerVersionKeepsItFromStoring(t *testing.T) {
	requireGL(t)
	dir := t.TempDir()
	tune := func() outcome {
		return ringmaster(t, t.Context(), "", "tune", "--workload", "light-256", "--launches", "8", "--seconds", "0", "--tuner-cache", dir)
	}
	if got := tune(); got.code != 0 || !strings.Contains(got.stdout, "stored in") {
		t.Fatalf("exit code %d, %s, %s", got.code, got.stdout, got.err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.toml"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], bytes.Replace(text, []byte("schema = 1"), []byte("schema = 99"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tune(); got.code != 1 || !strings.Contains(got.err, "could not be stored; name another") || !strings.Contains(got.err, "newer schema") || got.stdout != "" {
		t.Errorf("exit code %d, %s, %s", got.code, got.stdout, got.err)
	}
}

func TestTuneSaysWhyAWorkloadCannotBeTunedFor(t *testing.T) {
	requireGL(t)
	for slots, want := range map[string]string{
		"fence":                "drained over and over",
		"yield a0=2":           "drained over and over",
		"load a0=99999999":     "1 of 1 slots fault",
		"copy a0=0 a1=0 a2=-1": "slot is malformed",
	} {
		got := ringmaster(t, t.Context(), "", "tune", "--slots", slots, "--tuner-cache=", "--seconds", "1")
		if got.code != 1 || !strings.Contains(got.err, "cannot be tuned for") || !strings.Contains(got.err, want) {
			t.Errorf("%s: exit code %d, %q", slots, got.code, got.err)
		}
	}
}

func TestTheRingRunsAnyGeometryOfItsSpace(t *testing.T) {
	device := openGL(t, &option.GL{Backend: "auto"})
	set := exampleOpcodes(t)
	load, err := ownLoad([]string{"add a0=1 a1=7 x3", "nop"}, 700, 16, set)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newTuneRing(device, nil, load)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Put(load); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < r.Space.Len(); i += 7 {
		report, err := r.Launch(r.Space.At(i))
		if err != nil || report.Slots != 700 || report.Ns == 0 || report.Geometry != r.Space.At(i) {
			t.Fatalf("%+v: %+v, %v", r.Space.At(i), report, err)
		}
	}
	if _, err := r.Launch(policy.Geometry{Width: 1 << 20, Groups: 1, Chunk: 32}); err == nil {
		t.Error("a geometry beyond the device ran")
	}
}
