package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/decisions"
	"ringmaster/cmd/runtime/tuned"
	"ringmaster/megakernel"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/advisory"
	"ringmaster/telemetry/natsio/poison"
)

// Node is the part that serves: the bus, the actors and, if there is a device, its ring.
type Node struct {
	fleet
	name    string // of the worker
	pools   []string
	conn    *natsio.Conn
	outlet  *natsio.Outlet
	system  *actors.System
	ingest  *natsio.Ingest
	results *natsio.Results
	service *natsio.Service
	advise  *adviser // nil before the bus

	decisions *decisions.Log // nil: not logged
	memory    *tuned.Memory  // nil: nothing is remembered

	// Nil without a device.
	device  Device
	engine  *Engine
	work    []*natsio.WorkConsumer // of the worker, then of its pools
	heap    *natsio.HeapService
	cancels []*natsio.CancelService // of the worker, then of its pools
	graphs  Graphs
	limits  policy.Limits
	budget  uint64 // of the device's memory in bytes

	announcing func() // stops the announcements
	telling    func() // stops telling backlogs; nil: nobody else decides for the worker
	watching   func() // stops watching streams

	streams atomic.Pointer[[]natsio.StreamUse] // as the server said last
	closing atomic.Bool                        // Close was called

	ballast []byte // ballastBytes that nobody touches
}

// ballastBytes is address space that the collector counts and nobody touches, so that it costs no memory. A node
// keeps little and makes garbage with every message; the ballast makes the collector run less often. How much
// that is worth is not well known: in one measurement on one two-core machine, the 99th percentile of the answers
// to other queues beside a flooded one was 5.5 times that of a quiet bus without the ballast, and 1.2 times with
// it. Nobody has repeated that, on other machines or since. A larger GOGC would have a like effect on a small
// heap, and would let a large one grow by the same factor.
const ballastBytes = 64 << 20

// Start waits for the bus, takes over what was decided before, and only then takes in telemetry and
// work. On an error, and when ctx ends before the bus answers, the device and the binaries are closed.
func Start(ctx context.Context, cfg Config) (_ *Node, err error) {
	n := &Node{name: cfg.Name, pools: cfg.Pools, device: cfg.Device, ballast: make([]byte, ballastBytes)}
	defer func() {
		if err != nil {
			_ = n.Close(ctx)
			if n.engine == nil && cfg.Engine.Binaries != nil {
				_ = cfg.Engine.Binaries.Close()
			}
		}
	}()
	if !telemetry.ValidWorker(cfg.Name) {
		return nil, fmt.Errorf("worker name %q: use 1 to 64 letters, digits, _ or -, and not the word pool", cfg.Name)
	}
	if n.conn, err = natsio.Connect(cfg.NATS); err != nil {
		return nil, err
	}
	n.advise = newAdviser(n.conn, &cfg)
	if cfg.Device != nil { // first, as it takes a while
		cfg.Engine.AgeThreshold = cfg.Policy.PriorityAgeThreshold
		if n.engine, err = newEngine(cfg.Device, cfg.Engine, cfg.Log); err != nil {
			return nil, err
		}
	}
	if err = n.awaitBus(ctx, cfg.Log); err != nil {
		return nil, err
	}
	if err = n.startActors(ctx, &cfg); err != nil {
		return nil, err
	}
	if err = n.serve(ctx, &cfg); err != nil {
		return nil, err
	}
	n.members.Begin()
	n.watching = n.watchStreams()
	n.advise.node(advisory.NodeJoined)
	n.settle(ctx)
	return n, nil
}

// awaitBus returns when there is a connection or ctx ends. If that takes more than a second, it says what it
// waits for: until then nobody is served, and it is not known how decisions are kept.
func (n *Node) awaitBus(ctx context.Context, log *slog.Logger) error {
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if n.conn.WaitState(soon, natsio.StateConnected) == nil {
		return nil
	}
	if ctx.Err() == nil {
		log.Info("nobody is served before NATS answers", "nats", n.conn.Servers())
	}
	return n.conn.WaitState(ctx, natsio.StateConnected)
}

// serve takes the node's place among those that decide, and then takes in telemetry and, with a device, work.
func (n *Node) serve(ctx context.Context, cfg *Config) (err error) {
	budget := uint64(0)
	if n.engine != nil {
		if budget, err = n.attach(cfg); err != nil {
			return err
		}
	}
	if err = n.join(ctx, cfg); err != nil {
		return err
	}
	if n.engine != nil {
		if err = n.execute(ctx, cfg, budget); err != nil {
			return err
		}
	}
	ingest := natsio.DefaultIngestConfig()
	if cfg.Rate != nil {
		ingest.Telemetry = *cfg.Rate
	}
	ingest.Part = n.members.Part
	if n.ingest, err = n.conn.Serve(n.system, ingest); err != nil {
		return err
	}
	return n.register(cfg)
}

