package ackorder

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// acknowledged are sequences in the order in which they were acknowledged, and when.
type acknowledged struct {
	order     Order
	mu        sync.Mutex
	sequences []uint64
	at        []time.Duration
	began     time.Time
}

func (a *acknowledged) take(sequences ...uint64) {
	a.began = time.Now()
	for _, s := range sequences {
		a.order.Take(s)
	}
}

func (a *acknowledged) finish(sequences ...uint64) {
	for _, s := range sequences {
		a.order.Acknowledge(s, func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.sequences = append(a.sequences, s)
			a.at = append(a.at, time.Since(a.began))
		})
	}
}

func (a *acknowledged) expect(t *testing.T, want ...uint64) {
	t.Helper()
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.sequences, want) {
		t.Errorf("acknowledged %v, want %v", a.sequences, want)
	}
}

func TestAcknowledgedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a acknowledged
		a.take(3, 1, 2, 9, 4) // deliveries of several queues
		a.finish(2, 4)
		a.expect(t)
		a.finish(1)
		a.expect(t, 1, 2)
		a.finish(3)
		a.expect(t, 1, 2, 3, 4)
		a.finish(9)
		a.expect(t, 1, 2, 3, 4, 9)
		if a.at[4] != 0 {
			t.Errorf("acknowledged after %v", a.at)
		}
	})
}

// One that takes long holds each other up for Patience, and no longer.
func TestAMessageThatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a acknowledged
		a.take(1, 2, 3, 4)
		a.finish(3)
		time.Sleep(Patience / 2)
		a.finish(2)
		a.expect(t)
		time.Sleep(Patience / 2)
		a.expect(t, 3)
		time.Sleep(Patience / 2)
		a.expect(t, 3, 2)
		time.Sleep(time.Hour)
		a.finish(1)
		a.finish(4)
		a.expect(t, 3, 2, 1, 4)
	})
}

// What is delivered again after it was given back waits again.
func TestDeliveredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a acknowledged
		a.take(1, 2)
		a.finish(1)
		a.take(1, 1)
		a.finish(2)
		a.expect(t, 1)
		a.finish(1)
		a.expect(t, 1, 1, 2)
		a.finish(7) // nobody took it
		a.expect(t, 1, 1, 2, 7)
	})
}

// What is done within Patience is acknowledged within Patience, once and in order, and nothing is kept.
func TestEachIsAcknowledgedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2000
		var a acknowledged
		random := rand.New(rand.NewPCG(1, 2))
		for i := range uint64(n) {
			a.take(i)
			took := time.Duration(random.Int64N(int64(Patience)))
			go func() {
				time.Sleep(took)
				done := time.Now()
				a.order.Acknowledge(i, func() {
					a.mu.Lock()
					defer a.mu.Unlock()
					a.sequences = append(a.sequences, i)
					if waited := time.Since(done); waited > Patience {
						t.Errorf("%d waited for %v", i, waited)
					}
				})
			}()
			time.Sleep(time.Duration(random.Int64N(int64(200 * time.Microsecond))))
		}
		time.Sleep(time.Second)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.order.mu.Lock()
		defer a.order.mu.Unlock()
		if len(a.sequences) != n || !slices.IsSorted(a.sequences) || len(a.order.open) != 0 {
			t.Errorf("%d were acknowledged, in order %v, %d are kept", len(a.sequences), slices.IsSorted(a.sequences), len(a.order.open))
		}
	})
}
