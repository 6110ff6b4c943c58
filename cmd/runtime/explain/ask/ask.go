package ask

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ringmaster/cmd/runtime/explain"
	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry/decisionlog"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
	"ringmaster/telemetry/natsio/decided"
)

// ErrNotKept says that the stream does not have what is to be explained.
var ErrNotKept = errors.New("is not kept")

// Queue explains a decision of a queue by its number, or the last one if that is 0. The error wraps
// natsio.ErrNoDecisions, ErrNotKept, natsio.ErrNotPermitted or ctx's error.
func Queue(ctx context.Context, conn *natsio.Conn, worker, queue string, number uint64) (explain.Explanation, error) {
	return of(ctx, conn, worker, queue, number, func() explain.Heard { return hear(ctx, conn, worker, queue) })
}

// Decisions explains the last decision by the decisions and what a runtime knows itself: it may not ask what others may.
func Decisions(ctx context.Context, conn *natsio.Conn, worker, queue string, heard explain.Heard) (explain.Explanation, error) {
	return of(ctx, conn, worker, queue, 0, func() explain.Heard { return heard })
}

func of(ctx context.Context, conn *natsio.Conn, worker, queue string, number uint64, beside func() explain.Heard) (explain.Explanation, error) {
	all, damaged, err := read(ctx, conn, worker, queue, number)
	switch {
	case err != nil:
		return explain.Explanation{}, err
	case len(all) == 0 && damaged > 0:
		return explain.Explanation{}, fmt.Errorf("%w: none of %s for %s.%s can be read by this version", ErrNotKept, text.Plural(uint64(damaged), "decision"), worker, queue)
	case len(all) == 0 && number == 0:
		return explain.Explanation{}, fmt.Errorf("%s.%s: %w", worker, queue, natsio.ErrNoRecommendation)
	case len(all) == 0 || number != 0 && all[len(all)-1].Recommendation.Decision != number:
		return explain.Explanation{}, fmt.Errorf("decision %d of %s.%s %w%s", number, worker, queue, ErrNotKept, kept(all))
	}
	var heard explain.Heard
	if number == 0 {
		heard = beside()
	}
	return explain.Of(time.Now(), worker, queue, all, heard), nil
}

// read reads the decisions of a queue, oldest first, up to a number unless that is 0, and counts those that it cannot read.
func read(ctx context.Context, conn *natsio.Conn, worker, queue string, number uint64) (all []explain.Decision, damaged int, err error) {
	err = decided.ReadQueue(ctx, conn, worker, queue, func(m decided.Message) error {
		if m.Err != nil {
			damaged++
			return nil
		}
		d, err := decisionlog.DecodeDecided(m.Stored.Recommendation.Decided)
		if err != nil {
			damaged++
			return nil
		}
		if number == 0 || m.Stored.Recommendation.Decision <= number {
			all = append(all, explain.Decision{Sequence: m.Sequence, At: m.At, Recommendation: &m.Stored.Recommendation, Decided: d})
		}
		return nil
	})
	return all, damaged, err
}

func kept(all []explain.Decision) string {
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf(": the newest before it is %d", all[len(all)-1].Recommendation.Decision)
}

// hear asks what is known beside the decisions; what may not be asked is not known.
func hear(ctx context.Context, conn *natsio.Conn, worker, queue string) (h explain.Heard) {
	is := func(b bool) *bool { return &b }
	switch _, _, err := client.Snapshot(ctx, conn, worker, queue); {
	case err == nil:
		h.Decided = is(true)
	case errors.Is(err, natsio.ErrNoRuntime), errors.Is(err, natsio.ErrNoRecommendation):
		h.Decided = is(false)
	}
	if counts, err := client.StoredBatches(ctx, conn); err == nil {
		n := uint64(0)
		for _, q := range counts {
			if q.Worker == worker && q.Queue == queue {
				n = q.Messages
			}
		}
		h.Stored = &n
	}
	return h
}
