package natsio

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"ringmaster/telemetry"
)

// Errors of transfers.
var (
	// ErrNoWindow says that nothing was ever written or submitted to the queue.
	ErrNoWindow = errors.New("natsio: the queue has no window yet")
	// ErrOutsideWindow says that a transfer leaves the queue's window.
	ErrOutsideWindow = errors.New("natsio: outside the queue's window")
	// ErrHeapChanged says that the worker's heap was lost between two requests
	// of one transfer; doing it again makes it whole.
	ErrHeapChanged = errors.New("natsio: the worker's heap was lost meanwhile")
)

// Codes of answers that refuse a transfer, beside those of snapshots.
const (
	codeBadRequest  = codeBadSubject
	codeTooLarge    = "413"
	codeOutside     = "416"
	codeUnavailable = "503"
)

const wordBytes = 4

// Upload stores words in a queue's window on its worker, from a word offset on, and
// returns when they are there. Work submitted afterwards finds them; work that names the
// epoch that Upload returns finds them or is dropped. It sends as many requests as the
// words need; after an error some of them may have been carried out, and doing it again
// is safe. The error wraps
// ErrNoRuntime if no worker of that name owns a device, ErrOutsideWindow,
// ErrHeapChanged, or ctx's error. Without words it does nothing, and the epoch is 0.
func (c *Conn) Upload(ctx context.Context, worker, queue string, offset uint32, words []uint32) (epoch uint64, err error) {
	for part := range slices.Chunk(words, telemetry.MaxHeapWords) {
		request := telemetry.Heap{Op: telemetry.HeapWrite, Offset: offset, Data: telemetry.AppendBytes(nil, part)}
		answer, err := c.transfer(ctx, worker, queue, &request, len(part))
		if err != nil {
			return 0, err
		}
		if epoch != 0 && answer.Epoch != epoch {
			return 0, fmt.Errorf("natsio: heap of %s.%s: epoch %d has become %d: %w", worker, queue, epoch, answer.Epoch, ErrHeapChanged)
		}
		epoch = answer.Epoch
		offset += uint32(len(part))
	}
	return epoch, nil
}

// Download fetches words of a queue's window from a word offset on; see Upload.
// The error wraps ErrNoWindow too.
func (c *Conn) Download(ctx context.Context, worker, queue string, offset uint32, words []uint32) error {
	for part := range slices.Chunk(words, telemetry.MaxHeapWords) {
		request := telemetry.Heap{Op: telemetry.HeapRead, Offset: offset, Count: uint32(len(part))}
		answer, err := c.transfer(ctx, worker, queue, &request, len(part))
		if err != nil {
			return err
		}
		if len(answer.Data) != len(part)*wordBytes {
			return fmt.Errorf("natsio: heap of %s.%s: %d bytes came back for %d words", worker, queue, len(answer.Data), len(part))
		}
		telemetry.AppendWords(part[:0], answer.Data)
		offset += uint32(len(part))
	}
	return nil
}

// transfer sends one request for n words and checks its answer.
func (c *Conn) transfer(ctx context.Context, worker, queue string, request *telemetry.Heap, n int) (*telemetry.Heap, error) {
	if err := checkNames(worker, queue); err != nil {
		return nil, err
	}
	fail := func(err error) (*telemetry.Heap, error) {
		return nil, fmt.Errorf("natsio: heap of %s.%s: %w", worker, queue, err)
	}
	if uint64(request.Offset)+uint64(n) > 1<<32 {
		return fail(fmt.Errorf("%d words from %d on: %w", n, request.Offset, ErrOutsideWindow))
	}
	h := c.newHeader(1)
	answer, err := c.nc.RequestWithContext(ctx, c.cfg.Subjects.Heap(worker, queue), telemetry.AppendHeap(nil, c.cfg.Form, &h, request))
	if errors.Is(err, nats.ErrNoResponders) {
		return fail(ErrNoRuntime)
	}
	if err != nil {
		return fail(err)
	}
	if code := answer.Header.Get(micro.ErrorCodeHeader); code != "" {
		return fail(heapError(code, answer.Header.Get(micro.ErrorHeader)))
	}
	var d telemetry.Decoder
	var r telemetry.Record
	if err := decodeOne(&d, &r, answer.Data, telemetry.DefaultHeapLimits, telemetry.SubjectHeap); err != nil {
		return fail(err)
	}
	if r.Heap.Op != request.Op || r.Heap.Offset != request.Offset || int(r.Heap.Count) != n {
		return fail(errors.New("the answer is to another request"))
	}
	return &r.Heap, nil
}

// heapError is the error that an answer without a record stands for.
func heapError(code, description string) error {
	switch code {
	case codeNotFound:
		return told(ErrNoWindow, description)
	case codeOutside:
		return told(ErrOutsideWindow, description)
	}
	return fmt.Errorf("code %s: %s", code, description)
}

// told is an error with the worker's description of it. That mostly contains the
// sentinel's text, which is then not repeated.
func told(sentinel error, description string) error {
	if strings.Contains(description, sentinel.Error()) {
		return &toldError{description, sentinel}
	}
	return fmt.Errorf("%w: %s", sentinel, description)
}

type toldError struct {
	text string
	is   error
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.is }
