package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/decisions"
	"ringmaster/megakernel"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// nodeConfig says what a node is made of.
type nodeConfig struct {
	nats     natsio.Config
	policy   policy.Config
	worker   string
	device   glDevice                           // nil: decide only; closed with the node
	reopen   func() (glDevice, error)           // opens the device again after a loss; nil: it stays lost
	opcodes  *megakernel.Catalog                // of the ring; nil: the built-in ones
	lease    leaseChoice                        // how launches run
	programs *programFlags                      // where built kernels are kept; nil: nowhere
	rate     *natsio.RateLimit                  // of the telemetry of one worker; nil is the default
	queues   int                                // most queues; 0 is the default
	ring     ringFlags                          // size of the heap; zero is the default
	limits   map[string]megakernel.QueueOptions // of queues, those of no other under *
	log      *slog.Logger

	memory memoryFlag // most of the device that graphs and their jobs take; zero is no bound
	joins  bool       // for graphs, that come over NATS, are run

	hangAfter time.Duration      // longest launch; 0: no limit
	hung      func(why string)   // is called when one took longer
	work      *natsio.WorkConfig // nil is the default

	deliveries uint64 // of a batch before it is given up; 0: no bound
	doneStream bool   // keep done records in a stream

	decisions decisions.Config
	tuner     *autotuneFlags // nil: tuned, and nothing is kept
}

// size sizes the ring, and bounds the queues that have no limit of their own.
func (c *nodeConfig) size(ring *megakernel.Config) {
	c.ring.size(ring)
	ring.Queue = c.limits["*"]
}

// node is the part that serves: the bus, the actors and, if there is a device, its ring.
type node struct {
	conn      *natsio.Conn
	publisher *natsio.Outlet
	system    *actors.System
	ingest    *natsio.Ingest
	work      *natsio.WorkConsumer
	engine    *engine
	device    glDevice
	decisions *decisions.Log // nil: not logged
	tuned     *tunerMemory
	results   *natsio.Results

	service  *natsio.Service
	deciders *natsio.Deciders
	heap     *natsio.HeapService // nil without a device
	cancels  *natsio.CancelService

	graphs *natsio.GraphService // nil without a device
	store  *graphStore

	announcing func() // stops the announcements
}

// startNode connects, starts the actors, attaches the device, and only then
// takes in telemetry and work.
func startNode(ctx context.Context, cfg nodeConfig) (_ *node, err error) {
	if !telemetry.ValidToken(cfg.worker) {
		return nil, fmt.Errorf("worker name %q: use 1 to 64 letters, digits, _ or -", cfg.worker)
	}
	n := &node{device: cfg.device}
	defer func() {
		if err != nil {
			n.close(ctx)
		}
	}()
	if n.conn, err = natsio.Connect(cfg.nats); err != nil {
		return nil, err
	}
	actorCfg := actors.DefaultConfig()
	actorCfg.Policy = cfg.policy
	actorCfg.Incarnation = n.conn.Incarnation()
	actorCfg.Logger = cfg.log
	if cfg.queues > 0 {
		actorCfg.MaxQueues = cfg.queues
	}
	if n.deciders, err = n.conn.Claim(claimed(&cfg), processName(cfg.worker)); err != nil {
		return nil, err
	}
	outlet := natsio.DefaultOutletConfig()
	outlet.Deciders = n.deciders
	outlet.DoneStream = cfg.doneStream
	if n.publisher, err = n.conn.NewOutlet(outlet); err != nil {
		return nil, err
	}
	if n.decisions, err = decisions.Open(cfg.decisions, n.conn, decisionHeader(n.conn.Incarnation(), cfg.policy), cfg.log); err != nil {
		return nil, err
	}
	if n.decisions != nil {
		actorCfg.OnDecision = n.decisions.Record
	}
	n.results = n.conn.NewResults()
	actorCfg.Autotuner, n.tuned = cfg.tuner.memory(&tunerFleet{results: n.results, log: cfg.log}, cfg.log)
	actorCfg.TunerMemory, actorCfg.RemoteMemory = n.tuned, n.tuned.Elsewhere
	if n.system, err = actors.New(actorCfg, n.publisher); err != nil {
		return nil, err
	}
	if cfg.device != nil {
		if err = n.attach(ctx, cfg); err != nil {
			return nil, err
		}
	}
	ingest := natsio.DefaultIngestConfig()
	if cfg.rate != nil {
		ingest.Telemetry = *cfg.rate
	}
	ingest.Deciders = n.deciders
	if n.ingest, err = n.conn.Serve(n.system, ingest); err != nil {
		return nil, err
	}
	n.service, err = n.conn.RegisterService(version, map[string]string{"worker": cfg.worker, "device": n.deviceName()},
		func() any { return n.system.Stats() })
	if err != nil {
		return nil, err
	}
	n.settle(ctx)
	return n, nil
}

// claimed is the worker that a node decides for: its own, or without a device all
// that have no runtime of their own.
func claimed(cfg *nodeConfig) string {
	if cfg.device == nil {
		return natsio.AnyWorker
	}
	return cfg.worker
}

// processName tells people which process this is.
func processName(worker string) string {
	host, _ := os.Hostname() // without it the process number has to do
	return fmt.Sprintf("ringmaster run --worker %s on %s, process %d", worker, host, os.Getpid())
}

