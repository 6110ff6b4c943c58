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
	fmt.Fprintf(std.out, "ringmaster %s, %s, %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
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
