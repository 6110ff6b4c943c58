package main

import (
	"runtime"
	"testing"

	"ringmaster/megakernel/policy"
)

// benchPolicy times a decision beside a lookup in a Go map keyed by the whole
// request, which is what answering from a cache would cost at the least.
func benchPolicy(s *session) error {
	cfg := policy.Standard()
	requests := policyRequests(1024)
	cache := make(map[policy.Request]int, len(requests))
	for i, r := range requests {
		cache[r] = i
	}
	groups := uint32(0)
	decide := func(n int) {
		var state policy.State
		for i := range n {
			// A refused request leaves the plan's state as it was; it is timed too.
			rec, next, _ := policy.Decide(&cfg, &requests[i%len(requests)], state)
			state = next
			groups += rec.WorkerGroups
		}
	}
	found := 0
	lookup := func(n int) {
		for i := range n {
			found += cache[requests[i%len(requests)]]
		}
	}
	value, yardstick := alternate(50_000, decide, lookup)
	s.row(row{Name: "policy/decide", Value: value, Unit: "ns", Yardstick: "Go map lookup of the same request", YardstickValue: yardstick})
	allocs := testing.AllocsPerRun(100, func() { decide(len(requests)) })
	s.row(row{Name: "policy/allocs", Value: allocs / float64(len(requests)), Unit: "allocs", Yardstick: "none"})
	runtime.KeepAlive(found)
	runtime.KeepAlive(groups)
	return nil
}

// policyRequests varies every field that moves in production, by a fixed
// multiplicative sequence, so that all topologies and pressures occur.
func policyRequests(n int) []policy.Request {
	requests := make([]policy.Request, n)
	x := uint64(1)
	next := func(below uint64) uint64 {
		x = x*6364136223846793005 + 1442695040888963407
		return (x >> 33) % below
	}
	for i := range requests {
		requests[i] = policy.Request{
			QueueLen: uint32(next(100_000)), RequestedWorkerGroups: uint32(next(3) * 64),
			Limits:              policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32},
			ExpectedHitsPerItem: uint32(next(4)), HotOpcodeCount: uint32(next(16)), HotWindowCount: uint32(next(8)),
			MaxPriorityAge: uint32(next(64)), GraphNodeCount: 100_000, GraphEdgeCount: uint32(next(200_000)),
			FrontierDensityBps: uint16(next(10_001)), MemoryPressureBps: uint16(next(10_001)),
		}
	}
	return requests
}
