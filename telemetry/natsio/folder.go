package natsio

import (
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// A subscription has one goroutine, which has to decode its payloads one after
// the other and give them to the sink in that order. Decoding is more than half
// of it. While more payloads wait, a folder gives what is decoded to the sink
// on a goroutine of its own, in the same order, so that two processors are at
// it; with nothing waiting that would only cost a wake and the way between them.
const (
	// foldersFrom is the GOMAXPROCS with processors to spare beside the
	// reader of the connection, the decoder and the actors.
	foldersFrom = 4
	// besideFrom is how many payloads wait when a folder is worth its wake.
	besideFrom = 8
	// besideBytes is the size of a payload that wakes a folder. With one record
	// a message the bus is slower than the sink, and asking it what waits costs
	// more than a fold.
	besideBytes = 512
	// maxGroup is how many payloads are handed over at once.
	maxGroup = 8
	// folderGroups is how many groups there are: one is being filled, one is
	// folded, one waits.
	folderGroups = 3
)

// decoded is a payload whose records the sink takes as a whole.
type decoded struct {
	in      *Ingest
	flat    FlatSink
	message *nats.Msg
	worker  string
	flats   telemetry.Flats
	refused func(place int, why error) // refuse, bound once
}

func newDecoded(in *Ingest, flat FlatSink) *decoded {
	p := &decoded{in: in, flat: flat}
	p.refused = p.refuse
	return p
}

// fold gives the records to the sink.
func (p *decoded) fold() {
	p.in.records.Add(uint64(p.flat.IngestFlat(p.worker, p.flats.Records, p.refused)))
	p.message = nil
}

// refuse refuses one of the records.
func (p *decoded) refuse(place int, why error) {
	p.in.refuse(p.message, p.worker, p.flats.Records[place].Header.Queue, telemetry.ReasonOf(why), why)
}

// folder folds groups of payloads. All but its own goroutine's part belongs to
// the goroutine of the subscription. A nil folder does nothing.
type folder struct {
	waiting func(*nats.Msg) int // payloads behind a message

	group    *group // being filled
	work     chan *group
	free     chan *group
	underway atomic.Int32 // groups handed over and not folded
	started  bool
	ended    chan struct{} // closed after the last fold
}

type group struct {
	n        int
	payloads [maxGroup]*decoded
}

func newFolder(in *Ingest, flat FlatSink) *folder {
	f := &folder{
		waiting: messagesBehind,
		work:    make(chan *group, folderGroups), free: make(chan *group, folderGroups),
		ended: make(chan struct{}),
	}
	for i := range folderGroups {
		g := new(group)
		for p := range g.payloads {
			g.payloads[p] = newDecoded(in, flat)
		}
		if i == 0 {
			f.group = g
		} else {
			f.free <- g
		}
	}
	return f
}

// messagesBehind is how many messages wait behind the one in hand.
func messagesBehind(m *nats.Msg) int {
	n, _, err := m.Sub.Pending()
	if err != nil {
		return 0 // closed: nothing comes any more
	}
	return n - 1
}

// next returns where to decode a message for the folder, or nil if it is
// better given to the sink at once; then nothing is under way.
func (f *folder) next(m *nats.Msg) *decoded {
	if f == nil {
		return nil
	}
	if f.group.n == 0 && f.underway.Load() == 0 && (len(m.Data) < besideBytes || f.waiting(m) < besideFrom) {
		return nil
	}
	return f.group.payloads[f.group.n]
}

// flush hands over what is in hand if it is a whole group, or if no message
// behind this one will do so.
func (f *folder) flush(m *nats.Msg) {
	if f != nil && f.group.n > 0 && (f.group.n == maxGroup || f.waiting(m) == 0) {
		f.handOver()
	}
}

// handOver waits while the sink is too far behind.
func (f *folder) handOver() {
	if !f.started {
		f.started = true
		go f.run()
	}
	f.underway.Add(1)
	f.work <- f.group
	f.group = <-f.free
}

// settle returns when everything decoded is folded.
func (f *folder) settle() {
	if f == nil {
		return
	}
	if f.group.n > 0 {
		f.handOver()
	}
	if f.underway.Load() == 0 {
		return
	}
	var all [folderGroups - 1]*group
	for i := range all {
		all[i] = <-f.free
	}
	for _, g := range all {
		f.free <- g
	}
}

// close ends the folder after what it has. It is called when the subscription
// has ended, by its goroutine.
func (f *folder) close() {
	f.settle()
	close(f.work)
	close(f.ended)
}

func (f *folder) run() {
	for g := range f.work {
		for _, p := range g.payloads[:g.n] {
			p.fold()
		}
		g.n = 0
		f.underway.Add(-1)
		f.free <- g
	}
}
