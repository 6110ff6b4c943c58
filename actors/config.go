package actors

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
)

// Config holds what the system needs to know. Start from DefaultConfig.
type Config struct {
	// Policy is the configuration of every decision.
	Policy policy.Config
	// Incarnation is this process's own publisher incarnation; launch reports
	// and announcements that come back with it are echoes. Not zero.
	Incarnation uint64
	// MaxQueues bounds the known queues; see roomFor. A queue takes up to 12 KiB.
	MaxQueues int
	// OnDecision, if set, receives the input of every decision, on the actor
	// that made it: it must be quick and may be called concurrently.
	OnDecision func(DecisionInput)
	// Store, if set, is where decisions count: one holds when it is stored. Nil: when it is made.
	Store Store
	// Software is the version of this process, for those who read the store.
	Software string
	// Owns, if set, says whether this process decides for a worker now. It is asked before each
	// decision and must be quick; Reconsider tells that an answer may have changed. Nil: for all.
	Owns func(worker string) bool
	// Decider, if set, makes the plans in place of policy.Decide: for programs that compare
	// decisions. Nothing that serves sets it.
	Decider Decider
	// Autotuner says how the tuner chooses geometries.
	Autotuner session.Mode
	// TunerMemory is what tuners begin from and where they leave what they
	// learned; nil for nothing. Its methods must not block.
	TunerMemory session.Memory
	// RemoteMemory, if set, makes the memory for the tuners of a worker that is not
	// local, so that what this process measured does not mix with what workers
	// elsewhere say: their reports are only as good as their names.
	RemoteMemory func(worker string) session.Memory
	// Meter is told how long things take. Nil: nobody wants to know.
	Meter Meter
	// Adviser is told of what becomes of decisions in the store. Nil: nobody wants to know.
	Adviser Adviser
	// Logger receives what people should know. Not nil.
	Logger *slog.Logger

	bounds
}

// bounds are the parts of a Config that only tests set.
type bounds struct {
	// heartbeat is how often the last recommendation of a queue is repeated, if there are not very many
	// queues; see spread. A recommendation is valid for three heartbeats.
	heartbeat time.Duration
	// idleAfter is how long a queue is known without records or work; its
	// memory is then given back and its next record starts it cold.
	idleAfter time.Duration
	// maxWorkers bounds the known workers.
	maxWorkers int
	// maxPendingSlots bounds the slots of one queue that wait for its engine;
	// work above it is asked to come again.
	maxPendingSlots int
	// maxFailures launches failing in a row stop a queue until its plan
	// changes or stopPause is over.
	maxFailures int
	// stopPause is how long a queue is stopped after its actors panicked
	// stopPanics times within stopWindow, and the longest that it is stopped
	// after maxFailures failed launches.
	stopPause time.Duration
	// newQueues and newQueuesAtOnce are how many queues become known by telemetry a second, and after a pause.
	newQueues, newQueuesAtOnce float64
}

const (
	// retryMin is the pause after the first failure in a row, doubled with every further
	// one up to retryMax. Panics are paced the same way.
	retryMin, retryMax = 10 * time.Millisecond, 2 * time.Second
	// stopPanics panics of a queue's actors within stopWindow stop the queue.
	stopPanics = 10
	stopWindow = 10 * time.Second
)

// Decider makes one decision of a queue, as policy.Decide does. Besides the plan it says how long
// slots may wait for more of them: a launch begins when they fill the plan's batch depth or the
// first of them has waited for hold. Several goroutines call it, one for each queue.
type Decider func(queue string, r *policy.Request, before policy.State) (plan policy.Recommendation, after policy.State, hold time.Duration, err error)

// decide makes a queue's decision: the policy's, which holds nothing, unless there is a Decider.
func (c *Config) decide(queue string, r *policy.Request, before policy.State) (plan policy.Recommendation, after policy.State, hold time.Duration, err error) {
	if c.Decider != nil {
		return c.Decider(queue, r, before)
	}
	plan, after, err = policy.Decide(&c.Policy, r, before)
	return plan, after, 0, err
}

// DefaultConfig returns a configuration that lacks only Incarnation.
func DefaultConfig() Config {
	return Config{
		Policy:    policy.Standard(),
		MaxQueues: 1 << 14,
		Autotuner: session.On,
		Logger:    slog.New(slog.DiscardHandler),
		bounds: bounds{
			heartbeat: time.Second, idleAfter: 10 * time.Minute, stopPause: time.Minute,
			newQueues: newQueues, newQueuesAtOnce: newQueuesAtOnce, maxWorkers: 1 << 12, maxPendingSlots: 1 << 22, maxFailures: 8,
		},
	}
}

// Validate reports every problem of the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.Incarnation == 0 {
		errs = append(errs, errors.New("incarnation is 0"))
	}
	if c.MaxQueues <= 0 {
		errs = append(errs, fmt.Errorf("queue limit %d is not positive", c.MaxQueues))
	}
	if c.Logger == nil {
		errs = append(errs, errors.New("logger is nil"))
	}
	return errors.Join(append(errs, c.Policy.Validate())...)
}

// pause is the back-off before the next attempt after n failures in a row.
func pause(n int) time.Duration {
	d := retryMin
	for ; n > 1 && d < retryMax; n-- {
		d *= 2
	}
	return min(d, retryMax)
}
