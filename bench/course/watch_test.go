package course

import (
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry"
)

// A batch that is incomplete, unknown or refused ends its cell; a done record that comes twice does not.
func TestNothingIsLostInSilence(t *testing.T) {
	for _, c := range []struct {
		want string
		tell func(*watch)
	}{
		{"", func(w *watch) { w.onDone("", "q", nil, &telemetry.Done{Batch: "c-0", Executed: 10}) }},
		{"9 of 10 slots ran", func(w *watch) { w.onDone("", "q", nil, &telemetry.Done{Batch: "c-1", Executed: 9, Dropped: 1}) }},
		{"was not submitted", func(w *watch) { w.onDone("", "q", nil, &telemetry.Done{Batch: "c-2", Executed: 10}) }},
		{"was not submitted", func(w *watch) { w.onDone("", "q", nil, &telemetry.Done{Batch: "c-3", Executed: 10}) }},
		{"was not submitted", func(w *watch) { w.onDone("", "q", nil, &telemetry.Done{Batch: "no number", Executed: 10}) }},
		{"refused", func(w *watch) { w.onRejected("", "q", nil, &telemetry.Rejected{Reason: "crowded"}) }},
		{"failed: lost", func(w *watch) {
			w.onLaunch("", "q", nil, &telemetry.Launch{Status: telemetry.LaunchFailed, Error: "lost"})
		}},
	} {
		w, load := newWatch(nil), &queueLoad{}
		first := w.number(3) // the last is not submitted
		w.expect(first, load, 10, time.Now())
		w.expect(first+1, load, 10, time.Now())
		c.tell(w)
		c.tell(w)
		open, err := w.state()
		if c.want == "" && (err != nil || open != 2 || load.outstanding.Load() != 10) {
			t.Errorf("one of three done twice: %d open, %v, %d slots outstanding", open, err, load.outstanding.Load())
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestChangesAreOfWhatIsLaunched(t *testing.T) {
	w := newWatch(nil)
	now := time.Now()
	w.count(now.Add(-time.Hour), now.Add(time.Hour))
	launch := func(queue string, groups, depth uint32) {
		w.onLaunch("", queue, nil, &telemetry.Launch{
			Kernel: "k", Applied: telemetry.Geometry{WorkgroupSizeX: 64, Groups: groups, ClaimChunk: 64}, AppliedDepth: depth, ElapsedNs: 5,
		})
	}
	for _, groups := range []uint32{1, 1, 2, 2, 1} {
		launch("a", groups, 100)
		launch("b", 7, 100)
	}
	launch("b", 7, 200)
	if w.launches != 11 || w.changes != 3 || w.deviceTime["a"] != 25 || w.deviceTime["b"] != 30 {
		t.Errorf("%d launches, %d changes, %v", w.launches, w.changes, w.deviceTime)
	}
}
