package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// A decider's plans are what is launched, and a launch waits for a full one or for the hold.
func TestADeciderPlansAndHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hold = 10 * time.Millisecond
		cfg := DefaultConfig()
		cfg.Incarnation = 99
		cfg.Decider = func(queue string, r *policy.Request, before policy.State) (policy.Recommendation, policy.State, time.Duration, error) {
			return policy.Recommendation{
				WorkgroupSizeX: 48, DispatchGrid: [3]uint32{7, 1, 1}, ClaimChunk: 48, BatchDepth: 100, InFlight: 1,
			}, before, hold, nil
		}
		s, err := New(cfg, newCountingPublisher())
		must(t, err)
		defer s.Close()
		engine := &depthEngine{}
		must(t, s.AttachEngine("gpu0", testLimits, 0, engine))
		submit := func(id string, slots int) {
			work := telemetry.Work{Batch: id, Slots: make([]telemetry.Slot, slots)}
			s.Submit("gpu0", "gpu0", "q", &work, 0, func(telemetry.Outcome, error) {})
			synctest.Wait()
		}
		launches := func(want int) {
			t.Helper()
			flights, _, started := engine.underWay()
			if started != want {
				t.Fatalf("%d launches, want %d", started, want)
			}
			for _, f := range flights {
				if g := f.order.Plan.Geometry(); g != (policy.Geometry{Width: 48, Groups: 7, Chunk: 48, Depth: 100}) {
					t.Errorf("launched %v", g)
				}
				engine.land(0, false)
			}
			synctest.Wait()
		}

		submit("a", 10)
		launches(0)
		time.Sleep(hold - time.Millisecond)
		submit("b", 10) // does not begin the hold again
		launches(0)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		launches(1)

		submit("c", 60)
		launches(1)
		submit("d", 60) // more than a launch takes
		launches(2)
		time.Sleep(hold)
		synctest.Wait()
		launches(3) // what that launch left

		submit("e", 100)
		flights, _, _ := engine.underWay()
		submit("f", 10)
		flights[0].settle(Report{Launch: telemetry.Launch{Executed: 50, Requeued: 50}, Pending: 50})
		synctest.Wait()
		if _, _, started := engine.underWay(); started != 5 {
			t.Errorf("%d launches: what a launch could not do has waited already", started)
		}
	})
}
