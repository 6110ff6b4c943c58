package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// Snapshot asks the runtime for the last recommendation for a queue. The error wraps
// natsio.ErrNoRuntime, ErrNoRecommendation, ErrBadName or ctx's error.
func Snapshot(ctx context.Context, conn *natsio.Conn, worker, queue string) (telemetry.Header, telemetry.Recommendation, error) {
	err := natsio.CheckNames(worker, queue)
	if err == nil {
		var r *telemetry.Record
		if r, err = conn.Ask(ctx, conn.Subjects().Snapshot(worker, queue), nil, telemetry.DefaultTelemetryLimits, telemetry.SubjectSnapshot); err == nil {
			return r.Header, r.Recommendation, nil
		}
	}
	return telemetry.Header{}, telemetry.Recommendation{}, fmt.Errorf("recommendation for %s.%s: %w", worker, queue, err)
}

// Upload stores words in a queue's window on its worker, from a word offset on, and
// returns when they are there. Work submitted afterwards finds them; work that names the
// epoch that Upload returns finds them or is dropped. It sends as many requests as the
// words need; after an error some of them may have been carried out, and doing it again
// is safe. The error wraps natsio.ErrNoRuntime if no worker of that name owns a device,
// ErrOutsideWindow, ErrHeapChanged, or ctx's error. Without words it does nothing, and
// the epoch is 0.
func Upload(ctx context.Context, conn *natsio.Conn, worker, queue string, offset uint32, words []uint32) (epoch uint64, err error) {
	for part := range slices.Chunk(words, telemetry.MaxHeapWords) {
		request := telemetry.Heap{Op: telemetry.HeapWrite, Offset: offset, Data: telemetry.AppendBytes(nil, part)}
		answer, err := transfer(ctx, conn, worker, queue, &request, len(part))
		if err == nil && epoch != 0 && answer.Epoch != epoch {
			err = fmt.Errorf("epoch %d has become %d: %w", epoch, answer.Epoch, natsio.ErrHeapChanged)
		}
		if err != nil {
			return 0, fmt.Errorf("heap of %s.%s: %w", worker, queue, err)
		}
		epoch = answer.Epoch
		offset += uint32(len(part))
	}
	return epoch, nil
}

// Download fetches words of a queue's window from a word offset on; see Upload.
// The error wraps natsio.ErrNoWindow too.
func Download(ctx context.Context, conn *natsio.Conn, worker, queue string, offset uint32, words []uint32) error {
	for part := range slices.Chunk(words, telemetry.MaxHeapWords) {
		request := telemetry.Heap{Op: telemetry.HeapRead, Offset: offset, Count: uint32(len(part))}
		answer, err := transfer(ctx, conn, worker, queue, &request, len(part))
		if err == nil && len(answer.Data) != 4*len(part) {
			err = fmt.Errorf("%d bytes came back for %d words", len(answer.Data), len(part))
		}
		if err != nil {
			return fmt.Errorf("heap of %s.%s: %w", worker, queue, err)
		}
		telemetry.AppendWords(part[:0], answer.Data)
		offset += uint32(len(part))
	}
	return nil
}

// errOtherRequest says that an answer is not to the request that was sent.
var errOtherRequest = errors.New("the answer is to another request")

// transfer sends one request for n words and checks its answer.
func transfer(ctx context.Context, conn *natsio.Conn, worker, queue string, request *telemetry.Heap, n int) (*telemetry.Heap, error) {
	if err := natsio.CheckNames(worker, queue); err != nil {
		return nil, err
	}
	if uint64(request.Offset)+uint64(n) > 1<<32 {
		return nil, fmt.Errorf("%d words from %d on: %w", n, request.Offset, natsio.ErrOutsideWindow)
	}
	r, err := conn.Request(ctx, conn.Subjects().Heap(worker, queue), request, telemetry.DefaultHeapLimits, telemetry.SubjectHeap)
	if err != nil {
		return nil, err
	}
	if r.Heap.Op != request.Op || r.Heap.Offset != request.Offset || int(r.Heap.Count) != n {
		return nil, errOtherRequest
	}
	return &r.Heap, nil
}

// Cancel asks a worker to withdraw a batch and returns what it found and how many slots
// it has dropped so far; what became of the batch is in its done record. Asking again is
// safe. Of a pool's workers, the one that has the batch says so, or each that it has not seen it and will
// not run it if it comes within an hour. The error wraps natsio.ErrNoRuntime if no worker of that name, or none of
// the pool, owns a device, ErrBadName or ctx's error.
func Cancel(ctx context.Context, conn *natsio.Conn, worker, queue, batch string) (found telemetry.CancelFound, slots int, err error) {
	if err := natsio.CheckTaker(worker, queue); err != nil {
		return 0, 0, err
	}
	if !telemetry.ValidToken(batch) {
		return 0, 0, natsio.BadName("batch", batch)
	}
	var answer telemetry.Cancel
	use := func(r *telemetry.Record) bool {
		answer = r.Cancel
		return answer.Batch != batch || answer.Found != telemetry.CancelUnseen
	}
	subject, request := conn.Subjects().Cancel(worker, queue), &telemetry.Cancel{Batch: batch}
	if _, pool := telemetry.PoolOf(worker); pool {
		err = conn.RequestAll(ctx, subject, request, natsio.CancelLimits, telemetry.SubjectCancel, use)
	} else {
		var r *telemetry.Record
		if r, err = conn.Request(ctx, subject, request, natsio.CancelLimits, telemetry.SubjectCancel); err == nil {
			use(r)
		}
	}
	if err == nil && answer.Batch != batch {
		err = errOtherRequest
	}
	if err != nil {
		return 0, 0, fmt.Errorf("cancel batch %s of %s.%s: %w", batch, worker, queue, err)
	}
	return answer.Found, int(answer.Slots), nil
}
