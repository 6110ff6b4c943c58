package policy

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// Accepts tells beforehand what a plan without shedding, of a queue that is alone, does with an
// opinion.
func TestAcceptedGeometriesRunAsTheyAre(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest.Draw(t, "req")
		req.OtherQueues, req.TargetMs = 0, 0
		rec, _, err := Decide(&cfg, &req, State{})
		if err != nil {
			t.Skip("no plan")
		}
		g := Geometry{rec.WorkgroupSizeX, rec.DispatchGrid[0], rec.ClaimChunk, rec.BatchDepth}
		if got := cfg.Accepts(&req.Limits, rec.WorkerGroups, req.Tuned); got != (g == req.Tuned) {
			t.Fatalf("%+v at a ceiling of %d: accepts %v, runs %+v", req.Tuned, rec.WorkerGroups, got, g)
		}
		if all := TunedWidth | TunedGroups | TunedChunk | TunedDepth; (rec.Tuned == all) != (g == req.Tuned) {
			t.Fatalf("%+v runs %+v, evidence %04b", req.Tuned, g, rec.Tuned)
		}
	})
}

// What the original's policy runs of its own accord is no geometry that was asked for.
func TestReferenceAcceptsNoGeometry(t *testing.T) {
	cfg := Reference()
	cfg.TuneGeometry = true
	req := newCase().req
	req.QueueLen = 0
	rec, _, err := Decide(&cfg, &req, State{})
	if g := rec.Geometry(); err != nil || cfg.Accepts(&req.Limits, 0, g) {
		t.Errorf("%v, %v", g, err)
	}
}

// The original's policy has a place for its tuner's width, and for nothing else of it.
func TestReferenceTakesTheWidthIfItMayBeTuned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req, prev := anyRequest.Draw(t, "req"), anyState.Draw(t, "prev")
		req.Tuned = Geometry{}
		ref, tuned := Reference(), Reference()
		tuned.TuneGeometry = true
		a, as, err := Decide(&ref, &req, prev)
		b, bs, err2 := Decide(&tuned, &req, prev)
		if a != b || as != bs || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("without an opinion of the tuner: %+v, %v\nthen %+v, %v", a, err, b, err2)
		}
		req.Tuned = Geometry{
			rapid.Uint32Range(0, 2048).Draw(t, "width"), rapid.Uint32().Draw(t, "groups"),
			rapid.Uint32().Draw(t, "chunk"), rapid.Uint32().Draw(t, "depth"),
		}
		b, _, err2 = Decide(&tuned, &req, prev)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("%v, then %v", err, err2)
		}
		want := a.WorkgroupSizeX
		if w := req.Tuned.Width; w != 0 && w <= req.Limits.MaxWidth() {
			want = w
		}
		if err == nil && (b.WorkgroupSizeX != want || b.WorkerGroups != a.WorkerGroups || b.DispatchGrid[0] > max(a.WorkerGroups, 1)) {
			t.Fatalf("%+v, asked for %+v, without %+v", b, req.Tuned, a)
		}
	})
}
