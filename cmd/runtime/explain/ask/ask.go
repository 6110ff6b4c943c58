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

// When is which decision is meant: that of a number, the last one up to a time, or the last one of all if both are zero.
type When struct {
	Number uint64
	Time   time.Time
}

// until reports whether a decision is not after what is meant.
func (w When) until(number uint64, at time.Time) bool {
	return (w.Number == 0 || number <= w.Number) && (w.Time.IsZero() || !at.After(w.Time))
}

// Queue explains a decision of a queue. The error wraps
// natsio.ErrNoDecisions, ErrNotKept, natsio.ErrNotPermitted or ctx's error.
func Queue(ctx context.Context, conn *natsio.Conn, worker, queue string, when When) (explain.Explanation, error) {
	return of(ctx, conn, worker, queue, when, func() explain.Heard { return hear(ctx, conn, worker, queue) })
}

// Decisions explains the last decision by the decisions and what a runtime knows itself: it may not ask what others may.
func Decisions(ctx context.Context, conn *natsio.Conn, worker, queue string, heard explain.Heard) (explain.Explanation, error) {
	return of(ctx, conn, worker, queue, When{}, func() explain.Heard { return heard })
}

func of(ctx context.Context, conn *natsio.Conn, worker, queue string, when When, beside func() explain.Heard) (explain.Explanation, error) {
	all, damaged, err := read(ctx, conn, worker, queue, when)
	switch {
	case err != nil:
		return explain.Explanation{}, err
	case len(all) == 0 && damaged > 0:
		return explain.Explanation{}, fmt.Errorf("%w: none of %s for %s.%s can be read by this version", ErrNotKept, text.Plural(uint64(damaged), "decision"), worker, queue)
	case len(all) == 0 && when == (When{}):
		return explain.Explanation{}, fmt.Errorf("%s.%s: %w", worker, queue, natsio.ErrNoRecommendation)
	case len(all) == 0 && when.Number == 0:
		return explain.Explanation{}, fmt.Errorf("a decision of %s.%s up to %s %w", worker, queue, when.Time.UTC().Format(time.RFC3339), ErrNotKept)
	case len(all) == 0 || when.Number != 0 && all[len(all)-1].Recommendation.Decision != when.Number:
		return explain.Explanation{}, fmt.Errorf("decision %d of %s.%s %w%s", when.Number, worker, queue, ErrNotKept, kept(all))
	}
	var heard explain.Heard
	if when == (When{}) {
		heard = beside()
	}
	return explain.Of(time.Now(), worker, queue, all, heard), nil
}

// read reads the decisions of a queue up to one, oldest first, and counts those that it cannot read.
func read(ctx context.Context, conn *natsio.Conn, worker, queue string, when When) (all []explain.Decision, damaged int, err error) {
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
		if when.until(m.Stored.Recommendation.Decision, m.At) {
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
