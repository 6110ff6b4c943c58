package actors

import "errors"

// Reasons for a refusal.
var (
	// ErrClosed says that the system no longer takes records or work.
	ErrClosed = errors.New("this runtime is closing")
	// ErrDraining says that the worker is finishing what it has and takes no new work.
	ErrDraining = errors.New("this worker is draining")
	// ErrQueueLimit says that Config.MaxQueues queues are known, and that none of those that
	// could give way has been silent for silentFor.
	ErrQueueLimit = errors.New("too many queues")
	// ErrNewQueues says that queues become known by telemetry faster than newQueues allows. A later record is taken.
	ErrNewQueues = errors.New("too many new queues at once; this one is taken by a later record")
	// ErrWorkerLimit says that maxWorkers workers are known, and that none of them gives way.
	ErrWorkerLimit = errors.New("too many workers")
	// ErrRewind says that a cumulative counter went backwards within an incarnation.
	ErrRewind = errors.New("counter went backwards")
	// ErrName says that a worker or queue name is not 1..64 of [A-Za-z0-9_-].
	ErrName = errors.New("invalid worker or queue name")
	// ErrKind says that a record of this kind does not belong here.
	ErrKind = errors.New("unexpected kind of record")
	// ErrForeignLaunch says that a launch report names a worker whose engine runs in this process.
	ErrForeignLaunch = errors.New("launches of a local worker are reported by its own engine")
	// ErrAttached says that the worker already has an engine.
	ErrAttached = errors.New("worker already has an engine")
	// ErrNoEngine says that no engine in this process executes work for the worker.
	ErrNoEngine = errors.New("no engine for this worker")
	// ErrNoLimits is why a queue has no plan before its worker is known.
	ErrNoLimits = errors.New("nobody announced this worker")
	// ErrBusy is wrapped by an Engine that has no room for a batch now; the
	// batch is delivered again later instead of being refused for good.
	ErrBusy = errors.New("engine has no room")
	// ErrQuota is wrapped by an Engine for a batch beyond the quota of its queue;
	// it is delivered again later, unless too many batches of the queue wait.
	ErrQuota = errors.New("queue is over its quota")
	// ErrBacklog says that the queue holds as many pending slots as Config allows.
	ErrBacklog = errors.New("too many pending slots")
	// ErrStopped says that the launches of a queue failed too often in a row.
	ErrStopped = errors.New("queue stopped after failed launches")
	// ErrUnstable says that the actors of a queue panicked too often and rest for stopPause.
	ErrUnstable = errors.New("queue stopped after repeated panics")
	// ErrUndelivered says that a batch ran but its done record did not reach the server.
	ErrUndelivered = errors.New("done record was not delivered")
	// ErrCancellations says that a worker remembers as many canceled batches as it may.
	ErrCancellations = errors.New("too many canceled batches are remembered")
	// ErrPanic says that the code handling a batch or a launch panicked.
	ErrPanic = errors.New("handler panicked")
)
