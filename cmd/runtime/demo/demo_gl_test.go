//go:build cgo

package demo

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/embedded"
)

// TestMain serves main-thread calls, as the command's main function does.
func TestMain(m *testing.M) { os.Exit(glcompute.Main(m.Run)) }

// config is a demo's worker on a device and a server of its own.
func config(t *testing.T) worker.Config {
	t.Helper()
	device := gltest.OpenUnclosed(t)
	server, err := embedded.Start(embedded.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	bus := natsio.DefaultConfig()
	bus.URL = server.URL()
	return worker.Config{
		NATS: bus, Policy: policy.Standard(), Autotuner: session.Off, Log: slog.New(slog.DiscardHandler), Version: "test",
		Device: device, Engine: worker.EngineConfig{Mode: megakernel.ModeWave},
	}
}

// TestEverySlotShownIsOneOfTheTrace: what the live table ends with is what the summary accounts for.
func TestEverySlotShownIsOneOfTheTrace(t *testing.T) {
	d, err := Start(t.Context(), Config{Worker: config(t), Player: PlayerConfig{Speed: 200, Limit: 40 * time.Second}})
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
	if s.TokensGenerated == 0 || s.TokensCounted != s.TokensGenerated {
		t.Errorf("%d tokens generated, %d counted", s.TokensGenerated, s.TokensCounted)
	}
}
