package main

import (
	"fmt"
	"slices"
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
// the same bytes on a subject that nobody hears. It prints how long the fleet's records waited for their decisions,
// the 99th percentile of each turn, and fails if a worker that came during a flood was not decided for.
func (f *fleet) flood(l *load, rate, runs int) error {
	n := &neighbour{incarnation: telemetry.NewIncarnation(), rate: rate}
	var err error
	if n.conn, err = f.connect(); err != nil {
		return err
	}
	defer n.conn.Close()
	kinds := []string{"", "elsewhere", n.conn.Subjects().Root()}
	p99 := make([][]time.Duration, len(kinds))
	refused := 0
	for run := range runs {
		for i, root := range kinds {
			l.waits()
			comes := l.worker(fmt.Sprintf("new%d_%d", run, i))
			n.play(root, func() { l.announce(comes); l.report(comes, 1) })
			waits := l.waits()
			slices.Sort(waits)
			p99[i] = append(p99[i], waits[len(waits)*99/100])
			if comes.decided() == 0 {
				refused++
			}
			time.Sleep(pause)
		}
	}
	fmt.Printf("| neighbour | turns | 99th percentile of a record's wait, min / median / max of the turns |\n|---|---|---|\n")
	for i, name := range []string{"quiet", "the same bytes elsewhere", "flood of queues"} {
		slices.Sort(p99[i])
		fmt.Printf("| %s | %d | %.1f / %.1f / %.1f ms |\n", name, runs, ms(p99[i][0]), ms(p99[i][runs/2]), ms(p99[i][runs-1]))
	}
	median := func(i int) float64 { return ms(p99[i][runs/2]) }
	fmt.Printf("p99 beside the flood: %.2f of the quiet one, %.2f of that with the same bytes elsewhere; %d records of the neighbour; %d of %d new workers were not decided for\n",
		median(2)/median(0), median(2)/median(1), n.sent, refused, 3*runs)
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

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
