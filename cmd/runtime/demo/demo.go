package demo

import (
	"context"
	"fmt"
	"time"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// Worker is the name of the demo's worker.
const Worker = "demo"

// Config says what a demo is made of.
type Config struct {
	Worker worker.Config // with a device; its NATS configuration is that of all connections, but for their names
	Player PlayerConfig  // whose worker is Worker, and which submits work
}

// Demo is the running whole: a worker, a publisher and a subscriber, each on a connection of its own.
type Demo struct {
	bus        natsio.Config // of its connections, but for their names
	node       *worker.Node
	publisher  *natsio.Conn
	subscriber *natsio.Conn
	player     *Player
	observer   *observer
}

// Start starts the parts, and nothing is played yet. On an error the device is closed.
func Start(ctx context.Context, cfg Config) (_ *Demo, err error) {
	d := &Demo{bus: cfg.Worker.NATS, observer: newObserver()}
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	cfg.Worker.Name = Worker
	if d.node, err = worker.Start(ctx, cfg.Worker); err != nil {
		return nil, err
	}
	if d.subscriber, err = d.connect("demo subscriber"); err != nil {
		return nil, err
	}
	if err = d.observer.subscribe(d.subscriber); err != nil {
		return nil, err
	}
	if d.publisher, err = d.connect("demo publisher"); err != nil {
		return nil, err
	}
	cfg.Player.Worker, cfg.Player.Submit = Worker, true
	d.player, err = NewPlayer(d.publisher, cfg.Player)
	return d, err
}

// Node is the worker.
func (d *Demo) Node() *worker.Node { return d.node }

// connect opens one more connection.
func (d *Demo) connect(name string) (*natsio.Conn, error) {
	c := d.bus
	c.Name, c.Incarnation = name, telemetry.NewIncarnation()
	return natsio.Connect(c)
}

// Close ends the parts, the publisher first.
func (d *Demo) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if d.publisher != nil {
		d.publisher.Close()
	}
	if d.subscriber != nil {
		d.subscriber.Close()
	}
	if d.node != nil {
		_ = d.node.Close(ctx)
	}
}

// Play replays the trace and adds up what came of it. The ring itself is asked how many tokens it counted.
func (d *Demo) Play(ctx context.Context) (Summary, error) {
	began := time.Now()
	if err := d.player.Play(ctx); err != nil {
		return Summary{}, err
	}
	s := d.summarize(time.Since(began))
	var err error
	s.TokensCounted, err = d.count(ctx)
	return s, err
}

// count reads from the device how many tokens the ring counted. It submits nothing: what is played and shown
// is the trace alone.
func (d *Demo) count(ctx context.Context) (uint64, error) {
	var word [1]uint32
	if err := client.Download(ctx, d.subscriber, Worker, playerQueues[decode], counterWord, word[:]); err != nil {
		return 0, fmt.Errorf("the device's count of tokens: %w", err)
	}
	return uint64(word[0]), nil
}

// Progress is that of the player.
func (d *Demo) Progress() (position, end time.Duration, done uint64) { return d.player.Progress() }

// Queues are the worker's queues, and Latest the newest recommendation for one as a subscriber knows it. Any
// goroutine may ask while Play runs.
func (d *Demo) Queues() []actors.QueueStatus { return d.node.System().Queues() }

// Latest is the newest recommendation for a queue, if there was one.
func (d *Demo) Latest(queue string) (telemetry.Recommendation, bool) { return d.observer.latest(queue) }

// DeviceName names the worker's device for people.
func (d *Demo) DeviceName() string { return d.node.DeviceName() }
