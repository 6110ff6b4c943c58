package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

const (
	adapted    = 10 * time.Second // at each rate
	settled    = 15 * time.Second // before the first
	heardFirst = 50               // workers whose records and advice are heard: a sample that costs little
)

// heard is when what was heard came, after it was sent.
type heard struct {
	mu    sync.Mutex
	waits []time.Duration
}

func (h *heard) add(wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waits = append(h.waits, wait)
}

// take returns what was added since the last call, in order.
func (h *heard) take() []time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	waits := h.waits
	h.waits = nil
	slices.Sort(waits)
	return waits
}

// adapter measures ringmaster adapt fpm at rates of messages a second: the processor time of its process a message, and
// how long it takes from an engine's send until the records, and with a decider the recommendations, are at a subscriber.
func adapter(o options) error {
	var rates []float64
	for text := range strings.SplitSeq(o.adapter, ",") {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil || !(rate > 0) {
			return fmt.Errorf("--adapter %s: want messages a second, separated by commas", o.adapter)
		}
		rates = append(rates, rate)
	}
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	deciding := o
	deciding.core = -1 // which is the adapter's
	f, err := startFleet(dir, deciding, "--max-queues", "100000")
	if err != nil {
		return err
	}
	defer f.close()
	all, err := listen()
	if err != nil {
		return err
	}
	defer all.close()
	ringmaster, err := o.decider(dir)
	if err != nil {
		return err
	}
	args := append([]string{ringmaster, "adapt", "fpm", "--nats", f.urls[0]}, slices.Repeat([]string{"tcp://" + all.listener.Addr().String()}, o.workers)...)
	args = onCore(o.core, args)
	if err := f.add(&f.workers, "adapter", args[0], args[1:]); err != nil {
		return err
	}
	if err := all.accept(o.workers); err != nil {
		return err
	}
	conn, err := f.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	records, advice, err := hear(conn, all.list)
	if err != nil {
		return err
	}
	fmt.Printf("%d engines, %d deciders; of %d engines is heard what becomes of their messages\n", o.workers, o.deciders, min(heardFirst, o.workers))
	fmt.Println("| asked, sent a second | records, advice of 100 sent | records p50 / p99 | advice p50 / p99 | the adapter's processor time a message |")
	fmt.Println("|---|---|---|---|---|")
	// Until all that is kept was sent a second time, as a new connection has it, and deciders know every queue.
	if _, err := all.play(max(rates[0], float64(o.workers)), settled); err != nil {
		return err
	}
	for _, rate := range rates {
		if _, err := all.play(rate, adapted/5); err != nil {
			return err
		}
		time.Sleep(time.Second)
		records.take()
		advice.take()
		began, err := seconds(f.workers)
		if err != nil {
			return err
		}
		before := all.sent
		took, err := all.play(rate, adapted)
		if err != nil {
			return err
		}
		time.Sleep(time.Second)
		ended, err := seconds(f.workers)
		if err != nil {
			return err
		}
		sent := float64(all.sent - before)
		due := 2 * sent * float64(min(heardFirst, o.workers)) / float64(o.workers) / 100
		r, a := records.take(), advice.take()
		fmt.Printf("| %.0f, %.0f | %.1f, %.1f | %s | %s | %.2f µs |\n", rate, sent/took.Seconds(), float64(len(r))/due, float64(len(a))/due,
			quantiles(r), quantiles(a), (ended-began)*1e6/sent)
	}
	f.workers[0].end(syscall.SIGTERM)
	said, err := os.ReadFile(f.workers[0].log.Name())
	if err != nil {
		return err
	}
	taken := 0
	for line := range strings.Lines(string(said)) {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(fields[0], "tcp://") { // the engine, its iterations
			n, _ := strconv.Atoi(strings.ReplaceAll(fields[1], ",", ""))
			taken += n
		}
	}
	fmt.Printf("the adapter has taken %d messages of %d\n", taken, all.sent)
	return nil
}

// hear subscribes to what becomes of the first engines' messages, and announces their devices, without which there is no plan.
func hear(conn *natsio.Conn, list []*engine) (records, advice *heard, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := conn.WaitState(ctx, natsio.StateConnected); err != nil {
		return nil, nil, err
	}
	records, advice = new(heard), new(heard)
	for i, e := range list {
		h := telemetry.Header{Incarnation: telemetry.NewIncarnation(), Seq: 1}
		device := telemetry.Worker{
			Has:               telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension | telemetry.HasWorkerMaxInvocationsPerWorkgroup,
			MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65535, MaxInvocationsPerWorkgroup: 1024,
		}
		if err := conn.PublishRequest(conn.Subjects().Worker(e.name), "", telemetry.Append(nil, telemetry.EncodingArray, h, &device)); err != nil {
			return nil, nil, err
		}
		if i >= heardFirst {
			continue
		}
		if _, err := conn.SubscribeTelemetry(e.name, "*", func(_, _ string, r *telemetry.Record) {
			records.add(e.since(r.Queue.QueueLen, time.Now()))
		}); err != nil {
			return nil, nil, err
		}
		if _, err := conn.SubscribeRecommendations(e.name, "*", func(_, _ string, _ *telemetry.Header, r *telemetry.Recommendation) {
			if !r.Heartbeat {
				advice.add(e.since(r.QueueLen, time.Now()))
			}
		}); err != nil {
			return nil, nil, err
		}
	}
	return records, advice, conn.Flush(ctx)
}

func quantiles(sorted []time.Duration) string {
	if len(sorted) == 0 {
		return "none"
	}
	return fmt.Sprintf("%.2f / %.2f ms", ms(sorted[len(sorted)/2]), ms(sorted[len(sorted)*99/100]))
}
