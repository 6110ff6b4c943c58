package graphs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// shelf has files in memory. A file that was cut is not what was sent.
type shelf struct {
	mu    sync.Mutex
	files map[string][]byte
	cut   bool
}

func newShelf() *shelf { return &shelf{files: make(map[string][]byte)} }

func (s *shelf) put(data []byte) (object string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object = fmt.Sprint("o", len(s.files))
	for s.files[object] != nil {
		object += "x"
	}
	s.files[object] = data
	return object
}

// torn is a file whose end fails.
type torn struct{ io.Reader }

func (t torn) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if err == io.EOF {
		err = errors.New("digest mismatch")
	}
	return n, err
}

func (s *shelf) Graph(_ context.Context, object string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, there := s.files[object]
	if !there {
		return nil, fmt.Errorf("%w: no file %s", natsio.ErrNoGraph, object)
	}
	var file io.Reader = bytes.NewReader(data)
	if s.cut {
		file = torn{file}
	}
	return io.NopCloser(file), nil
}

func (s *shelf) DropGraph(_ context.Context, object string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, object)
	return nil
}

func TestGraphsThatCannotBeAreRefusedBeforeTheDeviceIsTouchedAndTheirFilesAreDeleted(t *testing.T) {
	standard := policy.Standard()
	for name, c := range map[string]struct {
		file    string
		request telemetry.GraphRequest
		cut     bool
		want    error
		text    string
	}{
		"no file":                      {"", telemetry.GraphRequest{Ask: telemetry.GraphLoad, Object: "other"}, false, natsio.ErrNoGraph, "no file other"},
		"a file that was changed":      {"0 1\n", telemetry.GraphRequest{Ask: telemetry.GraphLoad}, true, natsio.ErrGraphRequest, "digest mismatch"},
		"a line that is no edge":       {"0 1\n1 -2\n", telemetry.GraphRequest{Ask: telemetry.GraphLoad}, false, natsio.ErrGraphRequest, "line 2"},
		"more than the memory budget":  {"0 1\n", telemetry.GraphRequest{Ask: telemetry.GraphLoad}, false, natsio.ErrGraphTooLarge, "budget of 10"},
		"an algorithm before any load": {"", telemetry.GraphRequest{Ask: telemetry.GraphRun, Algorithm: "cc"}, false, natsio.ErrNoGraph, "no graph g"},
	} {
		files := newShelf()
		files.cut = c.cut
		s := newStore(Config{
			Policy: &standard, Files: files, Budget: 10, Repair: func() {}, Log: slog.New(slog.DiscardHandler),
			Borrow: func(func(gpu.Device) error) error {
				t.Error("the device was borrowed")
				return errors.New("no device")
			},
		})
		r := c.request
		if r.Name = "g"; r.Object == "" {
			r.Object = files.put([]byte(c.file))
		}
		err := s.Answer(t.Context(), "q", &r)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if r.Ask == telemetry.GraphLoad && len(files.files) != 0 {
			t.Errorf("%s: the file is still there", name)
		}
		if s.loading != 0 {
			t.Errorf("%s: still being loaded", name)
		}
	}
}

func TestRunRequestsAreCheckedLikeTheCommandLine(t *testing.T) {
	standard := policy.Standard()
	for want, r := range map[string]telemetry.GraphRequest{
		"algorithm \"dfs\"":      {Algorithm: "dfs"},
		"algorithm \"join\"":     {Algorithm: "join"},
		"algorithm \"flow\"":     {Algorithm: "flow"},
		"topology \"round\"":     {Algorithm: "cc", Topology: "round"},
		"bfs takes one --source": {Algorithm: "bfs"},
		"7 bytes of sources":     {Algorithm: "bfs", Data: make([]byte, 7)},
		"264 bytes of sources":   {Algorithm: "reach", Data: make([]byte, 264)},
	} {
		if _, err := specOf(&r, &standard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// lateFiles are files that do not come, as long as they are not let go.
type lateFiles struct {
	*shelf
	asked chan string
	letGo chan struct{}
}

func (s *lateFiles) Graph(ctx context.Context, object string) (io.ReadCloser, error) {
	s.asked <- object
	select {
	case <-s.letGo:
	case <-ctx.Done():
	}
	return nil, fmt.Errorf("%w: it does not come", natsio.ErrGraphRequest)
}

// A queue that announces one file after the other has others wait for one of them.
func TestLoadsOfTheQueuesTakeTurns(t *testing.T) {
	standard := policy.Standard()
	files := &lateFiles{shelf: newShelf(), asked: make(chan string), letGo: make(chan struct{})}
	s := newStore(Config{Policy: &standard, Files: files, Log: slog.New(slog.DiscardHandler)})
	ended := make(chan error, 2*maxGraphLoads)
	load := func(ctx context.Context, queue string) {
		go func() {
			ended <- s.Answer(ctx, queue, &telemetry.GraphRequest{Ask: telemetry.GraphLoad, Name: "g", Object: queue})
		}()
	}
	load(t.Context(), "flood")
	<-files.asked
	const announced = maxGraphLoads/4 + 10
	for range announced {
		load(t.Context(), "flood")
	}
	for range 10 { // beyond the queue's share
		if err := <-ended; !errors.Is(err, natsio.ErrGraphBusy) {
			t.Errorf("a load too many: %v", err)
		}
	}
	gone, cancel := context.WithCancelCause(t.Context())
	load(gone, "gone")
	waiting := func(n int) {
		for s.loads.waiting.Len() < n {
			runtime.Gosched()
		}
	}
	waiting(maxGraphLoads/4 + 1)
	cancel(natsio.ErrStopping)
	if err := <-ended; !errors.Is(err, natsio.ErrStopping) {
		t.Errorf("a load that was ended while it waited: %v", err)
	}
	load(t.Context(), "victim")
	waiting(maxGraphLoads/4 + 2)
	order := []string{}
	for range maxGraphLoads/4 + 1 {
		files.letGo <- struct{}{}
		order = append(order, <-files.asked)
	}
	if at := slices.Index(order, "victim"); at != 0 && at != 1 {
		t.Errorf("the victim's load was number %d of %v", at, order)
	}
	files.letGo <- struct{}{}
	for range maxGraphLoads/4 + 2 {
		if err := <-ended; !errors.Is(err, natsio.ErrGraphRequest) {
			t.Error(err)
		}
	}
	if s.loads.taken {
		t.Error("the place of the load is still taken")
	}
}
