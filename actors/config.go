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
	// Heartbeat is how often the last recommendation of a queue is repeated.
	// A recommendation is valid for three heartbeats. 100 ms..1 h.
	Heartbeat time.Duration
	// IdleAfter is how long a queue is known without records or work; its
	// memory is then given back and its next record starts it cold. At least
	// two heartbeats.
	IdleAfter time.Duration
	// MaxQueues bounds the known queues, MaxWorkers the known workers. A queue
	// takes up to 12 KiB.
	MaxQueues, MaxWorkers int
	// MaxPendingSlots bounds the slots of one queue that wait for its engine;
	// work above it is asked to come again.
	MaxPendingSlots int
	// DiffusionEta (0..1) and DiffusionIterations say how far priorities
	// spread over the queues of a worker each time one of them changes.
	DiffusionEta        float64
	DiffusionIterations int
	// MaxFailures launches failing in a row stop a queue until its plan
	// changes or StopPause is over. At least 1.
	MaxFailures int
	// RetryMin is the pause after the first failure in a row, doubled with
	// every further one up to RetryMax. Panics are paced the same way.
	RetryMin, RetryMax time.Duration
	// StopPause is how long a queue is stopped after its actors panicked
	// StopPanics times within StopWindow, and the longest that it is stopped
	// after MaxFailures failed launches.
	StopPause time.Duration
	// OnDecision, if set, receives the input of every decision, on the actor
	// that made it: it must be quick and may be called concurrently.
	OnDecision func(DecisionInput)
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
	// Logger receives what people should know. Not nil.
	Logger *slog.Logger
}

// StopPanics panics of a queue's actors within StopWindow stop the queue.
const (
	StopPanics = 10
	StopWindow = 10 * time.Second
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
		Policy:              policy.Standard(),
		Heartbeat:           time.Second,
		IdleAfter:           10 * time.Minute,
		MaxQueues:           1 << 14,
		MaxWorkers:          256,
		MaxPendingSlots:     1 << 22,
		DiffusionEta:        0.5,
		DiffusionIterations: 1,
		MaxFailures:         8,
		RetryMin:            10 * time.Millisecond,
		RetryMax:            2 * time.Second,
		StopPause:           time.Minute,
		Autotuner:           session.On,
		Logger:              slog.New(slog.DiscardHandler),
	}
}

// Validate reports every problem of the configuration.
func (c *Config) Validate() error {
	var errs []error
	demand := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	demand(c.Incarnation != 0, "incarnation is 0")
	demand(c.Heartbeat >= 100*time.Millisecond && c.Heartbeat <= time.Hour, "heartbeat %v is not in 100ms..1h", c.Heartbeat)
	demand(c.IdleAfter >= 2*c.Heartbeat, "idle time %v is less than two heartbeats of %v", c.IdleAfter, c.Heartbeat)
	demand(c.StopPause > 0, "stop pause %v is not positive", c.StopPause)
	demand(c.MaxQueues > 0, "queue limit %d is not positive", c.MaxQueues)
	demand(c.MaxWorkers > 0, "worker limit %d is not positive", c.MaxWorkers)
	demand(c.MaxPendingSlots > 0 && c.MaxPendingSlots <= 1<<31, "pending slot limit %d is not in 1..2^31", c.MaxPendingSlots)
	demand(c.DiffusionEta >= 0 && c.DiffusionEta <= 1, "diffusion eta %v is not in 0..1", c.DiffusionEta)
	demand(c.DiffusionIterations >= 0, "diffusion iterations %d is negative", c.DiffusionIterations)
	demand(c.MaxFailures > 0, "failure limit %d is not positive", c.MaxFailures)
	demand(c.RetryMin > 0 && c.RetryMax >= c.RetryMin, "retry pauses %v to %v are not positive and ordered", c.RetryMin, c.RetryMax)
	demand(c.Logger != nil, "logger is nil")
	errs = append(errs, c.Policy.Validate())
	return errors.Join(errs...)
}

// validForMs is how long a recommendation may be acted on.
func (c *Config) validForMs() uint32 { return uint32(3 * c.Heartbeat / time.Millisecond) }

// pause is the back-off before the next attempt after n failures in a row.
func (c *Config) pause(n int) time.Duration {
	d := c.RetryMin
	for ; n > 1 && d < c.RetryMax; n-- {
		d *= 2
	}
	return min(d, c.RetryMax)
}
