package ledger

import "ringmaster/ring"

// Stats is a snapshot of the books.
type Stats struct {
	Pending   int // slots submitted and not finished
	Pages     int
	FreePages int             // part of Pages
	Queues    []QueueSnapshot // in no order
}

// QueueSnapshot is one queue of Stats.
type QueueSnapshot struct {
	Name     string
	Executed uint64               // slots done since the queue got its window
	Faulted  uint64               // slots that ended in a fault
	Classes  [ring.Priorities]int // slots in pages that a wave begun now would find, by priority
}

// Stats takes a snapshot.
func (l *Ledger) Stats() Stats {
	s := Stats{Pending: l.pending, Pages: len(l.pages), FreePages: l.pool.Free()}
	for name, q := range l.queues {
		row := QueueSnapshot{Name: name, Executed: q.executed, Faulted: q.faulted}
		for p := range row.Classes {
			row.Classes[p] = q.pages.Waiting(l.pool, uint32(p))
		}
		s.Queues = append(s.Queues, row)
	}
	return s
}
