package actors

import (
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// leaseEngine is an engine whose resident kernel has room for so many slots.
type leaseEngine struct {
	promptEngine
	slots uint32
}

func (e *leaseEngine) Lease() policy.Lease { return policy.Lease{Slots: e.slots} }

// recommended is what a worker's queue q is told of a request of some hits.
func recommended(t *testing.T, e Engine, memoryBudget uint64, hits uint32) telemetry.Recommendation {
	t.Helper()
	defer goleak.VerifyNone(t)
	pub := newCountingPublisher()
	s := newSystem(t, pub)
	defer s.Close()
	must(t, s.AttachEngine("gpu0", testLimits, memoryBudget, e))
	r := queueRecord(7, 1, 1000)
	r.Queue.RequestedHitCapacity = hits
	r.Queue.Has |= telemetry.HasRequestedHitCapacity
	must(t, s.Ingest("gpu0", "q", r, time.Now(), ""))
	for {
		<-pub.changed
		if got, ok := s.Latest("gpu0", "q"); ok && got.AnsweredSeq == 1 {
			return got
		}
	}
}

func TestRecommendationSaysHowTheLaunchReachesTheDevice(t *testing.T) {
	for _, c := range []struct {
		engine Engine
		want   string
	}{{&promptEngine{}, "wave"}, {&leaseEngine{slots: 1024}, "lease"}, {&leaseEngine{slots: 256}, "wave"}} {
		if got := recommended(t, c.engine, 0, 0); got.LaunchMode != c.want || got.Error != "" {
			t.Errorf("%T: %+v", c.engine, got)
		}
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
