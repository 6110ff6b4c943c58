package fpm

import (
	"fmt"
	"math"
)

// Bounds of what is taken.
const (
	maxWorkerID = 256       // bytes
	maxRank     = 1 << 16   // data-parallel ranks
	maxKeys     = 64        // of a map
	maxSeconds  = 3600      // of an iteration
	formatOne   = uint64(1) // the only version that Dynamo has
	maxRequests = math.MaxUint32
)

// Requests are numbers of requests by what they need next.
type Requests struct {
	Prefill, Decode uint32
}

// Metrics are what one message says.
type Metrics struct {
	WorkerID  string
	Rank      uint32
	Seconds   float64 // of the iteration, by the engine's clock; 0: there was none
	Scheduled Requests
	Queued    Requests
}

// Heartbeat says whether no iteration is behind a message.
func (m *Metrics) Heartbeat() bool { return m.Seconds == 0 }

// The keys that every message has, as bits.
const (
	keyWorker = 1 << iota
	keyRank
	keySeconds
	keyScheduled
	keyQueued
	keyVersion
	allKeys = keyWorker | keyRank | keySeconds | keyScheduled | keyQueued
)

var keys = map[string]int{"worker_id": keyWorker, "dp_rank": keyRank, "wall_time": keySeconds,
	"scheduled_requests": keyScheduled, "queued_requests": keyQueued, "version": keyVersion}

// Decode reads the third frame of a message. Keys that it does not know are stepped over.
func Decode(payload []byte) (m Metrics, err error) {
	r := reader{payload}
	n, err := r.mapLen()
	if err != nil {
		return m, fmt.Errorf("want a map: %w", err)
	}
	seen := 0
	for ; n > 0; n-- {
		key, err := r.text()
		if err != nil {
			return m, fmt.Errorf("want a key: %w", err)
		}
		bit := keys[string(key)]
		if seen&bit != 0 {
			return m, fmt.Errorf("%s is there twice", key)
		}
		seen |= bit
		if err := m.value(&r, bit); err != nil {
			return m, fmt.Errorf("%.40q: %w", key, err)
		}
	}
	switch {
	case len(r.b) > 0:
		return m, fmt.Errorf("%d bytes are behind the map", len(r.b))
	case seen&allKeys != allKeys:
		return m, fmt.Errorf("worker_id, dp_rank, wall_time, scheduled_requests or queued_requests is missing: not ForwardPassMetrics")
	}
	return m, nil
}

// value reads the value of a key.
func (m *Metrics) value(r *reader, key int) (err error) {
	switch key {
	case keyWorker:
		id, err := r.text()
		if err == nil && len(id) > maxWorkerID {
			err = errRange
		}
		m.WorkerID = string(id)
		return err
	case keyRank:
		rank, err := r.uint()
		if err == nil && rank >= maxRank {
			err = errRange
		}
		m.Rank = uint32(rank)
		return err
	case keySeconds:
		if m.Seconds, err = r.seconds(); err == nil && m.Seconds > maxSeconds {
			err = errRange
		}
		return err
	case keyVersion:
		v, err := r.uint()
		if err == nil && v != formatOne {
			err = fmt.Errorf("version %d of the format is not known", v)
		}
		return err
	case keyScheduled:
		return m.Scheduled.read(r)
	case keyQueued:
		return m.Queued.read(r)
	}
	return r.skip(0)
}

// read reads a map of numbers; both counts have to be there.
func (q *Requests) read(r *reader) error {
	n, err := r.mapLen()
	if err == nil && n > maxKeys {
		err = errRange
	}
	if err != nil {
		return err
	}
	var prefill, decode bool
	for ; n > 0; n-- {
		key, err := r.text()
		if err != nil {
			return err
		}
		switch string(key) {
		case "num_prefill_requests":
			q.Prefill, err = r.requests()
			prefill = true
		case "num_decode_requests":
			q.Decode, err = r.requests()
			decode = true
		default:
			err = r.skip(0)
		}
		if err != nil {
			return fmt.Errorf("%.40q: %w", key, err)
		}
	}
	if !prefill || !decode {
		return fmt.Errorf("num_prefill_requests or num_decode_requests is missing")
	}
	return nil
}

func (r *reader) requests() (uint32, error) {
	v, err := r.uint()
	if err == nil && v > maxRequests {
		err = errRange
	}
	return uint32(v), err
}
