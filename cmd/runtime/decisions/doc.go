// Package decisions keeps the log of a process's decisions and answers questions about
// one: does every decision come out the same again, what would another policy have
// decided, and why was one decided as it was. The lines of a log are those of
// telemetry/decisionlog; a log is a file, of which the older half is FILE.1. What
// the stream of decisions holds is read as a log, too.
//
// To read the package: log.go and file.go (writing), source.go and stream.go (reading), replay.go, then
// compare.go and explain.go.
package decisions
