package worker

import (
	"context"
	"time"

	"ringmaster/actors"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/poison"
)

// Reading is what can be read of a node at one moment, for metrics and health.
type Reading struct {
	At       time.Time
	Worker   string
	Device   string // "" without one
	Software bool   // the device is a software renderer
	Closing  bool   // the node takes no new work any more
	Status
	Queues  []actors.QueueStatus
	Waiting map[string]uint64  // batches of the worker in the stream by queue, at the last look; not to be changed
	Streams []natsio.StreamUse // of some seconds ago at most
	Limits  policy.Limits      // of the device; zero without one
	Memory  uint64             // budget of the device's memory in bytes, 0 for none
	BeatAt  time.Time          // when the actors' clock ticked last
}

// Reading is what can be read of the node now.
func (n *Node) Reading() Reading {
	r := Reading{
		At: time.Now(), Worker: n.name, Closing: n.closing.Load(), Status: n.Status(),
		Queues: n.system.Queues(), BeatAt: n.system.BeatAt(),
	}
	if streams := n.streams.Load(); streams != nil {
		r.Streams = *streams
	}
	if n.engine == nil {
		return r
	}
	r.Device, r.Software, r.Waiting = n.DeviceName(), n.device.Info().Software, n.work[0].Stored()
	r.Limits, r.Memory = n.limits, n.budget
	return r
}

// streamsPeriod is how often the server is asked how full the streams are.
const streamsPeriod = 5 * time.Second

// watchStreams keeps asking how full the streams are that the node writes to, until it is stopped. One that does
// not answer is left out.
func (n *Node) watchStreams() (stop func()) {
	var names []string
	if n.stream != nil {
		names = append(names, n.stream.Name())
	}
	if n.engine != nil {
		names = append(names, n.conn.WorkStream(), n.conn.DoneStream(), poison.StreamName(n.conn.Subjects()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			var streams []natsio.StreamUse
			for _, name := range names {
				if use, err := n.conn.StreamUse(ctx, name); err == nil {
					streams = append(streams, use)
				}
			}
			n.streams.Store(&streams)
			select {
			case <-time.After(streamsPeriod):
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}
