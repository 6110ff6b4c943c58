// Command ringmaster is the launch-policy runtime and its tools.
//
//   - demo shows the whole loop on recorded load.
//   - run serves; publish, submit, cancel, watch, heap and graph are its clients.
//   - exec, opcodes and graph run work on this machine without a server.
//   - tune finds the geometry at which a workload drains fastest.
//   - replay makes the decisions of a log again.
//   - doctor says what a machine lacks.
//
// This package is the wiring: flags, environment, processes and exit codes. The
// packages that it wires are best read in the order policy, ring, telemetry,
// actors, megakernel, glcompute, worker. It also decides about the life of the process:
// one whose device hangs ends with exit code 75.
package main

import (
	"context"
	"os"

	"ringmaster/glcompute"
)

func main() {
	// The main thread is reserved for calls of the window system, so the
	// command itself runs on another goroutine.
	os.Exit(glcompute.Main(func() int {
		return execute(context.Background(), os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	}))
}
