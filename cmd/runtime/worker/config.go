package worker

import (
	"context"
	"log/slog"
	"time"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/decisions"
	"ringmaster/cmd/runtime/tuned"
	"ringmaster/glcompute"
	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/ring"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/decided"
)

// Setting is one setting of a process.
type Setting struct {
	Name  string `json:"setting"`
	Value string `json:"value"`
	From  string `json:"from"` // what gave it: default, a line of a file, a variable, the command line
}

// Device is an open GL device.
type Device interface {
	gpu.Device
	Info() glcompute.Info
	Close() error
}

// Config says what a node is made of.
type Config struct {
	NATS   natsio.Config
	Policy policy.Config
	Name   string // of the worker: 1 to 64 letters, digits, _ or -
	Log    *slog.Logger

	Version   string            // of the program, for whoever asks the service
	MaxQueues int               // 0: the actors' default
	Rate      *natsio.RateLimit // of the telemetry of one worker; nil: the default

	// Decider takes the policy's place, for programs that compare decisions; nil: the policy decides.
	Decider actors.Decider

	// Meter and Finished are told how long things take, and batches from the stream to the acknowledgement of
	// their done record. Nil: nobody wants to know.
	Meter    actors.Meter
	Finished func(sinceStored time.Duration)

	// Explain says why a queue's plan is as it is, to who asks the service; ExplainSchema is the JSON schema of what it
	// returns. decided says whether this process decides for the queue now, nil that another may. Nil: nobody does.
	Explain       func(ctx context.Context, conn *natsio.Conn, worker, queue string, decided *bool) (any, error)
	ExplainSchema string
	// Wrong says what keeps the node from its work, in sentences, to who asks the service. Nil: nobody does.
	Wrong func(r *Reading) []string
	// Settings are what the node was started with, for who asks the service. They have no secrets in them. Nil: nobody is told.
	Settings func() []Setting
	// Drain ends the process as SIGTERM does, when who asks the service may. It must not block. Nil: nobody may.
	Drain func()

	// Autotuner says how geometries are tuned, and Memory what tuners begin from; the node shares it on
	// the bus and closes it. nil: nothing is remembered.
	Autotuner session.Mode
	Memory    *tuned.Memory

	Decisions decisions.Config // where they are logged
	Stored    decided.Bounds   // of the stream that has them

	Device Device // nil: the node decides only, for all workers that nobody else decides for. It is closed with the node
	// ExecuteOnly has other processes decide for the worker, and the node itself only while there is none.
	ExecuteOnly bool
	// Pools are those that the worker takes work of, beside its own.
	Pools  []string
	Engine EngineConfig

	MemoryBudget MemoryBudget // of graphs and their jobs on the device
	// Graphs starts what answers requests about graphs; nil: nobody does.
	Graphs func(n *Node, memoryBudget uint64) (Graphs, error)

	Work       *natsio.WorkConfig // nil: the default
	Deliveries uint64             // of a batch before it is given up; 0: no bound
	KeepDone   natsio.KeepDone    // whether a stream keeps done records
}

// EngineConfig says how a worker's launches run.
type EngineConfig struct {
	Catalog  *kernel.Catalog // of opcodes; nil: the built-in ones
	Binaries *disk.Dir       // where built kernels are kept, closed with the engine; nil: nowhere

	Mode          megakernel.LaunchMode
	LeaseDuration time.Duration // of a resident kernel; only with a mode that has one

	AgeThreshold uint32 // waves after which waiting pages are aged; 0: the ring's default

	Windows     int    // of the heap; 0: the ring's default, and WindowWords too
	WindowWords uint32 // size of a window in words of 4 bytes

	// Limits bound what queues may have waiting and running, those of no other name under "*".
	Limits map[string]megakernel.QueueOptions

	Reopen    func() (Device, error) // opens the device again after a loss; nil: it stays lost
	HangAfter time.Duration          // longest launch; 0: no limit
	Hung      func(why string)       // is called once, when a launch or a transfer took longer
}

// size sizes a ring, and bounds the queues that have no limit of their own. A ring with more queues than
// the default has more pages: one more for each priority of each additional queue.
func (c *EngineConfig) size(cfg *megakernel.Config) {
	cfg.Queue = c.Limits["*"]
	if c.Windows == 0 {
		return
	}
	if more := c.Windows - cfg.MaxQueues; more > 0 {
		cfg.Pages = min(cfg.Pages+more*ring.Priorities, ring.MaxPages)
	}
	cfg.MaxQueues, cfg.WindowWords = c.Windows, c.WindowWords
	cfg.HeapWords = uint32(c.Windows) * c.WindowWords
}

// Validate reports a ring that cannot be: too many windows, or windows of no size.
func (c *EngineConfig) Validate() error {
	cfg := megakernel.DefaultConfig()
	c.size(&cfg)
	return cfg.Validate()
}

// Graphs answers requests about graphs on a node's device. Stop ends its jobs, before the node
// drains; Close frees what it has on the device, after.
type Graphs interface {
	Stop(ctx context.Context) error
	Close() error
}
