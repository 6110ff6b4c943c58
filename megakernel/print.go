package megakernel

import (
	"fmt"

	"ringmaster/megakernel/memory"
	"ringmaster/ring"
)

// PrintRecords is how many records the print log of an engine keeps.
const PrintRecords = memory.PrintRecords

// Print is what a print slot left.
type Print struct {
	Queue string // of the slot; empty if the queue lost its window since
	ring.PrintRecord
}

// Prints are the records of the print slots that ran since the last call, of
// the waves started so far, in no order that means anything. overwritten is
// how many more there were; the log keeps PrintRecords of them. What a lost
// device printed is lost with it.
func (e *Engine) Prints() (prints []Print, overwritten uint32, err error) {
	done := make(chan error, 1)
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, 0, fmt.Errorf("prints: %w", ErrClosed)
	}
	names := e.ledger.Tenants()
	e.pump.add(job{done: done, fn: func() (err error) {
		var records []ring.PrintRecord
		records, overwritten, err = e.exec.memory.ReadPrints()
		for _, r := range records {
			prints = append(prints, Print{Queue: names[r.Tenant], PrintRecord: r})
		}
		return err
	}})
	e.mu.Unlock()
	if err := <-done; err != nil {
		return nil, 0, fmt.Errorf("prints: %w", err)
	}
	return prints, overwritten, nil
}
