package megakernel

import "ringmaster/ring"

// QueueStats are totals of one queue since it was created. Shares between
// queues follow from comparing them.
type QueueStats struct {
	Submitted   uint64 // slots taken
	Executed    uint64 // slots done
	Faulted     uint64 // slots that ended in a fault
	Dropped     uint64 // slots withdrawn before they ran
	Requeued    uint64 // times a slot was in a wave and not finished by it
	Refused     uint64 // batches refused
	Waits       uint64 // batches that had to wait for room
	QuotaWaits  uint64 // launches that ran nothing because the rate was used up
	Waves       uint64 // waves settled
	FailedWaves uint64
	DeviceNs    uint64 // time of the waves settled
}

func (s *QueueStats) add(r *Report) {
	s.Executed += uint64(r.Executed)
	s.Faulted += uint64(r.Faulted)
	s.Requeued += uint64(r.Requeued)
	s.Waves++
	s.DeviceNs += r.ElapsedNs
}

// Stats is a snapshot of an engine.
type Stats struct {
	InFlight  int // waves started whose report was not handed out
	Pending   int // slots submitted and not finished
	FreePages int
	Queues    []QueueSnapshot // in no order
}

// QueueSnapshot is one queue of Stats.
type QueueSnapshot struct {
	Name    string
	Tenant  uint32
	Pending int
	Classes [ring.Priorities]int // slots in pages that a wave started now would find, by priority
	Options QueueOptions
	QueueStats
}

// Stats takes a snapshot.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Stats{InFlight: len(e.flights) - len(e.idle), Pending: e.pending, FreePages: e.pool.Free()}
	for name, q := range e.queues {
		row := QueueSnapshot{Name: name, Tenant: q.tenant, Pending: q.pending, Options: q.options, QueueStats: q.stats}
		for p := range row.Classes {
			row.Classes[p] = q.pages.Waiting(e.pool, uint32(p))
		}
		s.Queues = append(s.Queues, row)
	}
	return s
}

// countRefused counts a batch that was not taken. Called with mu held.
func (e *Engine) countRefused(name string) {
	if q := e.queues[name]; q != nil {
		q.stats.Refused++
	}
}

// Ready is the number of a queue's slots that a wave started now would find.
func (e *Engine) Ready(name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := e.queues[name]
	if q == nil {
		return 0
	}
	n := 0
	for p := range uint32(ring.Priorities) {
		n += q.pages.Waiting(e.pool, p)
	}
	return n
}
