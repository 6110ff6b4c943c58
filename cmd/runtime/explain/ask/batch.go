package ask

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"ringmaster/cmd/runtime/explain"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
	"ringmaster/telemetry/natsio/poison"
)

// holderPatience bounds the question what a worker has in hand: without an answer a batch has no known holder.
const holderPatience = time.Second

// Batch says where a batch of a queue is; telemetry.Pool of a pool may stand for the worker. The error wraps
// natsio.ErrBadName, natsio.ErrNotPermitted or ctx's error.
func Batch(ctx context.Context, conn *natsio.Conn, worker, queue, batch string) (explain.Batch, error) {
	found, err := find(ctx, conn, worker, queue, batch)
	if err != nil {
		return explain.Batch{}, err
	}
	return explain.OfBatch(time.Now(), worker, queue, batch, found), nil
}

// find looks in the order in which a batch goes from one place to the next, so that none slips through.
func find(ctx context.Context, conn *natsio.Conn, worker, queue, batch string) (found explain.Found, err error) {
	s, err := client.FindBatch(ctx, conn, worker, queue, batch)
	if err != nil && !client.NoStream(err) {
		return found, err
	}
	if s != nil {
		found.Stored = &explain.Stored{
			Sequence: s.Sequence, At: s.At, Slots: s.Slots, Ahead: s.Ahead, AheadSlots: s.AheadSlots, HandedOut: s.HandedOut,
		}
		if found.Stored.Served, err = client.AnybodyTakes(ctx, conn, worker, queue); err != nil {
			return found, err
		}
		if s.HandedOut {
			found.Stored.Holder = holder(ctx, conn, worker, s.Sequence)
		}
		if s.Ahead > 0 {
			found.Cost, found.Depth = cost(ctx, conn, worker, queue)
		}
		return found, nil
	}
	err = poison.List(ctx, conn, worker, queue, func(b *poison.Batch) error {
		if b.Batch == batch {
			found.Aside = &explain.Aside{Number: b.Sequence, At: b.At, Slots: b.Slots, Deliveries: b.Deliveries}
		}
		return nil
	})
	if err != nil {
		return found, err
	}
	done, at, err := client.FindDone(ctx, conn, worker, queue, batch)
	if err != nil && !client.NoStream(err) {
		return found, err
	}
	if done != nil {
		found.Ended = &explain.Ended{At: at, Done: done}
		if found.Aside != nil && at.After(found.Aside.At) && !strings.HasPrefix(done.Error, "given up") {
			found.Aside = nil // it was submitted again since
		}
	}
	if found.Aside == nil && found.Ended == nil {
		past, err := client.LookBack(ctx, conn, worker, queue)
		if err != nil {
			return found, err
		}
		found.Past = (*explain.Past)(&past)
	}
	return found, nil
}

// cost is what launches of a queue take by its last decision, and how many slots one has at most.
func cost(ctx context.Context, conn *natsio.Conn, worker, queue string) (policy.Cost, uint32) {
	if _, pool := telemetry.PoolOf(worker); pool {
		return policy.Cost{}, 0 // each worker of it takes its own
	}
	all, _, err := read(ctx, conn, worker, queue, When{})
	if err != nil || len(all) == 0 {
		return policy.Cost{}, 0
	}
	last := &all[len(all)-1]
	return last.Entry.Request.Cost, last.Recommendation.BatchDepth
}

// holder asks a worker whether it has a batch. A pool's workers are not known, so nil.
func holder(ctx context.Context, conn *natsio.Conn, worker string, sequence uint64) *explain.Holder {
	if _, pool := telemetry.PoolOf(worker); pool {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, holderPatience)
	defer cancel()
	answer, err := conn.AskService(ctx, "state."+worker)
	if err != nil {
		return nil
	}
	var state struct {
		MaxDeliveries uint64 `json:"max_deliveries"`
		Batches       []struct {
			Sequence   uint64  `json:"sequence,string"`
			Deliveries uint64  `json:"deliveries"`
			TakenS     float64 `json:"taken_s"`
			Held       bool    `json:"held"`
		} `json:"batches_in_hand"`
	}
	if json.Unmarshal(answer, &state) != nil {
		return nil
	}
	for _, b := range state.Batches {
		if b.Sequence == sequence {
			const longest = 365 * 24 * time.Hour
			taken := time.Duration(min(max(b.TakenS, 0), longest.Seconds()) * float64(time.Second))
			return &explain.Holder{Taken: time.Now().Add(-taken), Deliveries: b.Deliveries, MaxDeliveries: state.MaxDeliveries, Held: b.Held}
		}
	}
	return nil
}
