//go:build cgo

package demo

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"ringmaster/cmd/runtime/demo/trace"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel"
	"ringmaster/megakernel/fixed"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/bustest"
)

// TestMain serves main-thread calls, as the command's main function does.
func TestMain(m *testing.M) { os.Exit(glcompute.Main(m.Run)) }

// config is a demo's worker on a device and a server of its own.
func config(t *testing.T) worker.Config {
	t.Helper()
	device := gltest.OpenUnclosed(t)
	return worker.Config{
		NATS: bustest.Config(bustest.Server(t).URL()), Policy: policy.Standard(), Autotuner: session.Off, Log: slog.New(slog.DiscardHandler), Version: "test",
		Device: device, Engine: worker.EngineConfig{Mode: megakernel.ModeWave},
	}
}

// TestEverySlotShownIsOneOfTheTrace: what the live table ends with is what the summary accounts for, at any speed.
func TestEverySlotShownIsOneOfTheTrace(t *testing.T) {
	d, err := Start(t.Context(), Config{Worker: config(t), Player: PlayerConfig{Speed: 1e300, Limit: 40 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s, err := d.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, _, done := d.Progress()
	table := uint64(0)
	for _, q := range d.Queues() {
		table += q.SlotsExecuted
	}
	if s.SlotsSubmitted == 0 || done != s.SlotsSubmitted || table != s.SlotsSubmitted || s.SlotsExecuted != s.SlotsSubmitted {
		t.Errorf("%d slots submitted, %d executed; shown are %d, in the table %d", s.SlotsSubmitted, s.SlotsExecuted, done, table)
	}
	if want := tokensUntil(t, 40*time.Second); s.TokensGenerated != want || s.TokensCounted != want {
		t.Errorf("%d tokens generated, %d counted, %d in the trace", s.TokensGenerated, s.TokensCounted, want)
	}
}

// tokensUntil is how many tokens the trace generates until a moment.
func tokensUntil(t *testing.T, end time.Duration) (tokens uint64) {
	t.Helper()
	requests, err := trace.Requests()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range trace.NewReplay(requests).Advance(end).Admitted {
		tokens += uint64(r.DecodeSlots())
	}
	return tokens
}

// TestBothSidesOfAComparisonHaveTheSameLoad: the same batches, at the plans of the policy on one side and at one
// geometry on the other.
func TestBothSidesOfAComparisonHaveTheSameLoad(t *testing.T) {
	cfg := config(t)
	d, err := Start(t.Context(), Config{Worker: cfg, Player: PlayerConfig{Speed: 50, Limit: 30 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Play(t.Context()); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	recommended := map[string]map[telemetry.Geometry]int{} // by worker
	_, err = d.subscriber.SubscribeLaunches("*", "*", func(worker, _ string, _ *telemetry.Header, l *telemetry.Launch) {
		mu.Lock()
		defer mu.Unlock()
		if recommended[worker] == nil {
			recommended[worker] = map[telemetry.Geometry]int{}
		}
		recommended[worker][l.Recommended]++
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.subscriber.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := cfg
	other.Device = gltest.OpenUnclosed(t)
	limits := megakernel.LimitsOf(other.Device)
	told := 0
	c, err := d.Compare(t.Context(), other, 1, func(over, of int) {
		if told++; over+1 != told || of != 4 {
			t.Errorf("turn %d of %d after %d", over, of, told)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	g := fixed.Fill(&limits)
	if want := fmt.Sprintf("%d×%d", g.Width, g.Groups); c.Fixed != want || c.Turns != 1 || c.Seconds != 30 || told != 4 {
		t.Errorf("%+v after %d turns, want 30 s of the trace at %s", c, told, want)
	}
	if c.With.Batches == 0 || c.With.Batches != c.Without.Batches {
		t.Errorf("%d batches with the decision, %d without", c.With.Batches, c.Without.Batches)
	}
	for name, s := range map[string]Side{"with": c.With, "without": c.Without} {
		if s.Submit.P50 <= 0 || s.Submit.P99 < s.Submit.P50 || s.Device <= 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	always := telemetry.Geometry{WorkgroupSizeX: g.Width, Groups: g.Groups, ClaimChunk: g.Chunk}
	if there := recommended["demo-fixed"]; len(there) != 1 || there[always] == 0 {
		t.Errorf("without the decision launches were asked for at %v, want %v", there, always)
	}
	if here := recommended["demo"]; len(here) == 0 || here[always] > 0 {
		t.Errorf("with the decision launches were asked for at %v", here)
	}
}
