package policy

import (
	"testing"

	"pgregory.net/rapid"
)

// Accepts tells beforehand what a plan without shedding does with an opinion.
func TestAcceptedGeometriesRunAsTheyAre(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest.Draw(t, "req")
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
