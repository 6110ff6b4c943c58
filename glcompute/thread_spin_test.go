package glcompute

import (
	"errors"
	"sync"
	"testing"
)

// A thread that looks for calls instead of sleeping runs each exactly once, on the
// way to sleep, while others send, and before it ends.
func TestThreadThatSpinsRunsEveryCallOnce(t *testing.T) {
	const callers, rounds = 4, 500
	for range 4 {
		th := newThread()
		th.spins = true
		go th.loop()
		ran, done := 0, make([]int, callers) // ran is the thread's
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				for range rounds {
					switch err := th.Do(func() error { ran++; return nil }); {
					case err == nil:
						done[i]++
					case errors.Is(err, ErrClosed):
						return
					default:
						t.Error(err)
					}
					if i == 0 && done[0] == rounds/2 {
						go th.Close()
					}
				}
			})
		}
		wg.Wait()
		th.Close()
		sum := 0
		for _, n := range done {
			sum += n
		}
		if ran != sum || sum < rounds/2 {
			t.Fatalf("%d calls ran, %d returned without an error", ran, sum)
		}
	}
}
