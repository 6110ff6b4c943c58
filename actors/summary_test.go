package actors

import (
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// leaseEngine is an engine that says how its launches reach the device.
type leaseEngine struct{ promptEngine }

func (*leaseEngine) LaunchMode() string { return "lease" }

// recommended is what a worker's queue q is told of a request of some hits.
func recommended(t *testing.T, e Engine, memoryBudget uint64, hits uint32) telemetry.Recommendation {
	t.Helper()
	defer goleak.VerifyNone(t)
	pub := newCountingPublisher()
	s := newSystem(t, pub)
	defer s.Close()
	if err := s.AttachEngine("gpu0", testLimits, memoryBudget, e); err != nil {
		t.Fatal(err)
	}
	r := queueRecord(7, 1, 1000)
	r.Queue.RequestedHitCapacity = hits
	r.Queue.Has |= telemetry.HasRequestedHitCapacity
	if err := s.Ingest("gpu0", "q", r, time.Now(), ""); err != nil {
		t.Fatal(err)
	}
	for {
		<-pub.changed
		if got, ok := s.Latest("gpu0", "q"); ok && got.AnsweredSeq == 1 {
			return got
		}
	}
}

func TestRecommendationHasTheLaunchModeOfItsWorker(t *testing.T) {
	if got := recommended(t, &promptEngine{}, 0, 0); got.LaunchMode != "wave" || got.Error != "" {
		t.Errorf("an engine that does not say: %+v", got)
	}
	if got := recommended(t, &leaseEngine{}, 0, 0); got.LaunchMode != "lease" || got.Error != "" {
		t.Errorf("an engine that says lease: %+v", got)
	}
}

func TestRecommendationTellsThatTheBudgetReducedItsHits(t *testing.T) {
	const wanted = 1 << 28
	whole := recommended(t, &promptEngine{}, 0, wanted)
	reduced := func(r *telemetry.Recommendation) bool {
		return slices.ContainsFunc(r.Reasons, func(why telemetry.Reason) bool { return why.Rule == policy.RuleBudget.String() && why.Value == wanted })
	}
	if reduced(&whole) || whole.HitCapacity != wanted {
		t.Errorf("without a budget: %+v", whole)
	}
	half := uint64(wanted) * uint64(policy.Standard().ScratchBytesPerHit) / 2
	if got := recommended(t, &promptEngine{}, half, wanted); !reduced(&got) || got.HitCapacity >= wanted || got.Error != "" {
		t.Errorf("with half of what it takes: %+v", got)
	}
}
