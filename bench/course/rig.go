package course

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"ringmaster/cmd/runtime/decisions"
	"ringmaster/cmd/runtime/tuned"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
	"ringmaster/telemetry/natsio/embedded"
)

// workerName is the worker of every rig.
const workerName = "course"

// maxAudits bounds the file of a cell's decisions, at some 2 KB each.
const maxAudits = 1 << 30

// leaseDuration is the command's default.
const leaseDuration = 50 * time.Millisecond

// setup is what differs between the rigs of a course.
type setup struct {
	policy    policy.Config
	tuner     session.Mode
	audits    string // file of its decisions, with what their launches took; "": none
	tunerDir  string // of what tuners begin from; "": nothing, and nothing is kept
	rival     rival  // takes the policy's place; nil: nobody
	waves     bool   // no launch goes to a resident kernel
	untold    bool   // nobody reports the queues' lengths
	oneQueue  bool   // all work goes into one queue, in the order in which it comes
	mixes     int    // of a turn of a heavy slot's loop
	telemetry time.Duration
}

// rig is everything that runs in a cell.
type rig struct {
	server     *embedded.Server
	node       *worker.Node
	publisher  *client.Publisher
	telemeter  *natsio.Conn // the publisher's, which also watches launches
	submitters []*submitter // by queue, in the order of the load's streams
	spin       uint32
	watch      *watch
	log        *slog.Logger
	every      time.Duration // between two reports of the queues' lengths; 0: nobody reports
	oneQueue   bool          // see setup
}

// submitter is who has work for one queue: what others submit does not stand in front of it in the process.
type submitter struct {
	queue  string
	conn   *natsio.Conn
	stream *client.WorkPublisher
	sent   uint64
}

// batchesUnderWay bounds the batches of a submitter that the work stream has not confirmed.
const batchesUnderWay = 256

// startRig starts a server, a worker and its clients. programs is where built kernels are kept.
func startRig(ctx context.Context, open func() (worker.Device, error), programs string, s setup, log *slog.Logger) (_ *rig, err error) {
	r := &rig{watch: newWatch(s.rival), log: log, oneQueue: s.oneQueue}
	if !s.untold {
		r.every = s.telemetry
	}
	defer func() {
		if err != nil {
			_ = r.close()
		}
	}()
	served := embedded.DefaultConfig()
	served.Logger = log
	if r.server, err = embedded.Start(served); err != nil {
		return nil, err
	}
	if err = r.startNode(ctx, open, programs, s, log); err != nil {
		return nil, err
	}
	if r.telemeter, err = natsio.Connect(r.bus("course publisher", log)); err != nil {
		return nil, err
	}
	if r.publisher, err = client.NewPublisher(r.telemeter, client.PublisherConfig{}); err != nil {
		return nil, err
	}
	return r, r.listen(ctx)
}

// newSubmitter connects a submitter. The first of a queue hears what becomes of the queue's batches.
func (r *rig) newSubmitter(ctx context.Context, queue string) (err error) {
	s := &submitter{queue: queue}
	if s.conn, err = natsio.Connect(r.bus("course submitter of "+queue, r.log)); err != nil {
		return err
	}
	heard := slices.ContainsFunc(r.submitters, func(other *submitter) bool { return other.queue == queue })
	r.submitters = append(r.submitters, s)
	s.stream = client.NewWorkPublisher(s.conn, batchesUnderWay)
	if heard {
		return s.conn.Flush(ctx)
	}
	if _, err := s.conn.SubscribeDone(workerName, queue, r.watch.onDone); err != nil {
		return err
	}
	if _, err := s.conn.SubscribeRejected(workerName, queue, r.watch.onRejected); err != nil {
		return err
	}
	return s.conn.Flush(ctx)
}

func (r *rig) bus(name string, log *slog.Logger) natsio.Config {
	c := natsio.DefaultConfig()
	c.URL, c.Name, c.Logger = r.server.URL(), name, log
	return c
}

// startNode starts what `ringmaster run` does, with the device that open gives.
func (r *rig) startNode(ctx context.Context, open func() (worker.Device, error), programs string, s setup, log *slog.Logger) error {
	opcodes, spin, err := catalog(s.mixes)
	if err != nil {
		return err
	}
	r.spin = spin
	device, err := open()
	if err != nil {
		return err
	}
	binaries, err := disk.Open(filepath.Join(programs, "programs"))
	if err != nil {
		_ = device.Close()
		return err
	}
	mode := megakernel.ModeAuto
	if s.waves || device.Info().Software {
		mode = megakernel.ModeWave
	}
	cfg := worker.Config{
		NATS: r.bus("course worker", log), Name: workerName, Policy: s.policy, Autotuner: s.tuner, Log: log, Version: "course",
		Device: device, Engine: worker.EngineConfig{Catalog: opcodes, Binaries: binaries, Mode: mode, LeaseDuration: leaseDuration},
	}
	if s.tuner != session.Off {
		cfg.Memory = tuned.New(tuned.Config{Dir: s.tunerDir, Log: log})
	}
	if s.audits != "" {
		cfg.Decisions = decisions.Config{File: s.audits, Software: cfg.Version, MaxBytes: maxAudits}
	}
	if s.rival != nil {
		cfg.Decider = s.rival.decide
	}
	r.node, err = worker.Start(ctx, cfg)
	return err
}

// listen subscribes to what the figures are made of.
func (r *rig) listen(ctx context.Context) error {
	if _, err := r.telemeter.SubscribeLaunches(workerName, "*", r.watch.onLaunch); err != nil {
		return err
	}
	if _, err := r.telemeter.SubscribeRecommendations(workerName, "*", r.watch.onRecommendation); err != nil {
		return err
	}
	return r.telemeter.Flush(ctx)
}

// closePatience bounds the end of a rig.
const closePatience = 30 * time.Second

func (r *rig) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	var err error
	if r.publisher != nil {
		_ = r.publisher.Close(ctx) // what it still had to say concerns nobody
	}
	for _, s := range r.submitters {
		s.conn.Close()
	}
	if r.telemeter != nil {
		r.telemeter.Close()
	}
	if r.node != nil {
		err = r.node.Close(ctx)
	}
	if r.server != nil {
		r.server.Shutdown()
	}
	return err
}

// report publishes the lengths of the queues until ctx ends, as the demo does.
func (r *rig) report(ctx context.Context, queues []*queueLoad) {
	if r.every == 0 {
		return
	}
	ticks := time.NewTicker(r.every)
	defer ticks.Stop()
	for {
		for _, q := range queues {
			record := telemetry.Queue{
				Has:      telemetry.HasQueueLen | telemetry.HasExecutedCount,
				QueueLen: uint32(max(q.outstanding.Load(), 0)), ExecutedCount: q.executed.Load(),
			}
			_ = r.publisher.ReportQueue(workerName, q.name, &record) // fails only once it is closed
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// queueLoad is what the publisher knows of a queue.
type queueLoad struct {
	name        string
	outstanding atomic.Int64
	executed    atomic.Uint64
}

// submit stores a batch in the work stream and returns before that has happened.
func (r *rig) submit(ctx context.Context, s *submitter, number int, runs []telemetry.Run) error {
	s.sent++
	w := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasRuns, Batch: batchName(number), Runs: runs}
	h := telemetry.Header{Incarnation: s.conn.Incarnation(), Seq: s.sent, SentNs: time.Now().UnixNano()}
	if err := s.stream.Publish(ctx, workerName, s.queue, h, &w, r.watch.stored); err != nil {
		return fmt.Errorf("submit to %s: %w", s.queue, err)
	}
	return nil
}