// startActors starts what decides, and what decisions leave by.
func (n *Node) startActors(ctx context.Context, cfg *Config) (err error) {
	if _, original := cfg.Autotuner.Original(); original {
		cfg.Policy.TuneGeometry = true // the original's policy too takes its tuner's width
	}
	actorCfg := actors.DefaultConfig()
	actorCfg.Policy, actorCfg.Incarnation, actorCfg.Logger = cfg.Policy, n.conn.Incarnation(), cfg.Log
	actorCfg.Meter, actorCfg.Adviser = cfg.Meter, n.advise
	actorCfg.Autotuner, actorCfg.Decider, actorCfg.Software = cfg.Autotuner, cfg.Decider, cfg.Version
	if cfg.MaxQueues > 0 {
		actorCfg.MaxQueues = cfg.MaxQueues
	}
	actorCfg.Owns = func(worker string) bool { return n.members.Owns(worker) } // which it joins before there is a queue
	if err = n.openStream(ctx, cfg, &actorCfg); err != nil {
		return err
	}
	n.outlet = n.conn.NewOutlet(natsio.OutletConfig{Owns: actorCfg.Owns, KeepDone: cfg.KeepDone})
	if n.decisions, err = decisions.Open(cfg.Decisions, n.conn.Incarnation(), cfg.Policy, cfg.Log); err != nil {
		return err
	}
	if n.decisions != nil {
		actorCfg.OnDecision = n.decisions.Record
	}
	n.results = n.conn.NewResults()
	if cfg.Memory != nil {
		n.memory = cfg.Memory
		n.memory.Share(n.results)
		actorCfg.TunerMemory, actorCfg.RemoteMemory = n.memory, n.memory.Elsewhere
	}
	n.system, err = actors.New(actorCfg, n.outlet)
	return err
}

// attach makes the worker of the node's name local, and returns the budget of its device's memory in bytes.
func (n *Node) attach(cfg *Config) (budget uint64, err error) {
	memory, known := DeviceMemory(cfg.Device)
	budget = cfg.MemoryBudget.Bytes(memory, known)
	if known {
		cfg.Log.Info("device memory", "free", memory.Available, "total", memory.Total, "budget", budget, "source", memory.Source)
	}
	if n.memory != nil {
		n.memory.Open(n.engine.DeviceIdentity())
	}
	n.limits, n.budget = megakernel.LimitsOf(cfg.Device), budget
	return budget, n.system.AttachEngine(cfg.Name, n.limits, budget, n.engine)
}

// execute announces the device and starts to consume the worker's work.
func (n *Node) execute(ctx context.Context, cfg *Config, budget uint64) (err error) {
	device := Announcement(cfg.Device, cfg.Engine.Catalog)
	device.MemoryBudgetBytes = budget
	device.LeaseSlots = n.engine.Lease().Slots
	device.Has |= telemetry.HasLeaseSlots
	n.announcing = every(announcePeriod, func() { n.outlet.Announce(cfg.Name, &device) })
	if n.role == RoleExecuteOnly {
		n.telling = n.tellBacklogs(cfg.Name)
	}
	if n.heap, err = n.conn.ServeHeap(cfg.Name, heapPort{n.engine}); err != nil {
		return err
	}
	if cfg.Graphs != nil {
		if n.graphs, err = cfg.Graphs(n, budget); err != nil {
			return err
		}
	}
	work := natsio.DefaultWorkConfig()
	if cfg.Work != nil {
		work = *cfg.Work
	}
	work.Finished = cfg.Finished
	work.MaxDeliveries, work.GaveUp, work.SetAside = cfg.Deliveries, n.outlet.Done, n.advise.setAside(poison.NewKeeper(n.conn))
	work.Crowded = n.advise.crowded
	if err = n.take(ctx, cfg.Name, work); err != nil {
		return err
	}
	work.Share = &natsio.Share{
		Ahead:  func() time.Duration { return n.system.Ahead(cfg.Name) },
		Expect: func(queue string, slots int) time.Duration { return n.system.Expect(cfg.Name, queue, slots) },
		Most:   natsio.DefaultAhead,
	}
	for _, pool := range cfg.Pools {
		if err = n.take(ctx, telemetry.Pool(pool), work); err != nil {
			return err
		}
	}
	return nil
}

