package policy

// inFlightBandDivisor: a wave that a backlog has gained is lost once the backlog is
// below the threshold by 1/8 of a launch's depth.
const inFlightBandDivisor = 8

// wavesInFlight is how many launches of the queue may be under way at a time: one for
// each depth of slots in its backlog, begun ones included, up to MaxInFlight. A
// queue that one launch empties gains nothing from a second one: it would find
// nothing to run. A queue that several launches share keeps the device busy while the
// host takes over the results of the launch before. Each launch in flight holds its
// pages, hits and results until then, so where memory is scarce there is one.
//
// With FullHysteresis, prev being what was allowed before, a backlog about a multiple
// of the depth does not add and drop a wave with every record.
func wavesInFlight(cfg *Config, queue, depth uint32, scarce bool, prev uint32) uint32 {
	n := uint32(1)
	if !cfg.Pipelined || scarce || queue < depth/2 { // spares the common case the products below
		return n
	}
	band := uint64(0)
	if cfg.FullHysteresis {
		band = uint64(depth / inFlightBandDivisor)
	}
	for n < cfg.Sizing.MaxInFlight {
		edge := uint64(n) * uint64(depth)
		if n < prev {
			edge -= band
		}
		if uint64(queue) <= edge {
			break
		}
		n++
	}
	return n
}

// WorkerInFlight is how many launches of all its queues a worker may have under way:
// the largest number that any of its queues may have. If every queue is shallow, each
// launch finds a free device. Beside a deep queue, the launches of others join its
// pipeline; otherwise they would have to wait for it to run dry, or it for them.
func WorkerInFlight(candidates []Candidate) int {
	most := 1
	for i := range candidates {
		most = max(most, candidates[i].InFlight)
	}
	return most
}

// InFlightNow is how many launches of a queue may be under way at a worker: as many as
// the plan allows, but one while launches fail. What a failed launch took back is then
// decided anew before more is built on it, and a device that refuses one launch is not
// given three.
func InFlightNow(allowed uint32, failures int) int {
	if failures > 0 {
		return 1
	}
	return max(int(allowed), 1)
}