// attach gives the worker actor its ring, announces the device and starts to
// consume the worker's work.
func (n *node) attach(ctx context.Context, cfg nodeConfig) (err error) {
	var watch *watchdog
	if cfg.hangAfter > 0 {
		watch = startWatchdog(cfg.hangAfter, cfg.hung)
	}
	if n.engine, err = newEngine(cfg.device, cfg.opcodes, cfg.programs.binaries(cfg.log), cfg.lease, rebuilder{reopen: cfg.reopen, log: cfg.log}, watch, cfg.size); err != nil {
		watch.stop()
		return err
	}
	for queue, limit := range cfg.limits {
		if err := n.engine.ring.Configure(queue, limit); err != nil {
			return err
		}
	}
	device := announcement(cfg.device, cfg.opcodes)
	memory, known := memoryOf(cfg.device)
	device.MemoryBudgetBytes = cfg.memory.budget(memory, known)
	if known {
		cfg.log.Info("device memory", "free", memory.Available, "total", memory.Total, "budget", device.MemoryBudgetBytes, "source", memory.Source)
	}
	limits := policy.Limits{
		MaxWorkgroupSizeX:          device.MaxWorkgroupSizeX,
		MaxWorkgroupsPerDimension:  device.MaxWorkgroupsPerDimension,
		MaxInvocationsPerWorkgroup: device.MaxInvocationsPerWorkgroup,
		SubgroupSize:               device.SubgroupSize,
	}
	tuned := newTunedEngine(n.engine, cfg.opcodes, &device)
	n.tuned.open(tuned.DeviceIdentity())
	if err := n.system.AttachEngine(cfg.worker, limits, device.MemoryBudgetBytes, tuned); err != nil {
		return err
	}
	n.announcing = announceEvery(announcePeriod, func() { n.publisher.Announce(cfg.worker, &device) })
	work := natsio.DefaultWorkConfig()
	if cfg.work != nil {
		work = *cfg.work
	}
	work.MaxDeliveries, work.GaveUp = cfg.deliveries, n.publisher.Done
	if n.heap, err = n.conn.ServeHeap(cfg.worker, heapPort{n.engine}); err != nil {
		return err
	}
	if n.cancels, err = n.conn.ServeCancel(cfg.worker, n.system.Cancel); err != nil {
		return err
	}
	if err = n.serveGraphs(&cfg, device.MemoryBudgetBytes); err != nil {
		return err
	}
	n.work, err = n.conn.ConsumeWork(ctx, cfg.worker, work, n.system.Submit)
	return err
}

func (n *node) deviceName() string {
	if n.device == nil {
		return "no device (decides only)"
	}
	_, renderer, _ := n.device.Identity()
	return renderer
}

// refused counts what the edge refused before the actors saw it.
func (n *node) refused() uint64 { return n.ingest.Stats().Refused }

// close drains: it takes no new work, lets what is in flight finish and be
// acknowledged, and leaves what has not started to be delivered to the next process.
func (n *node) close(ctx context.Context) error {
	var errs []error
	if n.announcing != nil {
		n.announcing()
	}
	if n.service != nil {
		errs = append(errs, n.service.Stop())
	}
	if n.cancels != nil {
		errs = append(errs, n.cancels.Stop(ctx))
	}
	if n.graphs != nil { // before what launches wait for: a job has the device
		errs = append(errs, n.graphs.Stop(ctx))
	}
	errs = append(errs, n.drain(ctx))
	if n.ingest != nil {
		errs = append(errs, n.ingest.Stop(ctx))
	}
	if n.system != nil {
		n.system.Close()
	}
	if n.results != nil {
		n.results.Close()
	}
	if n.tuned != nil {
		n.tuned.close(ctx)
	}
	if n.decisions != nil {
		errs = append(errs, n.decisions.Close(ctx))
	}
	if n.publisher != nil {
		errs = append(errs, n.publisher.Close(ctx))
	}
	if n.heap != nil {
		errs = append(errs, n.heap.Stop(ctx))
	}
	if n.graphs != nil {
		errs = append(errs, n.store.close())
	}
	if n.engine != nil {
		errs = append(errs, n.engine.close())
	}
	if n.deciders != nil {
		n.deciders.Close()
	}
	if n.conn != nil {
		n.conn.Close()
	}
	return errors.Join(errs...)
}

// settle waits until the subscriptions have reached the server, so that a client
// that is told that the node serves can rely on it. It does not wait for a server
// that is away.
func (n *node) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = n.conn.Flush(ctx)
}

// drain stops taking in work and lets the actors finish what is in flight. The two
// go on at the same time: the consumer waits for outcomes that only draining actors
// give.
func (n *node) drain(ctx context.Context) error {
	taken := make(chan error, 1)
	go func() {
		if n.work == nil {
			taken <- nil
			return
		}
		taken <- n.work.Drain(ctx)
	}()
	var settled error
	if n.system != nil {
		settled = n.system.Drain(ctx)
	}
	return errors.Join(<-taken, settled)
}

// announcePeriod bounds how long a node that started later, or missed an
// announcement, does not know a worker's limits.
const announcePeriod = 5 * time.Second

// announceEvery announces now and then periodically until stopped.
func announceEvery(period time.Duration, announce func()) (stop func()) {
	announce()
	ticker, quit, done := time.NewTicker(period), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ticker.C:
				announce()
			case <-quit:
				ticker.Stop()
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}
