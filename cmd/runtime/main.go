// Command ringmaster is the launch-policy runtime and its tools.
//
//   - demo shows the whole loop on recorded load.
//   - run serves; publish, submit, cancel, watch, heap and graph are its clients.
//   - exec, opcodes and graph run work on this machine without a server.
//   - tune finds the geometry at which a workload drains fastest.
//   - explain and top say why a queue's plan is as it is and how a fleet does.
//   - replay makes the decisions of a log again, whatif prices others, audit proves that none was made twice.
//   - config and auth are about settings and permissions; doctor says what a machine lacks.
//
// This package is the wiring: flags, environment, processes and exit codes. The
// packages that it wires are best read in the order policy, ring, telemetry,
// actors, megakernel, glcompute, worker. It also decides about the life of the process:
// one whose device hangs ends with exit code 75.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"

	"ringmaster/cmd/runtime/terminal"
	"ringmaster/glcompute"
)

func main() {
	// The main thread is reserved for calls of the window system, so the
	// command itself runs on another goroutine.
	code := glcompute.Main(func() int {
		return execute(context.Background(), os.Args[1:], terminal.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	})
	if code == int(beginAnew) {
		code = replaceProcess()
	}
	os.Exit(code)
}

// replaceProcess runs the same command line in the place of this process, or returns the exit code with which a
// supervisor starts it again: EX_TEMPFAIL.
func replaceProcess() int {
	program, err := os.Executable()
	if err == nil {
		err = syscall.Exec(program, os.Args, os.Environ())
	}
	fmt.Fprintf(os.Stderr, "ringmaster: the process cannot begin anew: %v\n", err)
	return 75
}

// version is set by the linker; a plain `go build` leaves it as it is.
var version = "dev"

// versionCmd prints what was built and how.
type versionCmd struct{}

func (versionCmd) Run(std terminal.Stdio) error {
	fmt.Fprintln(std.Out, versionLine())
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision", "vcs.time", "vcs.modified", "-tags", "CGO_ENABLED":
			fmt.Fprintf(std.Out, "  %s: %s\n", s.Key, s.Value)
		}
	}
	return nil
}

// versionLine names the program and what it was built for.
func versionLine() string {
	return fmt.Sprintf("ringmaster %s, %s, %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
