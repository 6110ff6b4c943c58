package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

const (
	poolQueue = "q"
	everyone  = "all" // the pool of all workers. Each has one of its own name besides: the yardstick, on the same way.

	poolWarm = time.Second     // before anything counts
	poolTurn = 6 * time.Second // that counts
	// poolBacklog is how many batches are without an outcome under the heavy load: more than workers have in hand.
	poolBacklog = 64
	// poolShare is how much of all devices the light load takes.
	poolShare = 0.2
	// heavyBatch is what a batch is to take of a device: so long that the way of a batch is none of what is waited for.
	heavyBatch = 5 * time.Millisecond
)

// pool is workers with a device each, that share the work of a pool.
type pool struct {
	f       *fleet
	conn    *natsio.Conn
	names   []string // of the workers
	batches *batches
}

// pools has workers, one for each device named, run the batches of a pool by turns with each of them alone, under a backlog
// of heavy batches and under a light load. It fails if a batch was lost or ran twice.
func pools(o options) error {
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f, err := startFleet(dir, options{programs: o.programs, servers: 1})
	if err != nil {
		return err
	}
	defer f.close()
	conn, err := f.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	p := &pool{f: f, conn: conn}
	if err := p.start(strings.Split(o.pool, ",")); err != nil {
		return fmt.Errorf("%w; see the logs in %s", err, keep(dir))
	}
	if p.batches, err = newBatches(conn, append(slices.Clone(p.names), everyone)); err != nil {
		return err
	}
	p.batches.begin()
	each, err := p.weigh()
	if err != nil {
		return err
	}
	return p.compare(o.runs, each)
}

// start starts a worker for each device, and waits until all have announced themselves.
func (p *pool) start(devices []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := p.conn.EnsureWorkStream(ctx); err != nil {
		return err
	}
	announced := make(chan string, 1024) // more than they say in the time
	if _, err := p.conn.SubscribeWorkers("*", func(worker string, _ *telemetry.Header, w *telemetry.Worker) {
		announced <- fmt.Sprintf("%s: %s, UUID %s, driver %s", worker, w.Renderer, w.DeviceUUID, w.Driver)
	}); err != nil {
		return err
	}
	if err := p.conn.Flush(ctx); err != nil {
		return err
	}
	ringmaster, err := p.f.worker(p.f.dir)
	if err != nil {
		return err
	}
	opcodes := filepath.Join(p.f.dir, "opcodes")
	if err := writeOpcodes(opcodes); err != nil {
		return err
	}
	ports, err := freePorts(len(devices))
	if err != nil {
		return err
	}
	for i, device := range devices {
		name, http := fmt.Sprint("worker", i), fmt.Sprint("127.0.0.1:", ports[i])
		args := []string{"run", "--nats", p.f.urls[0], "--worker", name, "--device", device, "--pool", everyone, "--pool", name, "--opcodes", opcodes, "--http", http}
		if slices.Index(devices, device) != i || slices.Contains(devices[i+1:], device) {
			args = append(args, "--share-device")
		}
		if err := p.f.add(&p.f.workers, name, ringmaster, args); err != nil {
			return err
		}
		p.f.workers[i].http = http
		p.names = append(p.names, name)
	}
	for i, worker := range p.f.workers {
		for heard := false; !heard; {
			select {
			case said := <-announced:
				if heard = strings.HasPrefix(said, worker.name+":"); heard {
					fmt.Printf("device %s, %s\n", devices[i], said)
				}
			case <-worker.done:
				return fmt.Errorf("%s has ended", worker.name)
			case <-ctx.Done():
				return fmt.Errorf("%s has not announced itself", worker.name)
			}
		}
	}
	return nil
}

