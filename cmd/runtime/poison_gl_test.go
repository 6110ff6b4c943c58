//go:build cgo

package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ringmaster/cmd/runtime/terminal"
	"ringmaster/megakernel/texttest"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/client"
)

// A batch that two processes ended with is given up by the third, and whoever waits
// for it is told.
func TestRunGivesUpABatchThatEndedProcessesBeforeIt(t *testing.T) {
	t.Parallel() // it waits for deliveries most of its time
	requireGL(t)
	url := serverOf(t)
	conn := bustest.Dial(t, url)
	if err := conn.EnsureWorkStream(t.Context()); err != nil {
		t.Fatal(err)
	}
	outcomes, err := client.FollowOutcomes(t.Context(), conn, "w1", "q", func(batch string) bool { return batch == "poison" })
	if err != nil {
		t.Fatal(err)
	}
	work := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasSlots, Batch: "poison", Slots: make([]telemetry.Slot, 7)}
	if _, err := client.PublishWork(t.Context(), conn, "w1", "q", telemetry.Header{Incarnation: 7, Seq: 1}, &work); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		dies(t, url)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{"run", "--nats", url, "--worker", "w1", "--max-deliveries", "2", "--share-device"}, terminal.Stdio{In: strings.NewReader(""), Out: &texttest.Log{}, Err: &texttest.Log{}})
	}()
	patient, stop := context.WithTimeout(t.Context(), clientPatience)
	defer stop()
	wait := func() error {
		return outcomes.Wait(patient, []string{"poison"}, func(d *telemetry.Done) error {
			if d.Dropped != 7 || d.Error != "given up after 2 deliveries" {
				t.Errorf("done %+v", d)
			}
			return nil
		}, func(*telemetry.Rejected) {})
	}
	if err = wait(); errors.Is(err, natsio.ErrRefused) { // which may be heard before the done record
		err = wait()
	}
	if err != nil {
		t.Error(err)
	}
	if o := ringmaster(t, t.Context(), "", "work", "list", "--nats", url); !strings.Contains(o.stdout, "w1.q") {
		t.Errorf("it is not set aside: %+v", o)
	}
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

// dies takes the work of worker w1 once and ends without an outcome.
func dies(t *testing.T, url string) {
	t.Helper()
	conn := bustest.Dial(t, url)
	defer conn.Close()
	cfg := natsio.DefaultWorkConfig()
	cfg.AckWait = time.Second
	taken := make(chan func(telemetry.Outcome, error), 1)
	c, err := conn.ConsumeWork(t.Context(), "w1", cfg, func(_, _ string, _ *telemetry.Work, _ int64, settled func(telemetry.Outcome, error)) {
		taken <- settled
	})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case settled := <-taken:
		settled(telemetry.OutcomeRetry, nil)
	case <-time.After(clientPatience):
		t.Fatal("no work came")
	}
	if err := c.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}
