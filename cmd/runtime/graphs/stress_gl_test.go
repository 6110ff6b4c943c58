//go:build cgo

package graphs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"ringmaster/telemetry/natsio"
)

// Whatever comes together ends, with an error that says why if it could not be, and leaves books that are right.
func TestRequestsAboutTheSameGraphsThatComeTogetherAllEnd(t *testing.T) {
	budget := 12 * gridBytes(20, 20)
	s := newRingStore(t, budget+200_000) // of which a job takes most
	const clients, requests = 6, 60
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(client), 0))
			for range requests {
				queue, name := fmt.Sprint("q", rng.IntN(2)), fmt.Sprint("g", rng.IntN(3))
				ctx, cancel := context.WithCancelCause(t.Context())
				if rng.IntN(4) == 0 {
					go cancel(natsio.ErrGraphCanceled)
				}
				var err error
				switch rng.IntN(6) {
				case 0, 1:
					err = s.load(t, queue, name, []string{"grid:20x20", "path:400", "grid:9x9"}[rng.IntN(3)])
				case 2:
					err = s.drop(graphKey{queue, name}, true)
				default:
					err = s.search(ctx, queue, name)
				}
				cancel(nil)
				switch {
				case err == nil, errors.Is(err, natsio.ErrNoGraph), errors.Is(err, natsio.ErrGraphCanceled), errors.Is(err, natsio.ErrGraphBusy),
					errors.Is(err, natsio.ErrGraphTooLarge), errors.Is(err, natsio.ErrGraphRequest):
				default:
					t.Error(err)
				}
				s.mu.Lock()
				if used := s.used() + s.running(); used > s.Budget {
					t.Errorf("%d bytes are taken of %d", used, s.Budget)
				}
				s.mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(s.runs)+len(s.line)+len(s.entered)+len(s.lastRun) != 0 || s.loading != 0 {
		t.Errorf("left are the runs %v, those that wait %v, and %d bytes that are being loaded", s.runs, s.entered, s.loading)
	}
	if err := errors.Join(s.load(t, "q0", "g0", "grid:20x20"), s.search(t.Context(), "q0", "g0")); err != nil {
		t.Error(err)
	}
}
