// Package trial measures geometries on a ring of this machine's device: a
// workload stays on the device and is drained again and again, by a strategy
// and within a budget, and the best are compared once more by turns. The command
// tune and the benchmark of the live tuner run trials; no worker does.
//
// Times are nanoseconds of a whole launch. A Ring and a Run belong to one
// goroutine.
package trial
