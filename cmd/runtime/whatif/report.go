package whatif

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ringmaster/cmd/runtime/text"
)

// Report has the answers of every queue that has measured launches.
type Report struct {
	Queues  []QueueReport `json:"queues"`
	Refused string        `json:"refused,omitempty"` // why there is none
}

// QueueReport is the report of one queue.
type QueueReport struct {
	Queue    string   `json:"queue"`          // WORKER.QUEUE
	Launches uint64   `json:"launches"`       // first ones of their decisions, measured
	Fitted   uint64   `json:"not_as_decided"` // of them, how many ran otherwise than they were decided
	Answers  []Answer `json:"answers"`
}

// Report prices the alternatives.
func (s *Study) Report() *Report {
	r := new(Report)
	for _, name := range slices.Sorted(maps.Keys(s.queues)) {
		q := s.queues[name]
		if len(q.units) == 0 {
			continue
		}
		one := QueueReport{Queue: name, Launches: uint64(len(q.units)), Fitted: q.fitted}
		for k, alternative := range s.names {
			one.Answers = append(one.Answers, q.answer(alternative, k))
		}
		r.Queues = append(r.Queues, one)
	}
	switch {
	case len(r.Queues) > 0:
	case !s.audited:
		r.Refused = "no decision was audited, and a policy that always does what it holds for best tells nothing of what else would cost: start ringmaster run with --audit-launches 200, or 20 where a queue has few launches, and ask again when it has run for a while"
	default:
		r.Refused = "no launch was reported: audits are of decisions whose launches a worker measures"
	}
	return r
}

// Answered says whether any alternative has a cost.
func (r *Report) Answered() bool {
	for i := range r.Queues {
		if slices.ContainsFunc(r.Queues[i].Answers, func(a Answer) bool { return a.Ratio != 0 }) {
			return true
		}
	}
	return false
}

// String is the report for people.
func (r *Report) String() string {
	if r.Refused != "" {
		return r.Refused + "\n"
	}
	var b strings.Builder
	for i := range r.Queues {
		b.WriteString(r.Queues[i].text())
	}
	return b.String()
}

func (q *QueueReport) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s measured, the first of each decision", text.Plain(q.Queue), text.Plural(q.Launches, "launch"))
	if q.Fitted > 0 {
		fmt.Fprintf(&b, "; %s of them ran otherwise than decided, as the worker could", text.Grouped(q.Fitted))
	}
	b.WriteString("\n")
	header := []string{"WHAT IF", "NS A SLOT", "TIMES AS LONG", "95 %", "MODEL", "PROPENSITY", "OTHER LAUNCHES", "AUDITED"}
	var rows [][]string
	var notes []string
	for _, a := range q.Answers {
		row := []string{a.Name, "-", "-", "-", "-", "-", text.Grouped(a.Launches), text.Grouped(a.Audits)}
		if a.Ratio != 0 {
			row[1], row[2], row[3] = fmt.Sprintf("%.3g", a.Cost), fmt.Sprintf("%.3f", a.Ratio), fmt.Sprintf("%.3f to %.3f", a.Low, a.High)
			row[4], row[5] = ratio(a.Model), ratio(a.IPS)
		}
		rows = append(rows, row)
		switch {
		case a.Refused != "" && a.Ratio != 0:
			notes = append(notes, fmt.Sprintf("%s: of %.0f %% of the slots; of the others nobody can say: %s", a.Name, 100*a.Covered, a.Refused))
		case a.Refused != "":
			notes = append(notes, a.Name+": no answer: "+a.Refused)
		}
	}
	b.WriteString(text.Table(header, rows))
	for _, n := range notes {
		fmt.Fprintf(&b, "  %s\n", text.Plain(n))
	}
	return b.String()
}

func ratio(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", v)
}
