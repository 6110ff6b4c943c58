package decisions

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"ringmaster/cmd/runtime/text"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/decisionlog"
)

// Question is what Replay asks of a log.
type Question struct {
	// Policy decides instead of the logged one, if it is not nil. What differs is then
	// the answer and not a failure.
	Policy *policy.Config
	Name   string // of Policy, for people
}

// Replay makes every decision of a log again, prints what differs, and reports whether
// the log is whole and, by its own policy, every decision came out the same. The error
// says why there is nothing to replay.
func Replay(out io.Writer, log *Source, q Question) (same bool, err error) {
	r := replayer{other: q.Policy, queues: make(map[string]*queueReplay), fields: make(map[string]uint64)}
	var e decisionlog.Entry
	for {
		err := log.next(&e)
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, err
		}
		r.entry(log.header(), &e)
	}
	fmt.Fprint(out, r.text(log, q.Name))
	fmt.Fprint(out, log.Problems())
	if r.entries == 0 {
		return false, fmt.Errorf("%s: no decisions to replay", log.name)
	}
	return !log.damaged() && (r.other != nil || r.differ() == 0), nil
}

// replayer makes decisions again and keeps what differs.
type replayer struct {
	other   *policy.Config // instead of the logged one, or nil
	queues  map[string]*queueReplay
	entries uint64

	fields map[string]uint64 // with another policy: decisions that differ in a field
}

// queueReplay is the result of replaying one queue.
type queueReplay struct {
	incarnation decisionlog.ID
	entries     uint64
	undecided   uint64
	missing     uint64 // numbers that the log skips
	different   uint64
	first       string // the first decision that differs
	fields      []decisionlog.Difference

	last  uint64       // number
	after policy.State // that the last logged decision left
	own   policy.State // that the other policy left

	levels bool   // of directors
	queue  string // whose directors
	job    uint64 // of the last level
	level  uint32
}

// entry replays one decision.
func (r *replayer) entry(h *decisionlog.Header, e *decisionlog.Entry) {
	if e.Director {
		r.level(h, e)
		return
	}
	q, again, _ := r.again(h, e)
	r.entries++
	if e.Undecided {
		q.undecided++
	}
	r.settle(q, e, &again, fmt.Sprintf("decision %d", e.Decision))
}

// again makes a decision again, from the state that the policy asked now has; follows says
// that the log has the queue's decision before it.
func (r *replayer) again(h *decisionlog.Header, e *decisionlog.Entry) (q *queueReplay, again decisionlog.Entry, follows bool) {
	q = r.queue(h, e.Worker+"."+e.Queue)
	follows = q.last > 0 && e.Decision == q.last+1
	if q.last > 0 && e.Decision > q.last+1 {
		q.missing += e.Decision - q.last - 1
	}
	cfg, before := &h.Config, e.Before
	if r.other != nil {
		cfg = r.other
		if follows && e.Before == q.after { // else the state was lost, or taken back after a failed launch
			before = q.own
		}
	}
	again = decideAgain(cfg, e, before)
	q.last, q.after, q.own = e.Decision, e.After, again.After
	return q, again, follows
}

// settle counts a decision and keeps what differs.
func (r *replayer) settle(q *queueReplay, e, again *decisionlog.Entry, place string) {
	q.entries++
	if *e == *again {
		return
	}
	q.different++
	if q.different > 1 && r.other == nil {
		return
	}
	fields := decisionlog.Diff(e, again)
	for _, f := range fields {
		r.fields[f.Name]++
	}
	if q.different == 1 {
		q.first, q.fields = place, fields
	}
}

func (r *replayer) queue(h *decisionlog.Header, name string) *queueReplay {
	q := r.queues[name]
	if q == nil {
		q = &queueReplay{}
		r.queues[name] = q
	}
	if q.incarnation != h.Incarnation {
		q.incarnation, q.last = h.Incarnation, 0
	}
	return q
}

// decideAgain is the entry with the outcome that the same decision has now.
func decideAgain(cfg *policy.Config, e *decisionlog.Entry, before policy.State) decisionlog.Entry {
	again := *e
	if e.Undecided {
		again.Plan, again.After = policy.Recommendation{}, e.Before
		return again
	}
	var err error
	again.Plan, again.After, err = policy.Decide(cfg, &again.Request, before)
	again.Error = ""
	if err != nil {
		again.Error = err.Error()
	}
	return again
}

func (r *replayer) differ() (n uint64) {
	for _, q := range r.queues {
		n += q.different
	}
	return n
}

// text is the summary for people.
func (r *replayer) text(log *Source, asked string) string {
	var b strings.Builder
	names := slices.Sorted(maps.Keys(r.queues))
	var rows [][]string
	queues := uint64(0)
	for _, name := range names {
		q := r.queues[name]
		if !q.levels || r.queues[q.queue] == nil {
			queues++
		}
		rows = append(rows, []string{name, text.Grouped(q.entries), text.Grouped(q.undecided), text.Grouped(q.missing), text.Grouped(q.different)})
	}
	fmt.Fprintf(&b, "%s: %s of %s\n", log.name, text.Plural(r.entries, "decision"), text.Plural(queues, "queue"))
	if len(rows) > 0 {
		b.WriteString(text.Table([]string{"QUEUE", "DECISIONS", "WITHOUT LIMITS", "MISSING", "DIFFERENT"}, rows))
	}
	replayed := "replayed"
	if r.other != nil {
		replayed = asked
	}
	for _, name := range names {
		q := r.queues[name]
		writeFields(&b, name, q.first, q.fields, "logged", replayed)
	}
	switch n := r.differ(); {
	case r.entries == 0:
	case r.other != nil:
		fmt.Fprintf(&b, "the %s policy decides %s of %s differently\n", asked, text.Grouped(n), text.Grouped(r.entries))
		b.WriteString(r.tally())
	case n == 0:
		fmt.Fprintln(&b, "every decision replays byte for byte")
	default:
		fmt.Fprintf(&b, "%s of %s do not replay; listed is the first one of each queue\n", text.Grouped(n), text.Plural(r.entries, "decision"))
	}
	return b.String()
}

// tally counts the decisions that differ, by field, most frequent first. Reasons
// follow from the other fields and are left out.
func (r *replayer) tally() string {
	names := slices.Sorted(maps.Keys(r.fields))
	sort.SliceStable(names, func(i, j int) bool { return r.fields[names[i]] > r.fields[names[j]] })
	var rows [][]string
	for _, name := range names {
		if !strings.HasPrefix(name, "plan.reason") {
			rows = append(rows, []string{name, text.Grouped(r.fields[name])})
		}
	}
	if len(rows) == 0 {
		return ""
	}
	return text.Table([]string{"FIELD", "DECISIONS"}, rows)
}

// maxFields bounds the fields listed of one decision.
const maxFields = 8

// writeFields lists the fields in which a decision has two versions.
func writeFields(out io.Writer, queue, place string, fields []decisionlog.Difference, a, b string) {
	for i, f := range fields {
		if i == maxFields {
			fmt.Fprintf(out, "%s: %s: and %s\n", queue, place, text.Plural(uint64(len(fields)-i), "more field"))
			break
		}
		fmt.Fprintf(out, "%s: %s: %s: %s %s, %s %s\n", queue, place, f.Name, a, orNothing(f.A), b, orNothing(f.B))
	}
}

// orNothing is a value of a difference for people.
func orNothing(v string) string {
	if v == "-" {
		return "nothing"
	}
	return text.Plain(v)
}
