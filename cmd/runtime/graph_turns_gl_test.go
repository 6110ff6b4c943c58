//go:build cgo

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"ringmaster/glcompute"
	"ringmaster/megakernel"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// ringStore is a store of graphs on the device of a ring, without NATS.
type ringStore struct {
	*graphStore
	ring *megakernel.Engine
	lend func(dev megakernel.Device) megakernel.Device // may change what the store sees of the device
	turn func()                                        // is called before each time that the device is borrowed
}

func newRingStore(t *testing.T, budget uint64) *ringStore {
	t.Helper()
	requireGL(t)
	device, _, err := glcompute.Open(glcompute.Config{})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	s := &ringStore{lend: func(dev megakernel.Device) megakernel.Device { return dev }, turn: func() {}}
	if s.ring, err = megakernel.New(device, megakernel.DefaultConfig()); err != nil {
		t.Fatal(err)
	}
	advisor, closed, err := newLocalAdvisor(device, policy.Standard(), "", log)
	if err != nil {
		t.Fatal(err)
	}
	s.graphStore = newGraphStore(&graphStore{
		borrow: func(use func(megakernel.Device) error) error {
			s.turn()
			return s.ring.Borrow(func(dev megakernel.Device) error { return use(s.lend(dev)) })
		},
		budget: budget, advisor: advisor, repair: func() { t.Error("the device was lost") }, log: log,
	})
	t.Cleanup(func() {
		if err := errors.Join(s.close(), s.ring.Close(), closed(context.Background()), device.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// put loads a generated graph.
func (s *ringStore) put(t *testing.T, queue, name, spec string) error {
	t.Helper()
	pair, err := graph.Build(edgesOf(t, spec), graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := graph.Write(&file, pair); err != nil {
		t.Fatal(err)
	}
	return s.Answer(t.Context(), queue, &telemetry.Resident{Ask: telemetry.ResidentLoad, Name: name, Total: uint64(file.Len()), Data: file.Bytes()})
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
	return s.Answer(ctx, queue, &telemetry.Resident{Ask: telemetry.ResidentRun, Name: name, Algorithm: "bfs", Data: binary.LittleEndian.AppendUint64(nil, 0)})
}

// launch runs a batch of the ring to its end.
func (s *ringStore) launch(t *testing.T) {
	if err := s.ring.Submit("ring", megakernel.Batch{ID: "b", Slots: make([]ring.Slot, 3)}); err != nil {
		t.Error(err)
		return
	}
	r, err := s.ring.Launch(megakernel.Order{Queue: "ring", Geometry: megakernel.Geometry{Width: 32, Groups: 1, Chunk: 64}})
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

func TestLaunchesRunBetweenTheSlicesOfAnUpload(t *testing.T) {
	s := newRingStore(t, 0)
	launched := 0
	s.turn = func() {
		if s.mu.TryLock() { // nobody waits for the device with the mutex
			s.mu.Unlock()
		} else {
			t.Error("the store is locked while the device is waited for")
		}
		s.launch(t)
		launched++
	}
	if err := s.put(t, "q", "g", "uniform:18:16"); err != nil {
		t.Fatal(err)
	}
	if launched < 6 { // 34 MB of targets
		t.Errorf("%d launches while the graph was uploaded", launched)
	}
	s.turn = func() {}
	if err := s.search(t.Context(), "q", "g"); err != nil {
		t.Error(err)
	}
}

func TestAnUploadGoesOnBesideARunAndTheGraphOfTheRunIsFreedBehindIt(t *testing.T) {
	s := newRingStore(t, 0)
	for _, name := range []string{"long", "other"} {
		if err := s.put(t, "q", name, "path:3000"); err != nil {
			t.Fatal(err)
		}
	}
	dropped, waiting := make(chan error, 1), make(chan error, 1)
	turns := 0
	s.turn = func() {
		if turns++; turns != 4 {
			return
		}
		s.turn = func() {}
		if err := s.put(t, "q", "new", "grid:9x9"); err != nil {
			t.Error(err)
		}
		if err := s.drop(t.Context(), graphKey{"q", "other"}); err != nil {
			t.Error(err)
		}
		if got := s.names("q"); got != "long new" {
			t.Errorf("listed during a run: %s", got)
		}
		go func() { waiting <- s.search(t.Context(), "q", "long") }()
		for queued := 0; queued < 2; {
			s.update(func() { queued = len(s.runs) })
		}
		go func() { dropped <- s.drop(t.Context(), graphKey{"q", "long"}) }()
		for leaving := false; !leaving; {
			s.update(func() { leaving = s.graphs[graphKey{"q", "long"}].leaving })
		}
		if got := s.names("q"); got != "new" {
			t.Errorf("listed while the graph of a run is dropped: %s", got)
		}
	}
	if err := s.search(t.Context(), "q", "long"); !errors.Is(err, natsio.ErrNoGraph) || !strings.Contains(err.Error(), "dropped") {
		t.Errorf("a run on a graph that was dropped: %v", err)
	}
	if err := <-waiting; !errors.Is(err, errGraphDropped) {
		t.Errorf("one that waited: %v", err)
	}
	if err := <-dropped; err != nil {
		t.Error(err)
	}
	if err := s.search(t.Context(), "q", "new"); err != nil {
		t.Error(err)
	}
}

func TestRunsWaitForTheirTurnUpToABound(t *testing.T) {
	s := newRingStore(t, 0)
	if err := s.put(t, "q", "g", "grid:9x9"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, maxGraphRuns)
	stopped, stop := context.WithCancelCause(t.Context())
	begun := false
	s.turn = func() {
		if begun {
			return
		}
		begun = true
		go func() { ended <- s.search(stopped, "q", "g") }()
		for range maxGraphRuns - 2 {
			go func() { ended <- s.search(t.Context(), "q", "g") }()
		}
		for queued := 0; queued < maxGraphRuns; {
			s.update(func() { queued = len(s.runs) })
		}
		if err := s.search(t.Context(), "q", "g"); !errors.Is(err, natsio.ErrGraphBusy) {
			t.Errorf("one run too many: %v", err)
		}
		stop(natsio.ErrGraphCanceled)
		if err := <-ended; !errors.Is(err, natsio.ErrGraphCanceled) {
			t.Errorf("a run that was canceled while it waited: %v", err)
		}
	}
	if err := s.search(t.Context(), "q", "g"); err != nil {
		t.Error(err)
	}
	for range maxGraphRuns - 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// fullDevice has no room for buffers beyond some, and tells of its memory.
type fullDevice struct {
	megakernel.Device
	left int    // buffers
	free uint64 // bytes
}

func (d *fullDevice) Memory() (glcompute.Memory, bool) {
	return glcompute.Memory{Available: d.free, Source: "GL_ATI_meminfo"}, d.free > 0
}

func (d *fullDevice) NewBuffer(size int) (uint32, error) {
	if d.left--; d.left < 0 {
		return 0, errors.New("glcompute: GL_OUT_OF_MEMORY")
	}
	return d.Device.NewBuffer(size)
}

func TestADeviceWithoutRoomKeepsTheGraphsThatItHas(t *testing.T) {
	s := newRingStore(t, 0)
	full := &fullDevice{left: 1 << 30}
	s.lend = func(dev megakernel.Device) megakernel.Device {
		full.Device = dev
		return full
	}
	live := func() (buffers int) {
		buffers, _ = full.Device.(*glcompute.Device).Live()
		return buffers
	}
	if err := s.put(t, "q", "old", "grid:9x9"); err != nil {
		t.Fatal(err)
	}
	before := live()
	for left := range 3 {
		for _, name := range []string{"new", "old"} {
			full.left = left
			if err := s.put(t, "q", name, "grid:20x20"); err == nil || !strings.Contains(err.Error(), "GL_OUT_OF_MEMORY") {
				t.Errorf("room for %d buffers, graph %s: %v", left, name, err)
			}
		}
	}
	if after := live(); after != before {
		t.Errorf("%d buffers are left behind", after-before)
	}
	full.left = 1 << 30
	if got := s.listed("q"); len(got) != 1 || got[0].Nodes != 81 {
		t.Errorf("%+v", got)
	}
	if err := s.search(t.Context(), "q", "old"); err != nil {
		t.Error(err)
	}
	full.left = 0
	s.update(func() { s.graphs[graphKey{"q", "old"}].kept = 1 }) // what the job left is given back
	if err := s.search(t.Context(), "q", "old"); err != nil && !strings.Contains(err.Error(), "GL_OUT_OF_MEMORY") {
		t.Error(err)
	}
}

func TestAGraphThatTheDriverHasNoRoomForIsRefusedBeforeItsFirstBuffer(t *testing.T) {
	s := newRingStore(t, 0)
	full := &fullDevice{left: 1 << 30, free: gridBytes(20, 20)}
	s.lend = func(dev megakernel.Device) megakernel.Device {
		full.Device = dev
		return full
	}
	if err := s.put(t, "q", "g", "grid:20x20"); err != nil {
		t.Fatal(err)
	}
	full.left = 0
	if err := s.put(t, "q", "h", "grid:20x21"); !errors.Is(err, natsio.ErrGraphTooLarge) || !strings.Contains(err.Error(), "GL_ATI_meminfo") {
		t.Errorf("a graph that is too large: %v", err)
	}
	if full.left != 0 {
		t.Errorf("%d buffers were asked for", -full.left)
	}

	pair, err := graph.Build(edgesOf(t, "grid:20x20"), graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := &graphRunCmd{Algorithm: "bfs"}
	err = s.on(func(dev megakernel.Device) error {
		_, err := run.room(dev, pair, []graphPass{{sources: []uint32{0}}})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "the graph takes 7,684 bytes and the job at least ") || full.left != 0 {
		t.Errorf("a run beside a graph that leaves it no room: %v", err)
	}
	full.free = 1 << 30
	err = s.on(func(dev megakernel.Device) error {
		m, err := run.room(dev, pair, []graphPass{{sources: []uint32{0}}})
		if m.resident != gridBytes(20, 20) || m.budget != full.free {
			t.Errorf("%+v", m)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// gridBytes is what a grid takes on the device.
func gridBytes(w, h int) uint64 { return uint64(4 * (w*h + 1 + 2*((w-1)*h+w*(h-1)))) }

func TestGraphsFillTheBudgetAndNoMore(t *testing.T) {
	one := gridBytes(20, 20)
	s := newRingStore(t, 3*one)
	for _, name := range []string{"a", "b", "c"} {
		if err := s.put(t, "q", name, "grid:20x20"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.put(t, "q", "d", "grid:20x20"); !errors.Is(err, natsio.ErrGraphTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(3*one)) {
		t.Errorf("a fourth graph: %v", err)
	}
	if err := s.put(t, "q", "b", "grid:19x20"); err != nil { // makes its own room
		t.Error(err)
	}
	if got := s.names("q"); got != "a b c" || s.used() >= 3*one {
		t.Errorf("%s take %d bytes of %d", got, s.used(), 3*one)
	}
	if err := s.put(t, "q", "b", "grid:40x40"); !errors.Is(err, natsio.ErrGraphTooLarge) || s.names("q") != "a b c" {
		t.Errorf("a graph that does not fit in the place of another: %v; %s are left", err, s.names("q"))
	}
}
