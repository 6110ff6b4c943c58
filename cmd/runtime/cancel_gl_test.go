//go:build cgo

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/cmd/runtime/explain"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/client"
	"ringmaster/telemetry/natsio/poison"
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
	conn := bustest.Dial(t, s.url)
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

// A batch is found where it is: nowhere, done, with a worker, withdrawn, in the stream of a worker that is gone, set aside.
func TestExplainSaysWhereABatchIs(t *testing.T) {
	requireGL(t)
	url := serverOf(t)
	run := func(args ...string) outcome {
		return ringmaster(t, t.Context(), "", append(args, "--nats", url)...)
	}
	expect := func(id string, want ...string) {
		t.Helper()
		var got outcome
		for deadline := time.Now().Add(clientPatience); time.Now().Before(deadline); {
			got = run("explain", "w1.q", "--batch", id)
			if got.code == 0 && !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(got.stdout, w) }) {
				return
			}
		}
		t.Errorf("%s: exit code %d, %s%s, want %q", id, got.code, got.stdout, got.err, want)
	}
	submit := func(id string, args ...string) {
		t.Helper()
		if got := run(append([]string{"submit", "--worker", "w1", "--queue", "q", "--slots", "nop", "--batch", id}, args...)...); got.code != 0 {
			t.Fatalf("submit %s: %+v", id, got)
		}
	}
	expect("b0", "batch b0 of w1.q is not submitted: the stream of batches has taken none yet")
	s := serveOn(t, url, "--limit", "q:rate=0.001,burst=1", "--done-stream", "always", "--max-deliveries", "7")
	submit("b1")
	expect("b1", "batch b1 of w1.q is done: ", "ago: 1 slot executed, 0 faulted, 0 dropped", "next: nothing")
	expect("b0", "batch b0 of w1.q is unknown", "none was removed since the stream of them was made")
	submit("b2", "--no-wait")
	submit("b3", "--no-wait")
	expect("b2", "is held: worker w1 has had it for", "delivery 1 of 7, and is the next of its queue", "as number 2 of the stream")
	expect("b3", "is held", "behind 1 batch with 1 slot")
	if got := run("cancel", "--worker", "w1", "--queue", "q", "b2"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	expect("b2", "is withdrawn: ", "0 slots executed, 0 faulted, 1 dropped")
	s.stop()
	submit("b4", "--no-wait")
	expect("b4", "is waiting: in the stream for", "behind 1 batch with 1 slot", "nobody takes batches of w1", "next: start `ringmaster run --worker w1`")
	var b explain.Batch
	if got := run("explain", "w1.q", "--batch", "b4", "--json"); json.Unmarshal([]byte(got.stdout), &b) != nil || b.State != "waiting" || b.Ahead != 1 || b.Sequence != 4 || b.Stored == nil {
		t.Errorf("%+v", got)
	}
	for _, wrong := range [][]string{{"q", "--batch", "b"}, {"w1.q", "--batch", "b", "--watch"}, {"w1.q", "--batch", "a b"}} {
		if got := run(append([]string{"explain"}, wrong...)...); got.code == 0 || got.err == "" {
			t.Errorf("%v: %+v", wrong, got)
		}
	}
	conn := bustest.Dial(t, url)
	kept := make(chan error, 1)
	poison.NewKeeper(conn).SetAside(&natsio.GivenUp{Worker: "w1", Queue: "q", Batch: "b5", Slots: 3, Deliveries: 20, Sequence: 9, Data: []byte("x")}, func(err error) { kept <- err })
	if err := <-kept; err != nil {
		t.Fatal(err)
	}
	expect("b5", "is set aside: ", "after 20 deliveries without an outcome", "`ringmaster work run 1`")
}
