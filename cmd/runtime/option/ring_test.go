package option

import (
	"strings"
	"testing"

	"ringmaster/cmd/runtime/slots"
	"ringmaster/glcompute"
	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
)

func TestLimitsAreReadAndBadOnesSayWhatToDo(t *testing.T) {
	set := &slots.Opcodes{Catalog: kernel.BuiltIn()}
	f := Ring{Limit: []string{"*:pending=5", "q:rate=100.5,burst=7,opcodes=load+nop"}}
	limits, err := f.Limits(set)
	if err != nil {
		t.Fatal(err)
	}
	if len(limits) != 2 || limits["*"] != (megakernel.QueueOptions{MaxPending: 5}) ||
		limits["q"] != (megakernel.QueueOptions{Rate: 100.5, Burst: 7, Opcodes: uint64(kernel.NewOpcodeSet(kernel.OpLoad, kernel.OpNop))}) {
		t.Errorf("%+v", limits)
	}
	for spec, want := range map[string]string{
		"q": "want a queue's name", "a b:pending=1": "want a queue's name", "q:": "is no bound", "q:speed=1": "is no bound",
		"q:pending=0": "want 1 to ", "q:pending=99999999999999999999": "want 1 to ", "q:rate=-1": "more than 0", "q:rate=Inf": "want more than 0",
		"q:burst=5": "give rate too", "q:opcodes=dance": "there is no opcode dance; there are ",
	} {
		f := Ring{Limit: []string{spec}}
		if _, err := f.Limits(set); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), spec) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	if _, err := (&Ring{Limit: []string{"q:pending=1", "q:rate=1"}}).Limits(set); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("two limits of a queue: %v", err)
	}
}

// boundDevice is a device with a storage block limit.
type boundDevice struct {
	gpu.Device
	bytes int64
}

func (d boundDevice) StorageBlockLimit() int64 { return d.bytes }

func TestAHeapThatDoesNotFitIsRefusedBeforeTheStart(t *testing.T) {
	device := boundDevice{bytes: 128 << 20}
	for _, c := range []struct {
		windows int
		words   uint32
		want    string
	}{
		{64, 1 << 16, ""}, {512, 1 << 16, ""}, {1 << 15, 64, ""},
		{513, 1 << 16, "at most 512 windows of that size, or 65408 words for so many"},
		{0, 1, "want 1 to "}, {1, 0, "at least 1"},
	} {
		f := Ring{Windows: c.windows, WindowWords: c.words}
		err := f.Check()
		if err == nil {
			err = f.Fits(device)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d of %d: %v", c.windows, c.words, err)
		}
	}
}

func TestMemoryBudgetIsAShareOfWhatIsFreeUnlessItIsGiven(t *testing.T) {
	h200 := glcompute.Memory{Total: 143771 << 20, Available: 143000 << 20, Source: "GL_NVX_gpu_memory_info"}
	for _, c := range []struct {
		flag   string
		memory glcompute.Memory
		known  bool
		want   uint64
	}{
		{"auto", h200, true, 114400 << 20},
		{"auto", glcompute.Memory{Total: 1 << 30, Available: 5<<20 + 999}, true, 4 << 20},
		{"auto", glcompute.Memory{Total: 1 << 30}, true, 1 << 20}, // never the 0 that means no bound
		{"auto", glcompute.Memory{}, false, 0},
		{"none", h200, true, 0},
		{"0", h200, true, 0},
		{"4096", h200, true, 4096},
		{"4096", glcompute.Memory{}, false, 4096},
	} {
		var f Memory
		if err := f.UnmarshalText([]byte(c.flag)); err != nil {
			t.Fatal(err)
		}
		if got := f.Bytes(c.memory, c.known); got != c.want {
			t.Errorf("%s of %v: %d bytes, want %d", c.flag, c.memory, got, c.want)
		}
	}
	if got := (Memory{}).Bytes(h200, true); got != 0 {
		t.Errorf("where nothing is asked for: %d bytes", got)
	}
}
