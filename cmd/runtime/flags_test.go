package main

import (
	"math"
	"strings"
	"testing"

	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
)

func TestLimitsAreReadAndBadOnesSayWhatToDo(t *testing.T) {
	set := &opcodeSet{catalog: kernel.BuiltIn()}
	f := ringFlags{Limit: []string{"*:pending=5", "q:rate=100.5,burst=7,opcodes=load+nop"}}
	limits, err := f.limits(set)
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
		f := ringFlags{Limit: []string{spec}}
		if _, err := f.limits(set); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), spec) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	if _, err := (&ringFlags{Limit: []string{"q:pending=1", "q:rate=1"}}).limits(set); err == nil || !strings.Contains(err.Error(), "already") {
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
		f := ringFlags{Windows: c.windows, WindowWords: c.words}
		err := f.check()
		if err == nil {
			err = f.fits(device)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d of %d: %v", c.windows, c.words, err)
		}
	}
}

func TestServersAreShownWithoutPasswords(t *testing.T) {
	if got := withoutPasswords("nats://u:secret@a:4222, nats://b:4222"); got != "nats://u:xxxxx@a:4222,nats://b:4222" {
		t.Error(got)
	}
}

func TestEveryRateHasABurst(t *testing.T) {
	for rate, burst := range map[float64]int{0.1: 1, 1: 2, 20_000: 40_000, 1e300: math.MaxInt32} {
		if limit := (&runCmd{Rate: rate}).rateLimit(); limit.Burst != burst || limit.PerSecond != rate {
			t.Errorf("--rate %v: %+v, want a burst of %d", rate, *limit, burst)
		}
	}
}

// What no device can have is refused without one too, and names its flag.
func TestServingRefusesWhatCannotBeMeantBeforeAnythingIsOpened(t *testing.T) {
	for args, want := range map[string]string{
		"--windows 0": "--windows 0: want 1 to ", "--window-words 0": "--window-words 0", "--listen nowhere": `--listen "nowhere"`,
		"--listen 127.0.0.1:99999": "want a port of 0 to 65535", "--rate NaN": "--rate NaN", "--hang-after=-1s": "--hang-after -1s",
		"--drain=-1s": "--drain -1s", "--max-queues=-3": "--max-queues -3", "--lease-duration 2s": "--lease-duration 2s",
	} {
		got := ringmaster(t, t.Context(), "", append([]string{"run", "--decide-only", "--store", t.TempDir()}, strings.Fields(args)...)...)
		if got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%s: exit code %d, %q, want %q", args, got.code, got.err, want)
		}
	}
}

func TestATimeoutOfNothingIsCalledSo(t *testing.T) {
	for _, timeout := range []string{"0s", "-1s"} {
		for _, args := range []string{"submit --slots nop", "cancel b", "heap download 0:1", "graph list", "graph run bfs g --source 0 --worker w1"} {
			got := ringmaster(t, t.Context(), "", append(strings.Fields(args), "--queue", "q", "--timeout="+timeout)...)
			if got.code != 1 || !strings.Contains(got.err, "--timeout "+timeout+": want more than 0") {
				t.Errorf("%s: exit code %d, %q", args, got.code, got.err)
			}
		}
	}
}
