package main

import (
	"math"
	"strings"
	"testing"
)

func TestServersAreShownWithoutPasswords(t *testing.T) {
	if got := withoutPasswords("nats://u:secret@a:4222, nats://b:4222"); got != "nats://u:xxxxx@a:4222,nats://b:4222" {
		t.Error(got)
	}
	if got := withoutPasswords("nats://token@a:4222,token@b:4222,u:secret@c"); got != "nats://:xxxxx@a:4222,:xxxxx@b:4222,u:xxxxx@c" {
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
