package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker; a plain `go build` leaves it as it is.
var version = "dev"

// versionCmd prints what was built and how.
type versionCmd struct{}

func (versionCmd) Run(std stdio) error {
	fmt.Fprintln(std.out, versionLine())
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision", "vcs.time", "vcs.modified", "-tags", "CGO_ENABLED":
			fmt.Fprintf(std.out, "  %s: %s\n", s.Key, s.Value)
		}
	}
	return nil
}

// versionLine names the program and what it was built for.
func versionLine() string {
	return fmt.Sprintf("ringmaster %s, %s, %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