// weigh makes batches so heavy that one of a backlog takes a device about heavyBatch, and returns what one takes. Kernels
// are compiled and tuners try geometries meanwhile.
func (p *pool) weigh() (each time.Duration, err error) {
	for _, name := range p.names { // so that each has a window for the queue
		if err := p.batches.run(name); err != nil {
			return 0, err
		}
	}
	for p.batches.turns = 1; ; p.batches.turns *= 2 {
		p.batches.begin()
		used, err := p.used()
		if err != nil {
			return 0, err
		}
		stop := make(chan struct{})
		time.AfterFunc(poolWarm, func() { close(stop) })
		if err := p.batches.backlog(everyone, poolBacklog, stop); err != nil {
			return 0, err
		}
		after, err := p.used()
		if err != nil {
			return 0, err
		}
		took := 0.
		for i := range used {
			took += after[i] - used[i]
		}
		each = time.Duration(took / float64(p.batches.ended) * float64(time.Second))
		if each >= heavyBatch*2/3 || p.batches.turns >= mostTurns {
			fmt.Printf("a batch of %d slots of %d turns takes a device %.1f ms\n\n", batchSlots, p.batches.turns, ms(each))
			return each, nil
		}
	}
}

// used is for how many seconds each worker's device has run launches of the queue so far.
func (p *pool) used() (seconds []float64, err error) {
	for _, w := range p.f.workers {
		series, err := w.series()
		if err != nil {
			return nil, err
		}
		seconds = append(seconds, series[fmt.Sprintf(`ringmaster_queue_device_seconds_total{queue=%q,worker=%q}`, poolQueue, w.name)])
	}
	return seconds, nil
}

// ran is how often each word of the workers' windows was counted up: by which worker each batch ran, and how often.
func (p *pool) ran() ([][]uint32, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	counts := make([][]uint32, len(p.names))
	for i, name := range p.names {
		counts[i] = make([]uint32, counters)
		if err := client.Download(ctx, p.conn, name, poolQueue, firstCounter, counts[i]); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// outcome is what a turn has shown.
type outcome struct {
	batches, lost, doneTwice, ranTwice int
	waits                              []time.Duration
	rate                               float64   // batches a second
	ran                                []int     // batches of each worker
	busy                               []float64 // part of the time that each worker's device ran launches
	waiting                            uint64    // fewest batches that no worker had taken
}

// turn has load on a pool for a time.
func (p *pool) turn(name string, load func(stop <-chan struct{}) error) (o outcome, err error) {
	before, err := p.ran()
	if err != nil {
		return o, err
	}
	p.batches.begin()
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- load(stop) }()
	time.Sleep(poolWarm)
	err = p.watch(name, &o)
	close(stop)
	if err = errors.Join(err, <-ended); err != nil {
		return o, err
	}
	after, err := p.ran()
	if err != nil {
		return o, err
	}
	o.count(p.batches, before, after)
	return o, nil
}

// watch looks at a pool under load.
func (p *pool) watch(name string, o *outcome) error {
	p.batches.take()
	used, err := p.used()
	if err != nil {
		return err
	}
	begun := time.Now()
	o.waiting = poolBacklog
	for time.Since(begun) < poolTurn {
		time.Sleep(poolTurn / 24)
		n, err := p.waiting(name)
		if err != nil {
			return err
		}
		o.waiting = min(o.waiting, n)
	}
	after, err := p.used()
	if err != nil {
		return err
	}
	took := time.Since(begun).Seconds()
	o.waits = p.batches.take()
	o.rate = float64(len(o.waits)) / took
	for i := range used {
		o.busy = append(o.busy, (after[i]-used[i])/took)
	}
	return nil
}

// count compares the batches of a turn that has ended with what the workers ran.
func (o *outcome) count(b *batches, before, after [][]uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o.batches, o.doneTwice = len(b.open), b.twice
	o.ran = make([]int, len(before))
	missing := 0
	for k, wanted := range b.wanted {
		ran := 0
		for i := range before {
			n := int(after[i][k] - before[i][k])
			o.ran[i] += n
			ran += n
		}
		o.ranTwice += max(0, ran-wanted)
		missing += max(0, wanted-ran)
	}
	o.lost = max(missing, len(b.open)-b.ended)
}

// waiting is how many batches of a pool no worker has taken.
func (p *pool) waiting(name string) (uint64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	consumer, err := p.conn.JetStream().Consumer(ctx, p.conn.WorkStream(), natsio.ConsumerName(telemetry.Pool(name), poolQueue))
	if err != nil {
		return 0, fmt.Errorf("who takes batches of %s: %w", name, err)
	}
	return consumer.CachedInfo().NumPending, nil
}
