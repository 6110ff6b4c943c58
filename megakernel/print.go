package megakernel

import (
	"fmt"

	"ringmaster/ring"
)

// PrintRecords is how many records the print log of an engine keeps.
const PrintRecords = 4096

// Print is what a print slot left.
type Print struct {
	Queue string // of the slot; empty if the queue lost its window since
	ring.PrintRecord
}

// printLog is how far the host has read the print log of a memory. Used on
// the device's thread.
type printLog struct {
	reader  ring.PrintReader
	words   []uint32
	records []ring.PrintRecord // of the last read
}

// readPrints fetches what was printed since the last call into m.printed.records.
func (m *memory) readPrints() (overwritten uint32, err error) {
	p := &m.printed
	if p.words == nil {
		p.words = make([]uint32, m.sizes[ring.BindPrint]/ring.WordBytes)
	}
	p.records = p.records[:0]
	cursor := p.words[0]
	if read(m, ring.BindPrint, 0, p.words[:1]); p.words[0] == cursor {
		return 0, m.dev.Check()
	}
	read(m, ring.BindPrint, 0, p.words)
	if err := m.dev.Check(); err != nil {
		return 0, err
	}
	p.records, overwritten, err = p.reader.Read(p.records, p.words)
	return overwritten, err
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
		overwritten, err = e.exec.memory.readPrints()
		for _, r := range e.exec.memory.printed.records {
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
