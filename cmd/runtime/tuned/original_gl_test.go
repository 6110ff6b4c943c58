//go:build cgo

package tuned_test

import (
	"bytes"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/reference"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// candidates runs batches and returns how many launches of each width were reported.
func (r *tunedRun) candidates(batches int) map[uint32]int {
	r.t.Helper()
	widths := make(map[uint32]int)
	for range batches {
		r.batch()
		for len(r.applied) > 0 {
			l := <-r.applied
			widths[l.Applied.WorkgroupSizeX]++
		}
	}
	return widths
}

func swept(widths map[uint32]int) bool {
	return !slices.ContainsFunc(reference.Widths[:], func(w uint32) bool { return widths[w] == 0 })
}

// The ring is driven by the original's policy and tuner. A sweep takes a launch of each width; later there is
// none, because what it selected outlives the process. The mode on of the original runs what the sweep of its
// mode natural selected, and unlike that one it does not go on to look at other widths.
func TestTheOriginalsTunerDrivesTheRingAndItsCacheSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	quiet := slog.New(slog.DiscardHandler)
	r := startRun(t, dir, session.Reference, policy.Reference(), quiet)
	if widths := r.candidates(100); !swept(widths) {
		t.Errorf("no sweep: %v", widths)
	}
	rec, _ := r.n.System().Latest("w1", "q")
	if !slices.ContainsFunc(rec.Reasons, func(why telemetry.Reason) bool { return why.Rule == policy.RuleTuned.String() }) {
		t.Errorf("the recommendation does not say that it is tuned: %+v", rec.Reasons)
	}
	r.close()
	file := originalsFile(t, dir)
	data, err := os.ReadFile(file)
	if err != nil || bytes.Count(data, []byte("[[entry]]")) < 2 {
		t.Fatalf("%v, %s", err, data)
	}

	again := startRun(t, dir, session.ReferenceOn, policy.Reference(), quiet)
	again.candidates(20) // the file is read behind the first launches
	widths := slices.Collect(maps.Keys(again.candidates(40)))
	again.close()
	if len(widths) != 1 || !slices.Contains(reference.Widths[:], widths[0]) {
		t.Errorf("a restart runs %v", widths)
	}

	if err := os.WriteFile(file, []byte("\x00 is no selection\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log lines
	damaged := startRun(t, dir, session.ReferenceOn, policy.Reference(), slog.New(slog.NewTextHandler(&log, nil)))
	if widths := damaged.candidates(100); !swept(widths) {
		t.Errorf("no sweep with a damaged file: %v", widths)
	}
	damaged.close()
	if text := log.String(); !strings.Contains(text, "tuner cache is not used") || !strings.Contains(text, "not a tuner cache") {
		t.Errorf("the log does not say what is wrong with the file: %s", text)
	}
	if kept, err := filepath.Glob(file + ".kept-*"); err != nil || len(kept) != 1 {
		t.Errorf("the damaged file is not kept aside: %v, %v", kept, err)
	}
}

// originalsFile is the file of what the original selected.
func originalsFile(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "natural-launch-feedback-v1-*.toml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	return files[0]
}

// lines is a log in memory.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
