// Package worker is what `run` and `demo` start: one process's part that serves. A Node connects
// to the bus, folds telemetry into decisions and publishes them; with a device it also has an
// Engine, the worker actor's port to the ring, consumes the worker's work, and serves the queues'
// windows. Everything is said by plain Config values; flags and the environment are the
// command's.
//
// It decides about the life of the device: a lost context is opened again and the ring moved
// there (rebuild.go), a device that does not return from a launch ends the process for its
// supervisor (watchdog.go), and locks keep two processes from serving one worker (claim.go).
//
// The engine's loop is one goroutine. It alone launches, repairs, and touches the rebuilder;
// another waits for launches in flight. The actors never wait for the device.
//
// To read the package: config.go, node.go and fleet.go (the process, from its start to its end), engine.go,
// launches.go and records.go (the way of a launch), rebuild.go and watchdog.go (what goes wrong), service.go,
// status.go, state.go and reading.go (what others see), then the rest.
package worker
