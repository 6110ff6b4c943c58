package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

const (
	crashWorker, crashQueue = "crash", "q"
	// crashBatches is how many batches a worker has in hand when it is killed, less those that it has
	// ended: fewer than it takes of a queue at a time, so all of them are handed out.
	crashBatches = 40
	// crashAfter is how many batches end before the worker is killed.
	crashAfter = 3
)

// crashes kills a worker with a device again and again while it has batches in hand, starts it
// again at once, and prints how long after the kill the first of these batches and the last one had
// run.
func crashes(o options) error {
	dir, err := os.MkdirTemp("", "crash-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f, err := startFleet(dir, options{programs: o.programs, servers: 1})
	if err != nil {
		return err
	}
	defer f.close()
	path, err := o.worker(dir)
	if err != nil {
		return err
	}
	args := []string{"run", "--nats", f.urls[0], "--worker", crashWorker, "--share-device"}
	if err := f.add(&f.workers, "worker", path, args); err != nil {
		return err
	}
	conn, err := f.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	var first, last []time.Duration
	for run := range o.crashes {
		a, b, err := crash(conn, f.workers[0], run)
		if err != nil {
			return fmt.Errorf("run %d: %w", run, err)
		}
		first, last = append(first, a), append(last, b)
	}
	fmt.Printf("| worker killed with up to %d batches in hand | runs | min / median / max |\n|---|---|---|\n", crashBatches-crashAfter)
	for _, row := range []struct {
		what  string
		waits []time.Duration
	}{{"the first of them has run", first}, {"all of them have run", last}} {
		slices.Sort(row.waits)
		fmt.Printf("| %s | %d | %.1f / %.1f / %.1f s |\n", row.what, o.crashes,
			row.waits[0].Seconds(), row.waits[o.crashes/2].Seconds(), row.waits[o.crashes-1].Seconds())
	}
	return nil
}

// crash submits batches, kills the worker when a few have run, starts it again, and returns how long
// after the kill the first and the last of the others had run.
func crash(conn *natsio.Conn, worker *process, run int) (first, last time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := conn.WaitState(ctx, natsio.StateConnected); err != nil {
		return 0, 0, err
	}
	if err := conn.EnsureWorkStream(ctx); err != nil {
		return 0, 0, err
	}
	outcomes, err := client.FollowOutcomes(ctx, conn, crashWorker, crashQueue, func(string) bool { return true })
	if err != nil {
		return 0, 0, err
	}
	defer outcomes.Close()
	ids := make([]string, crashBatches)
	header := telemetry.Header{Incarnation: telemetry.NewIncarnation()}
	for i := range ids {
		ids[i] = fmt.Sprintf("r%d-%d", run, i)
		header.Seq++
		w := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasRuns, Batch: ids[i], Runs: []telemetry.Run{{
			Opcode: uint32(kernel.OpNop), Priority: ring.PriorityNormal, Count: telemetry.MaxBatchSlots,
		}}}
		if _, err := client.PublishWork(ctx, conn, crashWorker, crashQueue, header, &w); err != nil {
			return 0, 0, err
		}
	}
	var killed time.Time
	done := 0
	err = outcomes.Wait(ctx, ids, func(d *telemetry.Done) error {
		done++
		switch {
		case d.Executed != telemetry.MaxBatchSlots:
			return fmt.Errorf("batch %s: %d of %d slots executed: %s", d.Batch, d.Executed, telemetry.MaxBatchSlots, d.Error)
		case killed.IsZero() && done >= crashAfter:
			worker.end(syscall.SIGKILL)
			killed = time.Now()
			return worker.start()
		case !killed.IsZero():
			last = time.Since(killed)
			if first == 0 && last > time.Second { // before that come those whose record was out at the kill
				first = last
			}
		}
		return nil
	}, func(*telemetry.Rejected) {})
	if err == nil && first == 0 {
		err = fmt.Errorf("the worker had ended all %d batches when it was killed", crashBatches)
	}
	return first, last, err
}
