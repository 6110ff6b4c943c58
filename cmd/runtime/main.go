// Command ringmaster runs the launch-policy runtime: `demo` shows the whole
// loop on recorded load, `run` serves, `publish`, `submit`, `cancel`, `watch` and
// `heap` are its clients, `exec` and `opcodes` try opcodes without it, `tune` finds a ring's best
// geometry, `replay` decides a recorded log again, `doctor` says what a machine lacks, `bench` measures.
//
// This package is the wiring: flags, environment, processes and exit codes.
// What it wires is documented in the packages below it, which can be read in
// the order policy, ring, telemetry, actors, megakernel, glcompute. It also has
// what ends or saves the process: the recovery of a lost device, and the watchdog
// whose exit code is 75.
package main

import (
	"context"
	"os"

	"ringmaster/glcompute"
)

func main() {
	// The window system's calls belong to the main thread, so the command
	// itself runs on another goroutine.
	os.Exit(glcompute.Main(func() int {
		return execute(context.Background(), os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	}))
}
