//go:build cgo

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/client"
)

// Two workers, each a process with an engine of its own, run the batches of a pool. One is killed while it has some: the
// other runs all of them, those that the dead one had taken too.
func TestAPoolRunsEveryBatchThoughAWorkerIsKilled(t *testing.T) {
	requireGL(t)
	t.Parallel() // it waits for deliveries most of its time
	url := serverOf(t)
	first := startNode(t, url, "--worker", "p1", "--pool", "gpus", "--share-device")
	second := startNode(t, url, "--worker", "p2", "--pool", "gpus", "--share-device")
	conn := bustest.Dial(t, url)
	pool := telemetry.Pool("gpus")
	outcomes, err := client.FollowOutcomes(t.Context(), conn, pool, "q", func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	const batches = 60
	var ids []string
	header := telemetry.Header{Incarnation: telemetry.NewIncarnation()}
	for i := range batches {
		w := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasRuns, Batch: fmt.Sprint("b", i), Runs: []telemetry.Run{{
			Opcode: uint32(kernel.OpNop), Priority: ring.PriorityNormal, Count: telemetry.MaxBatchSlots,
		}}}
		header.Seq++
		if _, err := client.PublishWork(t.Context(), conn, pool, "q", header, &w); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, w.Batch)
	}
	done := 0
	ctx, cancel := context.WithTimeout(t.Context(), clientPatience)
	defer cancel()
	err = outcomes.Wait(ctx, ids, func(d *telemetry.Done) error {
		if done++; done == 3 {
			first.kill()
		}
		if d.Executed != telemetry.MaxBatchSlots {
			t.Errorf("done %+v", d)
		}
		return nil
	}, func(r *telemetry.Rejected) { t.Errorf("refused: %+v", r) })
	if err != nil || done != batches {
		t.Errorf("%d of %d batches have ended; %v", done, batches, err)
	}
	second.drained()
}

func TestAPoolIsNamedInAWorkersPlace(t *testing.T) {
	requireGL(t)
	s := serve(t, "--pool", "gpus")
	to := []string{"--nats", s.url, "--worker", "pool.gpus", "--queue", "q"}
	command := func(args ...string) outcome { return ringmaster(t, t.Context(), "", append(args, to...)...) }
	if got := command("submit", "--slots", "nop x300"); got.code != 0 || !strings.Contains(got.err, "300 executed") {
		t.Errorf("submit: %+v", got)
	}
	if got := command("cancel", "early"); got.code != 0 || !strings.Contains(got.stdout, "has not come yet") {
		t.Errorf("cancel: %+v", got)
	}
	if got := command("submit", "--batch", "early", "--slots", "nop x300"); got.code != 1 || !strings.Contains(got.err, "canceled") {
		t.Errorf("a batch that was canceled before it came: %+v", got)
	}
	if got := command("heap", "download", "0:1"); got.code != 1 || !strings.Contains(got.err, "name one of its workers") {
		t.Errorf("heap: %+v", got)
	}
	began := time.Now()
	got := ringmaster(t, t.Context(), "", "submit", "--nats", s.url, "--worker", "pool.others", "--queue", "q", "--slots", "nop", "--timeout", "1m")
	if got.code != 1 || !strings.Contains(got.err, "--pool others") || time.Since(began) > time.Minute/2 {
		t.Errorf("a pool without workers: %+v", got)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
	for _, args := range [][]string{{"--pool", "a.b"}, {"--pool", "a", "--pool", "a"}, {"--decide-only", "--pool", "a"}, {"--worker", "pool"}} {
		if got := ringmaster(t, t.Context(), "", append([]string{"run"}, args...)...); got.code != 1 {
			t.Errorf("run %v: %+v", args, got)
		}
	}
}
