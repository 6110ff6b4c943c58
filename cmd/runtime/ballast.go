package main

import "runtime"

// ballastBytes is address space that the collector counts but nobody touches, so it
// costs no memory. The runtime keeps little and makes garbage with every message.
// Without the ballast the collector runs some ten times a second during a flood, and
// each run delays the answers to everybody else: the 99th percentile of the latency
// of other queues doubles (BenchmarkFloodOtherQueue). A larger GOGC would do the same
// for a small heap, but would multiply a large one.
const ballastBytes = 64 << 20

// ballast lets ballastBytes more garbage accumulate before a collection, until drop
// is called.
func ballast() (drop func()) {
	b := make([]byte, ballastBytes)
	return func() { runtime.KeepAlive(b) }
}
