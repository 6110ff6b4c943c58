//go:build cgo

package graphs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"ringmaster/glcompute"
	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
	"ringmaster/telemetry"
)

// ringStore is a store of graphs on the device of a ring, without NATS.
type ringStore struct {
	*Store
	ring  *megakernel.Engine
	files *shelf
	lend  func(dev gpu.Device) gpu.Device // may change what the store sees of the device
	turn  func()                          // is called before each time that the device is borrowed
}

func newRingStore(t *testing.T, budget uint64, change ...func(*megakernel.Config)) *ringStore {
	t.Helper()
	device := gltest.OpenUnclosed(t)
	s := &ringStore{files: newShelf(), lend: func(dev gpu.Device) gpu.Device { return dev }, turn: func() {}}
	cfg := megakernel.DefaultConfig()
	for _, c := range change {
		c(&cfg)
	}
	var err error
	if s.ring, err = megakernel.New(device, cfg); err != nil {
		t.Fatal(err)
	}
	standard := policy.Standard()
	s.Store = newStore(Config{
		Worker: "w", Policy: &standard, System: newSystem(t, nowhere{}, true), Publish: numbered(), Log: slog.New(slog.DiscardHandler),
		Borrow: func(use func(dev gpu.Device) error) error {
			s.turn()
			return s.ring.Borrow(func(dev gpu.Device) error { return use(s.lend(dev)) })
		},
		Budget: budget, Programs: s.ring.Programs(), Repair: func() { t.Error("the device was lost") }, Files: s.files,
	})
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), s.ring.Close(), device.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// load loads a generated graph.
func (s *ringStore) load(t *testing.T, queue, name, spec string) error {
	t.Helper()
	pair, err := graph.Build(edgesOf(t, spec), graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := graph.Write(&file, pair); err != nil {
		t.Fatal(err)
	}
	return s.Answer(t.Context(), queue, &telemetry.GraphRequest{Ask: telemetry.GraphLoad, Name: name, Object: s.files.put(file.Bytes())})
}

func edgesOf(t *testing.T, spec string) graph.Edges {
	t.Helper()
	edges, err := graph.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	return edges
}

// search runs a breadth-first search from node 0.
func (s *ringStore) search(ctx context.Context, queue, name string) error {
	return s.Answer(ctx, queue, &telemetry.GraphRequest{Ask: telemetry.GraphRun, Name: name, Algorithm: "bfs", Data: binary.LittleEndian.AppendUint64(nil, 0)})
}

// launch runs a batch of the ring to its end.
func (s *ringStore) launch(t *testing.T) {
	if err := s.ring.Submit("ring", megakernel.Batch{ID: "b", Slots: make([]ring.Slot, 3)}); err != nil {
		t.Error(err)
		return
	}
	r, err := s.ring.Launch(megakernel.Order{Queue: "ring", Geometry: policy.Geometry{Width: 32, Groups: 1, Chunk: 64}})
	if err != nil || r.Executed != 3 {
		t.Errorf("a launch ran %d of 3 slots, error %v", r.Executed, err)
	}
}

func (s *ringStore) names(queue string) (names string) {
	for _, row := range s.listed(queue) {
		names += row.Name + " "
	}
	return strings.TrimSpace(names)
}

// fullDevice has no room for buffers beyond some, and tells of its memory.
type fullDevice struct {
	gpu.Device
	left int    // buffers
	free uint64 // bytes
	loss error
}

func (d *fullDevice) Do(fn func() error) error {
	if d.loss != nil {
		return d.loss
	}
	return d.Device.Do(fn)
}

func (d *fullDevice) Memory() (glcompute.Memory, bool) {
	return glcompute.Memory{Available: d.free, Source: "GL_ATI_meminfo"}, d.free > 0
}

func (d *fullDevice) NewBuffer(size int) (gpu.Buffer, error) {
	if d.left--; d.left < 0 {
		return gpu.Buffer{}, errors.New("OpenGL: GL_OUT_OF_MEMORY")
	}
	return d.Device.NewBuffer(size)
}
