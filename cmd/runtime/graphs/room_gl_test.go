//go:build cgo

package graphs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ringmaster/glcompute"
	"ringmaster/megakernel/faultgl"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// newFullStore is a store on a device that has as many buffers left as the test says.
func newFullStore(t *testing.T) (*ringStore, *fullDevice) {
	s := newRingStore(t, 0)
	full := &fullDevice{left: 1 << 30}
	s.lend = func(dev gpu.Device) gpu.Device {
		full.Device = dev
		return full
	}
	return s, full
}

func TestADeviceWithoutRoomKeepsTheGraphsThatItHas(t *testing.T) {
	s, full := newFullStore(t)
	live := func() (buffers int) {
		buffers, _ = full.Device.(*glcompute.Device).Live()
		return buffers
	}
	if err := s.load(t, "q", "old", "grid:9x9"); err != nil {
		t.Fatal(err)
	}
	before := live()
	for left := range 3 {
		for _, name := range []string{"new", "old"} {
			full.left = left
			if err := s.load(t, "q", name, "grid:20x20"); err == nil || !strings.Contains(err.Error(), "GL_OUT_OF_MEMORY") {
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
	s.graphs[graphKey{"q", "old"}].kept = 1 // what the job left is given back
	if err := s.search(t.Context(), "q", "old"); err != nil && !strings.Contains(err.Error(), "GL_OUT_OF_MEMORY") {
		t.Error(err)
	}
}

func TestAGraphThatTheDriverHasNoRoomForIsRefusedBeforeItsFirstBuffer(t *testing.T) {
	s := newRingStore(t, 0)
	full := &fullDevice{left: 1 << 30, free: gridBytes(20, 20)}
	s.lend = func(dev gpu.Device) gpu.Device {
		full.Device = dev
		return full
	}
	if err := s.load(t, "q", "g", "grid:20x20"); err != nil {
		t.Fatal(err)
	}
	full.left = 0
	if err := s.load(t, "q", "h", "grid:20x21"); !errors.Is(err, natsio.ErrGraphTooLarge) || !strings.Contains(err.Error(), "GL_ATI_meminfo") {
		t.Errorf("a graph that is too large: %v", err)
	}
	if full.left != 0 {
		t.Errorf("%d buffers were asked for", -full.left)
	}

	pair, err := graph.Build(edgesOf(t, "grid:20x20"), graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := &Spec{Algorithm: "bfs", Sources: []uint64{0}, Policy: policy.Standard()}
	err = s.on(func(dev gpu.Device) error {
		_, err := room(dev, pair, run, []Pass{{Sources: []uint32{0}}})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "the graph takes 7,684 bytes and the job at least ") || full.left != 0 {
		t.Errorf("a run beside a graph that leaves it no room: %v", err)
	}
	full.free = 1 << 30
	err = s.on(func(dev gpu.Device) error {
		m, err := room(dev, pair, run, []Pass{{Sources: []uint32{0}}})
		if m.resident != gridBytes(20, 20) || m.budget != full.free {
			t.Errorf("%+v", m)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAGraphThatTheHostHasNoMemoryForIsRefusedBeforeItIsUploaded(t *testing.T) {
	s, full := newFullStore(t)
	s.host = func() (uint64, bool) { return 2*gridBytes(20, 20) - 1, true }
	full.left = 0
	if err := s.load(t, "q", "g", "grid:20x20"); !errors.Is(err, natsio.ErrGraphTooLarge) || !strings.Contains(err.Error(), "the host's memory") || full.left != 0 {
		t.Errorf("%v, %d buffers were asked for", err, -full.left)
	}
	full.left = 1 << 30
	if err := s.load(t, "q", "g", "grid:19x20"); err != nil {
		t.Error(err)
	}
}

// gridBytes is what a grid takes on the device.
func gridBytes(w, h int) uint64 { return uint64(4 * (w*h + 1 + 2*((w-1)*h+w*(h-1)))) }

// A queue's graphs fill half of what the others leave of the budget, and no more.
func TestGraphsFillTheirShareOfTheBudgetAndNoMore(t *testing.T) {
	one := gridBytes(20, 20)
	s := newRingStore(t, 6*one)
	for _, name := range []string{"a", "b", "c"} {
		if err := s.load(t, "q", name, "grid:20x20"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.load(t, "q", "d", "grid:20x20"); !errors.Is(err, natsio.ErrGraphTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(6*one)) {
		t.Errorf("a fourth graph: %v", err)
	}
	if err := s.load(t, "q", "b", "grid:19x20"); err != nil { // makes its own room
		t.Error(err)
	}
	if err := s.load(t, "victim", "g", "grid:20x20"); err != nil {
		t.Errorf("a graph of another queue: %v", err)
	}
	if err := s.load(t, "victim", "h", "grid:20x20"); !errors.Is(err, natsio.ErrGraphTooLarge) {
		t.Errorf("more than half of what is left: %v", err)
	}
	if err := s.load(t, "third", "g", "grid:20x20"); err != nil {
		t.Error(err)
	}
	if got := s.names("q"); got != "a b c" || s.used() >= 5*one {
		t.Errorf("%s take %d bytes of %d", got, s.used(), 6*one)
	}
	if err := s.search(t.Context(), "q", "b"); !errors.Is(err, natsio.ErrGraphTooLarge) || !strings.Contains(err.Error(), "--memory-budget") {
		t.Errorf("a run for which no room is left: %v", err)
	}
	if err := s.load(t, "q", "b", "grid:40x40"); !errors.Is(err, natsio.ErrGraphTooLarge) || s.names("q") != "a b c" {
		t.Errorf("a graph that does not fit in the place of another: %v; %s are left", err, s.names("q"))
	}
}

// Without a budget the number of a queue's graphs is bounded, and another queue has room beside them.
func TestAQueueWithAsManyGraphsAsItMayHaveLeavesOthersTheirs(t *testing.T) {
	s := newRingStore(t, 0)
	for i := range maxGraphs / 4 {
		if err := s.load(t, "q", fmt.Sprint("g", i), "path:3"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.load(t, "q", "more", "path:3"); !errors.Is(err, natsio.ErrGraphTooLarge) {
		t.Errorf("one graph too many: %v", err)
	}
	if err := s.load(t, "q", "g0", "path:4"); err != nil {
		t.Errorf("in the place of one: %v", err)
	}
	for i := range (maxGraphs - maxGraphs/4) / 4 {
		if err := s.load(t, "victim", fmt.Sprint("g", i), "path:3"); err != nil {
			t.Fatalf("graph %d of another queue: %v", i, err)
		}
	}
}

// Whoever asked for too little is told so, and not to have the worker restarted with more.
func TestABudgetOfARunThatIsTooSmallIsCalledSo(t *testing.T) {
	for _, budget := range []uint64{0, 1 << 24} {
		s := newRingStore(t, budget)
		if err := s.load(t, "q", "g", "grid:20x20"); err != nil {
			t.Fatal(err)
		}
		err := s.Answer(t.Context(), "q", &telemetry.GraphRequest{Ask: telemetry.GraphRun, Name: "g", Algorithm: "bfs", Budget: 300, Data: make([]byte, 8)})
		if !errors.Is(err, natsio.ErrGraphRequest) || !strings.Contains(err.Error(), "--budget 300 is too small") || strings.Contains(err.Error(), "--memory-budget") {
			t.Errorf("budget of the worker %d: %v", budget, err)
		}
	}
}

func TestWhatHappensOnADeviceThatIsLostIsToldAndGoesOnOnTheNext(t *testing.T) {
	s := newRingStore(t, 0)
	repairs := 0
	s.Repair = func() { repairs++ }
	current := &fullDevice{left: 1 << 30}
	s.lend = func(dev gpu.Device) gpu.Device {
		current.Device = dev
		return current
	}
	// after has something happen before the device is borrowed once more.
	after := func(turns int, happen func()) {
		s.turn = func() {
			if turns--; turns == 0 {
				happen()
			}
		}
	}
	moved := func() { current = &fullDevice{left: 1 << 30} }
	lost := func() { current.loss = faultgl.Loss{Kind: faultgl.Guilty} }
	for name, happen := range map[string]func(){"moved": moved, "lost": lost} {
		for what, do := range map[string]func() error{
			"a run":     func() error { return s.search(t.Context(), "q", "g") },
			"an upload": func() error { return s.load(t, "q", "h", "grid:9x9") },
			"a drop":    func() error { return s.drop(graphKey{"q", "g"}, true) },
		} {
			after(0, nil)
			if err := s.load(t, "q", "g", "path:3000"); err != nil {
				t.Fatal(err)
			}
			before := repairs
			turns := 4
			if what == "a drop" {
				turns = 1
			}
			after(turns, happen)
			err := do()
			told := errors.Is(err, errGraphLost)
			if name == "lost" {
				told = gpu.Lost(err) && repairs > before
			}
			if what == "a drop" {
				told = err == nil // it is gone
			}
			if !told {
				t.Errorf("%s on a device that was %s: %v, %d repairs", what, name, err, repairs-before)
			}
			if got := s.names("q"); got != "" {
				t.Errorf("%s on a device that was %s: %s are left", what, name, got)
			}
			current = &fullDevice{left: 1 << 30}
		}
	}
	s.turn = func() {}
	if err := errors.Join(s.load(t, "q", "g", "path:30"), s.search(t.Context(), "q", "g")); err != nil {
		t.Error(err)
	}
}
