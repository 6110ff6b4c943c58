package memory

import "ringmaster/ring"

// PrintRecords is how many records a print log keeps.
const PrintRecords = 4096

// printLog is how far the host has read the print log of a memory. Used on
// the device's thread.
type printLog struct {
	reader  ring.PrintReader
	words   []uint32
	records []ring.PrintRecord // of the last read
}

// ReadPrints fetches what was printed since the last call. The records are good until the
// next call. overwritten is how many more there were.
func (m *Ring) ReadPrints() (records []ring.PrintRecord, overwritten uint32, err error) {
	p := &m.printed
	if p.words == nil {
		p.words = make([]uint32, m.Sizes[ring.BindPrint]/ring.WordBytes)
	}
	p.records = p.records[:0]
	cursor := p.words[0]
	if Read(m, ring.BindPrint, 0, p.words[:1]); p.words[0] == cursor {
		return nil, 0, m.dev.Check()
	}
	Read(m, ring.BindPrint, 0, p.words)
	if err := m.dev.Check(); err != nil {
		return nil, 0, err
	}
	p.records, overwritten, err = p.reader.Read(p.records, p.words)
	return p.records, overwritten, err
}
