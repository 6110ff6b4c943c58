package shadow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ringmaster/cmd/runtime/text"
)

// maxEpisodes bounds the listed times of a queue's differences.
const maxEpisodes = 10

// Report says where engines and advice differ.
type Report struct {
	Queues []QueueReport `json:"queues"`
	Left   uint64        `json:"left"` // launches and advice that were too many to keep
}

// QueueReport is the report of one queue. Cost is nil where it is not identified; Refused says why of what it does not count.
type QueueReport struct {
	Queue      string    `json:"queue"` // WORKER.QUEUE
	Launches   uint64    `json:"launches"`
	Unmeasured uint64    `json:"unmeasured"` // failed, or reported without geometry, slots or time
	Unadvised  uint64    `json:"unadvised"`  // while no advice stood
	Different  uint64    `json:"different"`
	Episodes   []Episode `json:"episodes"` // the longest first, at most 10
	Cost       *Cost     `json:"cost,omitempty"`
	Refused    string    `json:"refused,omitempty"`
}

// Episode is a time for which an engine ran one thing and the advice was another.
type Episode struct {
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Launches uint64    `json:"launches"`
	Engine   string    `json:"engine"`
	Advice   string    `json:"advice"`
	Why      string    `json:"why"` // the rules of the first of its recommendations
}

// Report compares what was heard so far.
func (r *recorder) Report() *Report {
	out := &Report{Left: r.Left}
	for _, name := range slices.Sorted(maps.Keys(r.queues)) {
		q := r.queues[name]
		if len(q.launches) == 0 && q.unmeasured == 0 {
			continue
		}
		one := QueueReport{Queue: name, Launches: uint64(len(q.launches)), Unmeasured: q.unmeasured}
		for i := range q.launches {
			if !q.launches[i].advised {
				one.Unadvised++
			}
			if q.launches[i].different() {
				one.Different++
			}
		}
		one.Episodes = episodes(q.launches)
		if one.Different > 0 {
			one.Cost, one.Refused = estimate(q.launches)
		}
		out.Queues = append(out.Queues, one)
	}
	return out
}

// episodes joins neighbouring launches that differ in the same way.
func episodes(launches []launch) (list []Episode) {
	var open *Episode
	for i := range launches {
		l := &launches[i]
		if !l.different() {
			open = nil
			continue
		}
		advice := l.advice.String()
		if l.launches() > 1 {
			advice += fmt.Sprintf(", at most %d slots a launch", l.depth)
		}
		if open == nil || open.Engine != l.ran.String() || open.Advice != advice {
			list = append(list, Episode{From: l.at, Engine: l.ran.String(), Advice: advice, Why: l.why})
			open = &list[len(list)-1]
		}
		open.To = l.at
		open.Launches++
	}
	slices.SortStableFunc(list, func(a, b Episode) int { return int(b.Launches) - int(a.Launches) })
	return list[:min(len(list), maxEpisodes)]
}

// String is the report for people.
func (r *Report) String() string {
	if len(r.Queues) == 0 {
		return "no launch was reported: nothing to compare\n"
	}
	var b strings.Builder
	for i := range r.Queues {
		b.WriteString(r.Queues[i].text())
	}
	if r.Left > 0 {
		fmt.Fprintf(&b, "%s were too many to keep\n", text.Plural(r.Left, "record"))
	}
	return b.String()
}

func (q *QueueReport) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of %s launches differ from the advice", q.Queue, text.Grouped(q.Different), text.Grouped(q.Launches))
	if q.Unadvised > 0 {
		fmt.Fprintf(&b, "; for %s no advice stood", text.Grouped(q.Unadvised))
	}
	if q.Unmeasured > 0 {
		fmt.Fprintf(&b, "; %s more failed, or were reported without geometry, slots or time", text.Grouped(q.Unmeasured))
	}
	b.WriteByte('\n')
	for _, e := range q.Episodes {
		fmt.Fprintf(&b, "  %s to %s, %s: the engine ran %s; the advice was %s\n    because of %s\n", e.From.UTC().Format("15:04:05.000"),
			e.To.UTC().Format("15:04:05.000"), text.Grouped(e.Launches), e.Engine, text.Plain(e.Advice), text.Plain(e.Why))
	}
	if c := q.Cost; c != nil {
		fmt.Fprintf(&b, "  %s took %s, by the advice %s less: between %s and %s with 95 %% confidence\n", text.Plural(c.Launches, "launch"),
			ms(c.TookNs), ms(c.Ns), ms(c.Low), ms(c.High))
	}
	if q.Refused != "" {
		rest := ""
		if q.Cost != nil {
			rest = " of the other launches"
		}
		fmt.Fprintf(&b, "  the cost%s is not known: %s\n", rest, q.Refused)
	}
	return b.String()
}

func ms(ns float64) string { return fmt.Sprintf("%.3f ms", ns/1e6) }
