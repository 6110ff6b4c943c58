package actors

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/telemetry"
)

// While the server of the process that decides hangs, only a process that follows hears the records.
// If the follower takes over, it decides on the newest of them at once. If the first process is back
// before that, they wait for the publisher's next record, and what they counted is in that one.
func TestWhatOnlyAFollowerHeardIsNotLost(t *testing.T) {
	for _, takesOver := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store := newMemoryStore()
			var owner atomic.Int64
			var all []*System
			store.listener = func(worker, queue string, m *telemetry.Stored) {
				for _, s := range all {
					_ = s.Heard(worker, queue, m)
				}
			}
			for i := range int64(2) {
				s := process(t, store, uint64(100+i), func(string) bool { return owner.Load() == i })
				defer s.Close()
				announce(t, s, 1)
				all = append(all, s)
			}
			say := func(from, to uint64, hears ...*System) {
				for seq := from; seq <= to; seq++ {
					r := queueLength(seq)
					r.Queue.Has |= telemetry.HasRequeueCount
					r.Queue.RequeueCount = 3 * seq
					for _, s := range hears {
						must(t, s.Ingest("gpu1", "q", r, time.Now(), ""))
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
			decided := func(input uint64) {
				t.Helper()
				d := store.check(t, "gpu1.q")
				if got := d[len(d)-1].Entry.Records.Last; got != input {
					t.Errorf("taken over %t: the last decision is on input %d, want %d", takesOver, got, input)
				}
			}
			say(1, 5, all...)
			say(6, 10, all[1])
			decided(5)
			if takesOver {
				owner.Store(1)
				for _, s := range all {
					s.Reconsider("gpu1")
				}
				synctest.Wait()
				decided(10)
			}
			say(11, 11, all...)
			decided(11)
			requeues := uint64(0)
			for _, d := range store.check(t, "gpu1.q") {
				requeues += uint64(d.Entry.Request.RequeueCount)
			}
			if requeues != 33 {
				t.Errorf("taken over %t: decisions were made on %d requeues, the publisher counted 33", takesOver, requeues)
			}
		})
	}
}
