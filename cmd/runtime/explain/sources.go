package explain

import (
	"fmt"
	"time"

	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/cmd/runtime/text"
)

// origin is who said a value, and when. It is one of the sources of a decision's values.
type origin struct {
	said  string
	at    time.Time // zero: it is not known
	least bool      // it was said then or earlier: no decision from before is kept
}

// origins are the sources of a decision's values that decisions tell of.
type origins struct {
	queue    origin // how much waits, and what is hot
	graph    origin // the graph and its frontier
	measured origin // launches
}

// mark is how far a source had come: which record of which publisher was its newest, or how many launches there were.
type mark struct{ of, number uint64 }

// marks are those of a decision, in the order of origins.
func (m *remembered) marks() [3]mark {
	queue, graph := &m.Cell.Sources[0], &m.Cell.Sources[1]
	return [3]mark{{queue.Incarnation, queue.Seq}, {graph.Incarnation, graph.Seq}, {0, m.Cell.History.Launches}}
}

// originsOf finds the sources of the last of some decisions. A source spoke when the first decision was made that has what
// it says now; of the record that the decision answers it is known from the record itself.
func originsOf(all []Decision) origins {
	last := &all[len(all)-1]
	memory := memoryOf(last)
	marks := memory.marks()
	var found [3]origin
	open := len(found)
	for s := range found {
		found[s] = origin{at: last.At, least: true}
	}
	for i := len(all) - 2; i >= 0 && open > 0; i-- {
		m := memoryOf(&all[i])
		for s, was := range m.marks() {
			switch {
			case !found[s].least:
			case was == marks[s]:
				found[s].at = all[i].At
			default:
				found[s].least = false
				open--
			}
		}
	}
	answered := last.Entry.Records
	for s := range found[:2] {
		o := &found[s]
		o.least = o.least && all[0].Recommendation.Decision > 1
		of := marks[s]
		if of == (mark{}) && s == 0 && answered.Incarnation != 0 {
			of = mark{uint64(answered.Incarnation), answered.Last} // another version remembers otherwise
		}
		switch {
		case of.of == 0:
			*o = origin{said: "the worker itself", at: last.At}
			continue
		case of == mark{uint64(answered.Incarnation), answered.Last} && answered.SentNs > 0:
			o.at, o.least = time.Unix(0, answered.SentNs), false
		}
		o.said = fmt.Sprintf("record %d of publisher %016x", of.number, of.of)
	}
	o := &found[2]
	o.said, o.least = fmt.Sprintf("%s of the queue", text.Plural(marks[2].number, "launch")), o.least && all[0].Recommendation.Decision > 1
	return origins{found[0], found[1], found[2]}
}

// AgeText is the age for people.
func (e *Evidence) AgeText() string {
	switch {
	case e.Age == nil:
		return "–"
	case e.Least:
		return "over " + fleetview.Ago(time.Duration(*e.Age*1e9))
	}
	return fleetview.Ago(time.Duration(*e.Age * 1e9))
}
