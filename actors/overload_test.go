package actors

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"ringmaster/telemetry"
)

// A flood is several publishers that send records for many queues as fast as
// the system takes them.
const (
	floodQueues     = 64
	floodPublishers = 4
)

// floodWatch is a publisher of recommendations that checks, for every queue,
// that answers never go back, and keeps the age of what they answer: from the
// arrival of the newest record a decision knows to its publication.
type floodWatch struct {
	countingPublisher
	queues map[string]*answered
}

type answered struct {
	mu       sync.Mutex
	seq      uint64
	backward int
	ages     []time.Duration
}

func (w *floodWatch) Recommend(_, queue string, r *telemetry.Recommendation, _ []string) {
	if r.Heartbeat {
		return
	}
	now := time.Now().UnixNano()
	q := w.queues[queue]
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.AnsweredSeq < q.seq {
		q.backward++
	}
	q.seq = r.AnsweredSeq
	q.ages = append(q.ages, time.Duration(now-r.AnsweredSentNs))
}

// flood sends records of every queue until rounds of them are through, and
// returns when every queue has answered its newest one. Each publisher owns
// its share of the queues, so the records of a queue are in order.
func flood(tb testing.TB, rounds int) (*System, *floodWatch) {
	watch := &floodWatch{queues: make(map[string]*answered)}
	names := make([]string, floodQueues)
	for i := range names {
		names[i] = fmt.Sprint("q", i)
		watch.queues[names[i]] = new(answered)
	}
	s := newSystem(tb, watch)
	if err := s.Announce("gpu0", workerRecord(5, 1)); err != nil {
		tb.Fatal(err)
	}
	var publishers sync.WaitGroup
	for p := range floodPublishers {
		publishers.Go(func() {
			for n := range rounds {
				for i := p; i < floodQueues; i += floodPublishers {
					r := queueRecord(7, uint64(n+1), uint32((n*37+i)%9000))
					r.SentNs = time.Now().UnixNano()
					if err := s.Ingest("gpu0", names[i], r, time.Now(), ""); err != nil {
						tb.Error(err)
					}
				}
			}
		})
	}
	publishers.Wait()
	for _, q := range watch.queues {
		for q.newest() != uint64(rounds) {
			runtime.Gosched()
		}
	}
	return s, watch
}

func (q *answered) newest() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.seq
}

// At overload every record is either decided on or folded into a newer one,
// answers come in order, and the newest record of every queue is answered.
func TestAFloodIsFoldedInOrderAndWithoutLoss(t *testing.T) {
	const rounds = 500
	s, watch := flood(t, rounds)
	defer s.Close()
	for name, q := range watch.queues {
		q.mu.Lock()
		if q.backward != 0 {
			t.Errorf("queue %s: %d answers to older records than the answer before had", name, q.backward)
		}
		q.mu.Unlock()
	}
	st := s.Stats()
	if st.Records != rounds*floodQueues || st.Decisions+st.Folded != st.Records {
		t.Errorf("%d records, %d decisions and %d folded", st.Records, st.Decisions, st.Folded)
	}
	if st.DeadLetters != 0 || st.Restarts != 0 || st.RecordsRefused != 0 {
		t.Errorf("stats %+v", st)
	}
}

// BenchmarkOverload reports how old the newest record of a queue is when a
// decision on it is published, while publishers send as fast as they can. An
// operation is one record.
func BenchmarkOverload(b *testing.B) {
	rounds := b.N/floodQueues + 1
	begin := time.Now()
	s, watch := flood(b, rounds)
	defer s.Close()
	took := time.Since(begin)
	var ages []time.Duration
	for _, q := range watch.queues {
		ages = append(ages, q.ages...)
	}
	slices.Sort(ages)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	b.ReportMetric(ms(ages[len(ages)/2]), "age-p50-ms")
	b.ReportMetric(ms(ages[len(ages)*99/100]), "age-p99-ms")
	b.ReportMetric(ms(ages[len(ages)-1]), "age-max-ms")
	b.ReportMetric(float64(len(ages))/took.Seconds(), "decisions/s")
	b.ReportMetric(float64(rounds*floodQueues)/took.Seconds(), "records/s")
}

// However many batches wait for the worker actor, a launch that came back is taken before them:
// the device waits for the next one. Both keep their order, and one wake is asked for.
func TestALaunchThatCameBackIsTakenBeforeWaitingBatches(t *testing.T) {
	var in inbox
	put := []any{&batch{number: 1}, &launchResult{launch: 1}, &batch{number: 2}, &launchResult{launch: 2}}
	wakes := 0
	for _, item := range put {
		if wake, ok := in.put(item); !ok {
			t.Fatal("an open inbox refuses")
		} else if wake {
			wakes++
		}
	}
	for i, want := range []any{put[1], put[3], put[0], put[2]} {
		if got, ok := in.next(); !ok || got != want {
			t.Errorf("number %d is %#v, want %#v", i, got, want)
		}
	}
	if _, ok := in.next(); ok || wakes != 1 {
		t.Errorf("something is left: %v, %d wakes", ok, wakes)
	}
	if wake, _ := in.put(put[1]); !wake {
		t.Error("an inbox that was empty asks for no wake")
	}
	if left := in.close(); len(left) != 1 || left[0] != put[1] {
		t.Errorf("left %v", left)
	}
}
