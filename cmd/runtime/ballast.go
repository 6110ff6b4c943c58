package main

import "runtime"

// ballastBytes is address space that the collector counts and nobody touches,
// so it costs no memory. A runtime keeps little and makes garbage with every
// message; without it the collector runs some ten times a second beside a
// flood, and each run holds up the answers to everybody else: it doubles the
// 99th percentile of the latency of other queues (BenchmarkFloodOtherQueue).
// A larger GOGC would do the same for a small heap and multiply a large one.
const ballastBytes = 64 << 20

// ballast lets that much garbage more accumulate before a collection, until
// drop is called.
func ballast() (drop func()) {
	b := make([]byte, ballastBytes)
	return func() { runtime.KeepAlive(b) }
}
