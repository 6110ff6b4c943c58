package main

import (
	"fmt"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

const (
	// turn is how long the records of the fleet are looked at, quiet or beside a neighbour.
	turn = 8 * time.Second
	// floodQueues and floodWorkers are the names that the neighbour goes round.
	floodQueues, floodWorkers = 131_072, 256
)

// flood has a neighbour send records of ever new queues (row 14 of the attacks), by turns with nothing, and with
// the same bytes on a subject that nobody hears. It fails if a worker that came during a flood was not decided for.
func (f *fleet) flood(l *load, rate, runs int) error {
	n := &neighbour{incarnation: telemetry.NewIncarnation(), rate: rate}
	var err error
	if n.conn, err = f.connect(); err != nil {
		return err
	}
	defer n.conn.Close()
	refused := 0
	beside := func(name, root string) *company {
		return &company{name: name, play: func() error {
			comes := l.worker(fmt.Sprintf("new%x", telemetry.NewIncarnation()))
			n.play(root, func() { l.announce(comes); l.report(comes, 1) })
			if comes.decided() == 0 {
				refused++
			}
			return nil
		}}
	}
	if err := l.beside(runs, beside("quiet", ""), beside("the same bytes elsewhere", "elsewhere"), beside("flood of queues", n.conn.Subjects().Root())); err != nil {
		return err
	}
	fmt.Printf("%d records of the neighbour; %d of %d new workers were not decided for\n", n.sent, refused, 3*runs)
	if refused > 0 {
		return fmt.Errorf("%d new workers were not decided for", refused)
	}
	return nil
}

// neighbour is another tenant of the bus.
type neighbour struct {
	conn        *natsio.Conn
	incarnation uint64
	rate        int // records a second
	sent        uint64
}

// play sends records below a root for a turn, or none if it is empty. meanwhile runs in the middle.
func (n *neighbour) play(root string, meanwhile func()) {
	begun, met := time.Now(), false
	for sent := 0; time.Since(begun) < turn; {
		if !met && time.Since(begun) > turn/2 {
			meanwhile()
			met = true
		}
		if due := int(time.Since(begun).Seconds() * float64(n.rate)); root != "" && sent < due {
			n.send(root)
			sent++
		} else {
			time.Sleep(time.Millisecond)
		}
	}
}

func (n *neighbour) send(root string) {
	n.sent++
	h := telemetry.Header{Incarnation: n.incarnation, Seq: n.sent, SentNs: time.Now().UnixNano()}
	q := telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: 1000}
	subject := fmt.Sprintf("%s.telemetry.other%d.q%d", root, n.sent%floodWorkers, n.sent%floodQueues)
	_ = n.conn.PublishRequest(subject, "", telemetry.Append(nil, telemetry.EncodingArray, h, &q)) // what is lost is the neighbour's
}

// decided is the number of a queue's newest decision.
func (q *queue) decided() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.decision
}
