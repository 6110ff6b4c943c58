package workpath

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/embedded"
)

const (
	workerName = "bench"
	barePrefix = "bare.v1"
	// doneBytes is the size of a done record of a batch of which every slot was executed.
	doneBytes = 48
)

// rig is a server, a worker as `ringmaster run` has it, the bare worker, and a submitter for each.
type rig struct {
	server     *embedded.Server
	node       *worker.Node
	echo       *nats.Conn
	ours, bare *side
}

func newRig(ctx context.Context, open func() (worker.Device, error), log *slog.Logger) (_ *rig, err error) {
	r := &rig{}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	served := embedded.DefaultConfig()
	served.Logger = log
	if r.server, err = embedded.Start(served); err != nil {
		return nil, err
	}
	if err = r.startNode(ctx, open, log); err != nil {
		return nil, err
	}
	if err = r.startEcho(ctx); err != nil {
		return nil, err
	}
	if r.ours, err = newSide(r.server.URL(), telemetry.DefaultPrefix); err != nil {
		return nil, err
	}
	r.bare, err = newSide(r.server.URL(), barePrefix)
	return r, err
}

func (r *rig) startNode(ctx context.Context, open func() (worker.Device, error), log *slog.Logger) error {
	device, err := open()
	if err != nil {
		return err
	}
	mode := megakernel.ModeAuto
	if device.Info().Software {
		mode = megakernel.ModeWave
	}
	bus := natsio.DefaultConfig()
	bus.URL, bus.Name, bus.Logger = r.server.URL(), "bench worker", log
	r.node, err = worker.Start(ctx, worker.Config{
		NATS: bus, Name: workerName, Policy: policy.Standard(), Autotuner: session.Off, Log: log, Version: "bench",
		Device: device, Engine: worker.EngineConfig{Mode: mode, LeaseDuration: 50 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	return r.node.Conn().EnsureWorkStream(ctx)
}

// startEcho starts a worker that answers each message of a stream like the work stream, and acknowledges it.
func (r *rig) startEcho(ctx context.Context) (err error) {
	if r.echo, err = nats.Connect(r.server.URL(), nats.Name("bare worker")); err != nil {
		return err
	}
	js, err := jetstream.New(r.echo)
	if err != nil {
		return err
	}
	like, err := js.Stream(ctx, r.node.Conn().WorkStream())
	if err != nil {
		return err
	}
	cfg := like.CachedInfo().Config
	cfg.Name, cfg.Subjects = "BARE_WORK", []string{barePrefix + ".work.>"}
	stream, err := js.CreateStream(ctx, cfg)
	if err != nil {
		return fmt.Errorf("bare stream: %w", err)
	}
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: workerName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 30 * time.Second, MaxAckPending: 256, MaxDeliver: -1,
	})
	if err != nil {
		return err
	}
	answer := make([]byte, doneBytes)
	skip := len(barePrefix + ".work.")
	_, err = consumer.Consume(func(m jetstream.Msg) {
		_ = r.echo.Publish(barePrefix+".done."+m.Subject()[skip:], answer)
		_ = m.Ack()
	}, jetstream.PullMaxMessages(64), jetstream.PullExpiry(5*time.Second), jetstream.PullHeartbeat(time.Second))
	return err
}

func (r *rig) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, s := range []*side{r.ours, r.bare} {
		if s != nil {
			s.nc.Close()
		}
	}
	if r.echo != nil {
		r.echo.Close()
	}
	if r.node != nil {
		_ = r.node.Close(ctx)
	}
	if r.server != nil {
		r.server.Shutdown()
	}
}
