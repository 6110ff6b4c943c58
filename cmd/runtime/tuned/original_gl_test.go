//go:build cgo

package tuned_test

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/texttest"
	"ringmaster/megakernel/tuner/reference"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// until runs batches until something is so. It returns how many launches of each width were reported.
func (r *tunedRun) until(so func(widths map[uint32]int) bool) map[uint32]int {
	r.t.Helper()
	widths := make(map[uint32]int)
	for n := 0; !so(widths); n++ {
		if n == 3000 {
			r.t.Fatalf("not after %d batches: %v", n, widths)
		}
		r.batch()
		for len(r.applied) > 0 {
			l := <-r.applied
			widths[l.Applied.WorkgroupSizeX]++
		}
	}
	return widths
}

// swept says whether each of the original's widths ran.
func swept(widths map[uint32]int) bool {
	return !slices.ContainsFunc(reference.Widths[:], func(w uint32) bool { return widths[w] == 0 })
}

// The ring is driven by the original's policy and tuner. A sweep takes a launch of each width. After a restart
// there is none, because what the sweep selected is in the file; with a damaged file there is one again.
func TestTheOriginalsTunerDrivesTheRingAndItsCacheSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	quiet := slog.New(slog.DiscardHandler)
	r := startRun(t, dir, session.ReferenceOn, policy.Reference(), quiet)
	selected := func(r *tunedRun) bool { _, entries := r.memory.Read(); return entries > 0 }
	r.until(func(widths map[uint32]int) bool { return swept(widths) && selected(r) })
	rec, _ := r.n.System().Latest("w1", "q")
	if !slices.ContainsFunc(rec.Reasons, func(why telemetry.Reason) bool { return why.Rule == policy.RuleTuned.String() }) {
		t.Errorf("the recommendation does not say that it is tuned: %+v", rec.Reasons)
	}
	r.close()
	file, width := originalsFile(t, dir)

	again := startRun(t, dir, session.ReferenceOn, policy.Reference(), quiet)
	// The first report opens the file, behind which launches go on.
	before := again.until(func(map[uint32]int) bool { places, _ := again.memory.Read(); return places == 2 })
	ran := again.until(func(widths map[uint32]int) bool { return again.recommended().Width == width && widths[width] >= 40 })
	maps.Copy(ran, before)
	again.close()
	if swept(ran) {
		t.Errorf("%d is selected, a restart runs %v", width, ran)
	}

	if err := os.WriteFile(file, []byte("\x00 is no selection\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log texttest.Log
	damaged := startRun(t, dir, session.Reference, policy.Reference(), slog.New(slog.NewTextHandler(&log, nil)))
	damaged.until(func(widths map[uint32]int) bool { return swept(widths) && selected(damaged) })
	damaged.close()
	if text := log.String(); !strings.Contains(text, "tuner cache is not used") || !strings.Contains(text, "not a tuner cache") {
		t.Errorf("the log does not say what is wrong with the file: %s", text)
	}
	if _, err := os.Stat(file + ".kept"); err != nil {
		t.Errorf("the damaged file is not kept aside: %v", err)
	}
}

// originalsFile is the file of what the original selected, and the one width in it.
func originalsFile(t *testing.T, dir string) (file string, width uint32) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "natural-launch-feedback-v1-*.toml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	_, at, _ := strings.Cut(string(text), "selected = [")
	if n, err := fmt.Sscan(at, &width); n != 1 || !slices.Contains(reference.Widths[:], width) {
		t.Fatalf("no selection in %s: %v", text, err)
	}
	return files[0], width
}
