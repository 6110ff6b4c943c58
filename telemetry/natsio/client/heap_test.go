package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/micro"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// windows is a heap in memory: a window of words for each queue written to.
type windows struct {
	size   uint32
	queues map[string][]uint32
	broken error
	lossy  bool // every write is followed by a loss
	epoch  uint64
}

func newWindows(size uint32) *windows {
	return &windows{size: size, queues: make(map[string][]uint32), epoch: 41}
}

func (w *windows) at(queue string, offset uint32, n int) ([]uint32, error) {
	if w.broken != nil {
		return nil, w.broken
	}
	if uint64(offset)+uint64(n) > uint64(w.size) {
		return nil, fmt.Errorf("words %d to %d of %d: %w", offset, uint64(offset)+uint64(n), w.size, natsio.ErrOutsideWindow)
	}
	return w.queues[queue][offset : offset+uint32(n)], nil
}

func (w *windows) Write(queue string, offset uint32, words []uint32) (epoch uint64, err error) {
	if w.queues[queue] == nil {
		w.queues[queue] = make([]uint32, w.size)
	}
	to, err := w.at(queue, offset, len(words))
	copy(to, words)
	epoch = w.epoch
	if w.lossy {
		w.epoch++
	}
	return epoch, err
}

func (w *windows) Read(queue string, offset uint32, words []uint32) (epoch uint64, err error) {
	if w.queues[queue] == nil {
		return 0, fmt.Errorf("queue %s: %w", queue, natsio.ErrNoWindow)
	}
	from, err := w.at(queue, offset, len(words))
	copy(words, from)
	return w.epoch, err
}

// upload is Upload for those who do not ask for the epoch.
func upload(ctx context.Context, c *natsio.Conn, worker, queue string, offset uint32, words []uint32) error {
	_, err := Upload(ctx, c, worker, queue, offset, words)
	return err
}

// serveHeap serves windows of size words as worker gpu0 and returns a client.
func serveHeap(t *testing.T, size uint32) (*windows, *natsio.HeapService, *natsio.Conn) {
	t.Helper()
	server := newServer(t)
	c := dial(t, server.URL())
	heap := newWindows(size)
	s, err := c.ServeHeap("gpu0", heap)
	must(t, err)
	must(t, c.Flush(testContext(t)))
	return heap, s, dial(t, server.URL())
}

func TestWordsComeBackFromTheWindowTheyWentTo(t *testing.T) {
	const size = 3 * telemetry.MaxHeapWords
	heap, s, c := serveHeap(t, size)
	ctx := testContext(t)
	words := make([]uint32, 2*telemetry.MaxHeapWords+5) // three requests
	for i := range words {
		words[i] = uint32(i) * 2_654_435_761
	}
	must(t, upload(ctx, c, "gpu0", "a", 7, words))
	must(t, upload(ctx, c, "gpu0", "b", 0, []uint32{1}))
	got := make([]uint32, len(words))
	must(t, Download(ctx, c, "gpu0", "a", 7, got))
	if !slices.Equal(got, words) {
		t.Error("other words came back")
	}
	if n := heap.queues["a"][6]; n != 0 {
		t.Errorf("the word before has become %d", n)
	}
	if stats := s.Stats(); stats.Served != 7 || stats.Refused != 0 {
		t.Errorf("stats %+v", stats)
	}
	must(t, s.Stop(ctx))
	if err := upload(ctx, c, "gpu0", "a", 0, words[:1]); !errors.Is(err, natsio.ErrNoRuntime) {
		t.Errorf("after the stop: %v, want natsio.ErrNoRuntime", err)
	}
}

func TestUploadNamesTheEpochOfTheHeapThatHasAllOfIt(t *testing.T) {
	heap, s, c := serveHeap(t, 2*telemetry.MaxHeapWords)
	ctx := testContext(t)
	words := make([]uint32, telemetry.MaxHeapWords+1) // two requests
	if epoch, err := Upload(ctx, c, "gpu0", "a", 0, words); err != nil || epoch != 41 {
		t.Errorf("epoch %d, %v", epoch, err)
	}
	heap.lossy = true
	if epoch, err := Upload(ctx, c, "gpu0", "a", 0, words[:1]); err != nil || epoch != 41 {
		t.Errorf("a heap lost after the write: epoch %d, %v", epoch, err)
	}
	if epoch, err := Upload(ctx, c, "gpu0", "a", 0, words); !errors.Is(err, natsio.ErrHeapChanged) || epoch != 0 {
		t.Errorf("a heap lost between two writes: epoch %d, %v", epoch, err)
	}
	must(t, s.Stop(ctx))
}

