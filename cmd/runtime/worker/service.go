package worker

import (
	"context"
	"fmt"
	"time"

	"ringmaster/cmd/runtime/schema"
	"ringmaster/telemetry/natsio"
)

// Settings are the settings of a process as its service tells them.
type Settings struct {
	Node     string    `json:"node"` // id of the process's service
	Worker   string    `json:"worker"`
	Version  string    `json:"version"`
	Settings []Setting `json:"settings"`
}

// Draining answers who asked a process to drain.
type Draining struct {
	Node         string `json:"node"` // id of the process's service
	Worker       string `json:"worker"`
	SlotsPending uint64 `json:"slots_pending"` // that it holds, and finishes if --drain leaves it the time
}

// register lets others find the node, and ask it.
func (n *Node) register(cfg *Config) (err error) {
	service := natsio.ServiceConfig{
		Version: cfg.Version, Metadata: map[string]string{"worker": cfg.Name, "device": n.DeviceName()}, Status: func() any { return n.Status() },
	}
	if cfg.Explain != nil {
		service.Queues = []natsio.QueueEndpoint{{Name: "explain", Schema: cfg.ExplainSchema, Answer: func(ctx context.Context, worker, queue string) (any, error) {
			return cfg.Explain(ctx, n.conn, worker, queue, n.decides(worker, queue))
		}}}
	}
	if n.device != nil { // else several processes may go by the name, and are told apart by their ids
		service.Node = n.name
	}
	id := fmt.Sprintf("%016x", n.conn.Incarnation())
	service.Nodes = []natsio.NodeEndpoint{{Name: "state", Schema: schema.Of[State](), Answer: func(context.Context) (any, error) {
		r := n.Reading()
		s := stateOf(&r, id)
		s.Version, s.MaxDeliveries = cfg.Version, cfg.Deliveries
		if cfg.Wrong != nil {
			s.Wrong = append(s.Wrong, cfg.Wrong(&r)...)
		}
		var inHand []natsio.InHand
		for _, work := range n.work {
			inHand = append(inHand, work.InHand()...)
		}
		s.list(time.Now(), inHand)
		return s, nil
	}}}
	if cfg.Settings != nil {
		service.Nodes = append(service.Nodes, natsio.NodeEndpoint{Name: "config", Schema: schema.Of[Settings](), Answer: func(context.Context) (any, error) {
			return Settings{Node: id, Worker: n.name, Version: cfg.Version, Settings: cfg.Settings()}, nil
		}})
	}
	if cfg.Drain != nil {
		service.Nodes = append(service.Nodes, natsio.NodeEndpoint{Name: "drain", Schema: schema.Of[Draining](), Answer: func(context.Context) (any, error) {
			cfg.Log.Warn("somebody asked over NATS for this process to drain and end", "worker", n.name)
			cfg.Drain() // the answer is sent before the connection is closed
			return Draining{Node: id, Worker: n.name, SlotsPending: n.system.Stats().SlotsPending}, nil
		}})
	}
	n.service, err = n.conn.RegisterService(service)
	return err
}

// decides says whether this process decides for a queue now; nil where others decide for its worker, who would know.
func (n *Node) decides(worker, queue string) *bool {
	if part := n.members.Part(worker); part == natsio.PartElsewhere || part == natsio.PartFollows {
		return nil
	}
	_, known := n.system.Latest(worker, queue)
	return &known
}
