//go:build cgo

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ringmaster/cmd/runtime/option"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// A batch that comes after its cancellation does not run, one that has ended says
// so, and many that are canceled on their way have one done record each, in which
// every slot ran or is dropped as canceled.
func TestCanceledWorkDoesNotRunAndSaysSo(t *testing.T) {
	requireGL(t)
	s := serve(t)
	to := []string{"--nats", s.url, "--worker", "w1", "--queue", "q"}
	cancel := func(id string) outcome {
		return ringmaster(t, t.Context(), "", append([]string{"cancel", id}, to...)...)
	}
	if got := cancel("early"); got.code != 0 || !strings.Contains(got.stdout, "early: has not come yet") {
		t.Errorf("exit code %d, %s%s", got.code, got.stdout, got.err)
	}
	conn, err := natsio.Connect((&option.NATS{URL: s.url, Prefix: telemetry.DefaultPrefix}).Config("test", quietLog))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const many, slots = 60, 4096
	finished := make(chan telemetry.Done, 2*many)
	if _, err := conn.SubscribeDone("w1", "q", func(_, _ string, _ *telemetry.Header, d *telemetry.Done) { finished <- *d }); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	header := telemetry.Header{Incarnation: telemetry.NewIncarnation()}
	submit := func(id string) {
		work := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasSlots, Batch: id}
		for range slots {
			work.Slots = append(work.Slots, telemetry.Slot{Opcode: uint32(kernel.OpAdd), Priority: ring.PriorityNormal, Args: [12]uint32{1, 0}})
		}
		header.Seq++
		if _, err := client.PublishWork(t.Context(), conn, "w1", "q", header, &work); err != nil {
			t.Fatal(err)
		}
	}
	done := func() telemetry.Done {
		t.Helper()
		select {
		case d := <-finished:
			return d
		case <-time.After(clientPatience):
			t.Fatal("no done record")
			panic("not reached")
		}
	}
	submit("early")
	if d := done(); d.Batch != "early" || d.Dropped != slots || d.Executed != 0 || d.Error != "canceled" {
		t.Errorf("done %+v", d)
	}
	submit("late")
	if d := done(); d.Batch != "late" || d.Executed != slots {
		t.Errorf("done %+v", d)
	}
	if got := cancel("late"); got.code != 1 || !strings.Contains(got.stdout, "late: had ended") {
		t.Errorf("exit code %d, %s%s", got.code, got.stdout, got.err)
	}
	for i := range many {
		submit(fmt.Sprint("b", i))
		if _, _, err := client.Cancel(t.Context(), conn, "w1", "q", fmt.Sprint("b", i-i%3)); err != nil {
			t.Fatal(err)
		}
	}
	ran := uint32(slots) // by late
	for range many {
		d := done()
		ran += d.Executed
		if d.Executed+d.Dropped != slots || d.Faulted != 0 || (d.Dropped > 0) != (d.Error == "canceled") {
			t.Errorf("done %+v", d)
		}
	}
	word := make([]uint32, 1)
	if err := client.Download(t.Context(), conn, "w1", "q", 0, word); err != nil || word[0] != ran {
		t.Errorf("%d slots ran by the device's count, %d by the records; %v", word[0], ran, err)
	}
	if got := ringmaster(t, t.Context(), "", "cancel", "x", "--nats", s.url, "--worker", "nobody", "--queue", "q"); got.code != 1 || !strings.Contains(got.err, "no runtime answers") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}