func TestTransfersThatCannotBeAreRefusedWithAReason(t *testing.T) {
	heap, s, c := serveHeap(t, 100)
	ctx := testContext(t)
	must(t, upload(ctx, c, "gpu0", "a", 0, []uint32{5}))
	one := make([]uint32, 1)
	for name, c := range map[string]struct{ err, want error }{
		"write beyond":   {upload(ctx, c, "gpu0", "a", 100, one), natsio.ErrOutsideWindow},
		"read beyond":    {Download(ctx, c, "gpu0", "a", 99, make([]uint32, 2)), natsio.ErrOutsideWindow},
		"address wraps":  {upload(ctx, c, "gpu0", "a", 1<<32-1, make([]uint32, 2)), natsio.ErrOutsideWindow},
		"no window":      {Download(ctx, c, "gpu0", "other", 0, one), natsio.ErrNoWindow},
		"no such worker": {upload(ctx, c, "gpu1", "a", 0, one), natsio.ErrNoRuntime},
		"bad queue":      {upload(ctx, c, "gpu0", "a.b", 0, one), natsio.ErrBadName},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
	heap.broken = errors.New("device is away")
	if err := upload(ctx, c, "gpu0", "a", 0, one); err == nil || !strings.Contains(err.Error(), "code 503: device is away") {
		t.Errorf("got %v", err)
	}
	if got := heap.queues["a"][:2]; !slices.Equal(got, []uint32{5, 0}) {
		t.Errorf("the window has become %v", got)
	}
	if n := s.Stats().Refused; n != 4 {
		t.Errorf("%d refused, want 4", n)
	}
}

func TestHostileHeapRequestsAreAnsweredAndChangeNothing(t *testing.T) {
	heap, _, c := serveHeap(t, 100)
	must(t, upload(testContext(t), c, "gpu0", "a", 0, []uint32{5}))
	h := telemetry.Header{Incarnation: 1, Seq: 1}
	request := func(b telemetry.Heap) []byte { return telemetry.Append(nil, telemetry.EncodingArray, h, &b) }
	word := []byte{1, 2, 3, 4}
	for name, bad := range map[string]struct {
		payload []byte
		code    string
	}{
		"nothing":              {nil, "400"},
		"no msgpack":           {[]byte("hello"), "400"},
		"another kind":         {telemetry.Append(nil, telemetry.EncodingMap, h, length(1)), "400"},
		"two records":          {slices.Concat(request(telemetry.Heap{Op: telemetry.HeapWrite, Data: word}), request(telemetry.Heap{Op: telemetry.HeapWrite, Data: word})), "400"},
		"a write of nothing":   {request(telemetry.Heap{Op: telemetry.HeapWrite}), "400"},
		"a count that lies":    {request(telemetry.Heap{Op: telemetry.HeapWrite, Count: 2, Data: word}), "400"},
		"a part of a word":     {request(telemetry.Heap{Op: telemetry.HeapWrite, Data: word[:3]}), "400"},
		"a read of nothing":    {request(telemetry.Heap{}), "400"},
		"a read with data":     {request(telemetry.Heap{Count: 1, Data: word}), "400"},
		"a read of too much":   {request(telemetry.Heap{Count: telemetry.MaxHeapWords + 1}), "400"},
		"no such operation":    {request(telemetry.Heap{Op: 2, Count: 1}), "400"},
		"more than a transfer": {make([]byte, telemetry.DefaultHeapLimits.MaxBytes+1), "413"},
		"offset at the end":    {request(telemetry.Heap{Op: telemetry.HeapWrite, Offset: 1<<32 - 1, Data: word}), "416"},
	} {
		answer, err := c.NATS().RequestWithContext(testContext(t), "ringmaster.v1.heap.gpu0.a", bad.payload)
		must(t, err)
		if code := answer.Header.Get(micro.ErrorCodeHeader); code != bad.code || answer.Header.Get(micro.ErrorHeader) == "" {
			t.Errorf("%s: code %q, %q, want %s", name, code, answer.Header.Get(micro.ErrorHeader), bad.code)
		}
	}
	if got := heap.queues["a"][:2]; !slices.Equal(got, []uint32{5, 0}) {
		t.Errorf("the window has become %v", got)
	}
}
