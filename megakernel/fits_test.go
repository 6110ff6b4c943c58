//go:build cgo

package megakernel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/harness"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/userop"
	"ringmaster/ring"
)

// longOpcodes is a catalog with three opcodes of which any two fit a wave and
// all three do not: each adds 1 to window[at] as often as it is told.
func longOpcodes(t *testing.T) *kernel.Catalog {
	t.Helper()
	var ops []userop.Opcode
	for i := range 3 {
		text := fmt.Sprintf("//! id: %d\n//! name: count%d\n//! operands: at, times\n//! side-effects: yes\n//! idempotent: no\n//! max-steps: 25000\n//! steps: times\n\n"+
			"FOR(i, times) {\n    store(at, load(at) + 1u);\n}\n", userop.MinID+i, i)
		op, err := userop.Parse(fmt.Sprintf("count%d.glsl", i), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, op)
	}
	c, err := kernel.NewCatalog(ops)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOpcodesThatExceedTheLoopBudgetTogetherAreKeptApart(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.Catalog = longOpcodes(t) })
	const times = 25_000
	var all []ring.Slot
	for i := range uint32(3) {
		s := slot(kernel.FirstUser+kernel.Opcode(i), ring.PriorityNormal, i, times)
		all = append(all, s)
		submit(t, e, "q", Batch{Tag: uint64(i), Slots: []ring.Slot{s}})
	}
	if err := e.Submit("q", Batch{Slots: all}); !errors.Is(err, ErrBatch) {
		t.Errorf("a batch of all three: %v", err)
	}
	var executed []uint32
	for e.Pending("q") > 0 {
		r := launch(t, e, Order{Queue: "q", Geometry: policy.Geometry{Width: 8, Groups: 1, Chunk: 8}})
		if r.Faulted > 0 || r.Executed == 0 {
			t.Fatalf("report %+v", r)
		}
		executed = append(executed, r.Executed)
	}
	if !slices.Equal(executed, []uint32{2, 1}) {
		t.Errorf("waves of %v slots", executed)
	}
	got := make([]uint32, 3)
	if err := e.Read("q", 0, got); err != nil || !slices.Equal(got, []uint32{times, times, times}) {
		t.Errorf("counted %v, error %v", got, err)
	}
}

func TestSlotOverItsBudgetIsRefusedAndOthersStillRun(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.Catalog = longOpcodes(t) })
	submit(t, e, "q", Batch{ID: "fine", Slots: []ring.Slot{slot(kernel.FirstUser, 2, 0, 10)}})
	if err := e.Submit("q", Batch{ID: "over", Slots: []ring.Slot{slot(kernel.FirstUser, 2, 0, 25_001)}}); !errors.Is(err, ErrBatch) || !errors.Is(err, kernel.ErrSlot) {
		t.Errorf("error %v", err)
	}
	if r := launch(t, e, Order{Queue: "q", Geometry: testGeometry}); r.Executed != 1 {
		t.Errorf("report %+v", r)
	}
}

// smallDevice is a real device that claims small storage blocks.
type smallDevice struct {
	gpu.Device
	limit int64
}

func (d *smallDevice) StorageBlockLimit() int64 { return d.limit }

func TestRingOrHeapLargerThanTheDeviceAllowsIsAnErrorThatNamesIt(t *testing.T) {
	dev := openDevice(t)
	for _, c := range []struct {
		change func(*Config)
		limit  int64
		names  string
	}{
		{func(c *Config) { c.Pages = 2048 }, 16 << 20, "Config.Pages"},
		{func(c *Config) { c.HeapWords = 8 << 20 }, 30 << 20, "Config.HeapWords"},
	} {
		cfg := DefaultConfig()
		c.change(&cfg)
		_, err := New(&smallDevice{dev, c.limit}, cfg)
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), c.names) || !strings.Contains(err.Error(), fmt.Sprint(c.limit)) {
			t.Errorf("%s: %v", c.names, err)
		}
	}
	// What is too large for another device leaves the work where it is.
	e := newEngine(t, dev, nil)
	submit(t, e, "q", Batch{ID: "b", Slots: nops(100, 2)})
	if err := e.Move(&smallDevice{dev, 1 << 20}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("move: %v", err)
	}
	if r := launch(t, e, Order{Queue: "q", Geometry: testGeometry}); r.Executed != 100 {
		t.Errorf("report %+v", r)
	}
}

// limitedDevice is a device whose driver reports limits of its own.
type limitedDevice struct {
	gpu.Device
	sizeX, groupsX, invocations uint32
}

func (d *limitedDevice) WorkgroupLimits() (sizeX, groupsX, invocations uint32) {
	return d.sizeX, d.groupsX, d.invocations
}

func TestDeviceThatRunsNoWorkgroupsIsRefusedAtTheStart(t *testing.T) {
	dev := openDevice(t)
	e := newEngine(t, dev, nil)
	for _, bad := range []*limitedDevice{{dev, 0, 65535, 1024}, {dev, 1024, 0, 1024}, {dev, 1024, 65535, 0}} {
		_, ring := New(bad, DefaultConfig())
		_, bench := harness.New(bad, harness.Config{Slots: 1, WindowWords: 1})
		for what, err := range map[string]error{"ring": ring, "harness": bench, "move": e.Move(bad)} {
			if err == nil || !strings.Contains(err.Error(), "the device says it runs") {
				t.Errorf("%s on a device of %d, %d, %d: %v", what, bad.sizeX, bad.groupsX, bad.invocations, err)
			}
		}
	}
	submit(t, e, "q", Batch{ID: "b", Slots: nops(100, 2)})
	if r := launch(t, e, Order{Queue: "q", Geometry: testGeometry}); r.Executed != 100 {
		t.Errorf("report %+v", r)
	}
}