// take consumes the work that is sent to the worker, or to one of its pools, and withdraws batches of it. A pool's
// batches are those of the worker's queue of the same name.
func (n *Node) take(ctx context.Context, sentTo string, cfg natsio.WorkConfig) error {
	work, err := n.conn.ConsumeWork(ctx, sentTo, cfg, func(sentTo, queue string, w *telemetry.Work, sentNs int64, settled func(telemetry.Outcome, error)) {
		n.system.Submit(sentTo, n.name, queue, w, sentNs, settled)
	})
	if err != nil {
		return err
	}
	n.work = append(n.work, work)
	cancels, err := n.conn.ServeCancel(sentTo, func(_, queue, batch string, answer func(telemetry.CancelFound, int, error)) {
		n.system.Cancel(n.name, queue, batch, answer)
	})
	if err != nil {
		return err
	}
	n.cancels = append(n.cancels, cancels)
	return nil
}

// Conn is the node's connection.
func (n *Node) Conn() *natsio.Conn { return n.conn }

// Outlet is what the node publishes by.
func (n *Node) Outlet() *natsio.Outlet { return n.outlet }

// System is the node's actors.
func (n *Node) System() *actors.System { return n.system }

// Decisions is the log of the node's decisions, nil if they are not logged.
func (n *Node) Decisions() *decisions.Log { return n.decisions }

// Engine is the node's engine, nil without a device.
func (n *Node) Engine() *Engine { return n.engine }

// DeviceName names the device for people.
func (n *Node) DeviceName() string {
	if n.device == nil {
		return "no device (decides only)"
	}
	_, renderer, _ := n.device.Identity()
	return renderer
}

// Refused counts the telemetry that was refused, by the edge or by the actors.
func (n *Node) Refused() uint64 { return n.ingest.Stats().Refused }

// Close drains: it takes no new work, lets what is in flight finish and be
// acknowledged, and leaves what has not started to be delivered to the next process.
func (n *Node) Close(ctx context.Context) error {
	n.closing.Store(true)
	err := errors.Join(n.finish(ctx), n.release(ctx))
	runtime.KeepAlive(n.ballast)
	return err
}

// finish takes nothing new, and returns when what is in hand has its outcome.
func (n *Node) finish(ctx context.Context) error {
	var errs []error
	if n.watching != nil {
		n.watching()
		n.advise.node(advisory.NodeDraining)
	}
	if n.announcing != nil {
		n.announcing()
	}
	if n.telling != nil {
		n.telling()
	}
	if n.service != nil {
		errs = append(errs, n.service.Stop(ctx))
	}
	for _, cancels := range n.cancels {
		errs = append(errs, cancels.Stop(ctx))
	}
	if n.graphs != nil { // before what launches wait for: a job has the device
		errs = append(errs, n.graphs.Stop(ctx))
	}
	errs = append(errs, n.drain(ctx))
	if n.members != nil { // while it still takes telemetry in, so that nobody misses a record
		n.members.HandOver(ctx)
	}
	if n.ingest != nil {
		errs = append(errs, n.ingest.Stop(ctx))
	}
	return errors.Join(errs...)
}

// release ends what the node is made of.
func (n *Node) release(ctx context.Context) error {
	var errs []error
	if n.follower != nil {
		n.follower.Close()
	}
	if n.system != nil {
		n.system.Close()
	}
	if n.results != nil {
		n.results.Close()
	}
	if n.memory != nil {
		n.memory.Close(ctx)
	}
	if n.decisions != nil {
		errs = append(errs, n.decisions.Close(ctx))
	}
	if n.outlet != nil {
		errs = append(errs, n.outlet.Close(ctx))
	}
	if n.heap != nil {
		errs = append(errs, n.heap.Stop(ctx))
	}
	if n.graphs != nil {
		errs = append(errs, n.graphs.Close())
	}
	switch {
	case n.engine != nil:
		errs = append(errs, n.engine.Close())
	case n.device != nil:
		errs = append(errs, n.device.Close())
	}
	n.leave()
	if n.conn != nil {
		n.conn.Close()
	}
	return errors.Join(errs...)
}

// settle waits until the subscriptions have reached the server, so that a client
// that is told that the node serves can rely on it. It does not wait for a server
// that is away.
func (n *Node) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = n.conn.Flush(ctx)
}

// drain stops taking in work and lets the actors finish what is in flight. The two
// go on at the same time: the consumer waits for outcomes that only draining actors
// give.
func (n *Node) drain(ctx context.Context) error {
	taken := make(chan error, 1)
	go func() {
		var all sync.WaitGroup
		errs := make([]error, len(n.work))
		for i, work := range n.work {
			all.Go(func() { errs[i] = work.Drain(ctx) })
		}
		all.Wait()
		taken <- errors.Join(errs...)
	}()
	var settled error
	if n.system != nil {
		settled = n.system.Drain(ctx)
	}
	return errors.Join(<-taken, settled)
}
