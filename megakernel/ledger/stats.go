package ledger

import "ringmaster/ring"

// QueueStats are totals of one queue since it was created. Shares between queues follow
// from comparing them.
type QueueStats struct {
	Submitted   uint64 // slots taken
	Executed    uint64 // slots done
	Faulted     uint64 // slots that ended in a fault
	Dropped     uint64 // slots withdrawn before they ran
	Requeued    uint64 // times a slot was in a wave and not finished by it
	Refused     uint64 // batches refused
	QuotaWaits  uint64 // launches that ran nothing because the rate was used up
	Waves       uint64 // waves settled
	FailedWaves uint64
	BusyNs      uint64 // time of the waves settled: by the device's clock where it has one, else by the host's
}

// Stats is a snapshot of the books.
type Stats struct {
	Pending   int // slots submitted and not finished
	Pages     int
	FreePages int             // part of Pages
	Queues    []QueueSnapshot // in no order
}

// QueueSnapshot is one queue of Stats.
type QueueSnapshot struct {
	Name    string
	Tenant  uint32
	Pending int
	Classes [ring.Priorities]int // slots in pages that a wave begun now would find, by priority
	Options QueueOptions
	QueueStats
}

// Stats takes a snapshot.
func (l *Ledger) Stats() Stats {
	s := Stats{Pending: l.pending, Pages: len(l.pages), FreePages: l.pool.Free()}
	for name, q := range l.queues {
		row := QueueSnapshot{Name: name, Tenant: q.window.Tenant, Pending: q.pending, Options: q.options, QueueStats: q.stats}
		for p := range row.Classes {
			row.Classes[p] = q.pages.Waiting(l.pool, uint32(p))
		}
		s.Queues = append(s.Queues, row)
	}
	return s
}
