package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sort"
	"strings"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// replayCmd makes the decisions of a log again.
type replayCmd struct {
	natsFlags
	Logs    []string `arg:"" optional:"" name:"file" help:"Decision log; - is standard input. FILE.1, if it exists, is read before FILE. Two logs are compared with each other."`
	Stream  bool     `help:"Read the decision log from its JetStream stream."`
	Policy  string   `enum:"logged,standard,reference" default:"logged" help:"Ask this policy, standard or reference, instead of the logged one: the differences are the result, and the exit code is 0."`
	Explain uint64   `placeholder:"DECISION" help:"Instead, print what this decision was made from, and why."`
	Queue   string   `placeholder:"[WORKER.]QUEUE" help:"Only this queue."`
}

// Help is what --help adds to the flags.
func (replayCmd) Help() string {
	return `Every decision of a log is made again, without NATS and without a GPU, and compared byte for byte.
The exit code is 0 if all are the same, and 1 if any differ, the log is damaged or nothing is in it.`
}

// Run replays, compares or explains.
func (c *replayCmd) Run(ctx context.Context, std stdio, log *slog.Logger) error {
	sources := len(c.Logs)
	if c.Stream {
		sources++
	}
	if sources == 0 || sources > 2 {
		fmt.Fprintln(std.err, "ringmaster: replay: name one log to replay or two to compare: FILE, - or --stream")
		return exitError{2}
	}
	if sources == 2 && (c.Explain != 0 || c.Policy != "logged") {
		fmt.Fprintln(std.err, "ringmaster: replay: --explain and --policy go with one log")
		return exitError{2}
	}
	var logs []*logReader
	for _, path := range c.Logs {
		logs = append(logs, openLog(path, std.in))
	}
	if c.Stream {
		conn, err := c.dial(ctx, "ringmaster replay", log)
		if err != nil {
			return err
		}
		defer conn.Close()
		logs = append(logs, streamLog(ctx, conn))
	}
	for _, l := range logs {
		l.queue = c.Queue
		defer l.close()
	}
	out := bufio.NewWriter(std.out)
	defer out.Flush()
	switch {
	case len(logs) == 2:
		return compareLogs(out, logs[0], logs[1])
	case c.Explain != 0:
		return explainDecision(out, logs[0], c.Explain)
	}
	return c.replay(out, logs[0])
}

func (c *replayCmd) replay(out io.Writer, log *logReader) error {
	r := replayer{queues: make(map[string]*queueReplay), fields: make(map[string]uint64)}
	if c.Policy != "logged" {
		cfg := (&policyFlags{Policy: c.Policy}).config()
		r.other = &cfg
	}
	var e telemetry.DecisionEntry
	for {
		err := log.next(&e)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		r.entry(log.header(), &e)
	}
	fmt.Fprint(out, r.text(log, c.Policy))
	fmt.Fprint(out, log.problems())
	if r.entries == 0 {
		return fmt.Errorf("%s: no decisions to replay", log.name)
	}
	if log.damaged() || r.other == nil && r.differ() > 0 {
		return exitError{1}
	}
	return nil
}

// replayer makes decisions again and keeps what differs.
type replayer struct {
	other   *policy.Config // instead of the logged one, or nil
	queues  map[string]*queueReplay
	entries uint64

	fields map[string]uint64 // with another policy: decisions that differ in a field

	logged, again []byte // encodings, reused
}

// queueReplay is the result of replaying one queue.
type queueReplay struct {
	name        string
	incarnation uint64
	entries     uint64
	undecided   uint64
	missing     uint64 // numbers that the log skips
	different   uint64
	first       string // the first decision that differs
	fields      []telemetry.DecisionDifference

	last  uint64       // number
	after policy.State // that the last logged decision left
	own   policy.State // that the other policy left

	levels bool   // of directors
	queue  string // whose directors
	job    uint64 // of the last level
	level  uint32
}

// entry replays one decision.
func (r *replayer) entry(h *telemetry.DecisionHeader, e *telemetry.DecisionEntry) {
	if e.Director {
		r.level(h, e)
		return
	}
	q := r.queue(h, e.Worker+"."+e.Queue)
	continues := q.last > 0 && e.Decision == q.last+1 && e.Before == q.after
	if q.last > 0 && e.Decision > q.last+1 {
		q.missing += e.Decision - q.last - 1
	}
	cfg, before := &h.Config, e.Before
	if r.other != nil {
		cfg = r.other
		if continues { // else the state was lost, or taken back after a failed launch
			before = q.own
		}
	}
	again := decideAgain(cfg, e, before)
	q.last, q.after, q.own = e.Decision, e.After, again.After
	r.entries++
	if e.Undecided {
		q.undecided++
	}
	r.settle(q, e, &again, fmt.Sprintf("decision %d", e.Decision))
}

// settle counts a decision and keeps what differs.
func (r *replayer) settle(q *queueReplay, e, again *telemetry.DecisionEntry, place string) {
	q.entries++
	r.logged = telemetry.AppendDecision(r.logged[:0], e)
	r.again = telemetry.AppendDecision(r.again[:0], again)
	if string(r.logged) == string(r.again) {
		return
	}
	q.different++
	if q.different > 1 && r.other == nil {
		return
	}
	fields := telemetry.DiffDecisions(e, again)
	for _, f := range fields {
		r.fields[f.Field]++
	}
	if q.different == 1 {
		q.first, q.fields = place, fields
	}
}

func (r *replayer) queue(h *telemetry.DecisionHeader, name string) *queueReplay {
	q := r.queues[name]
	if q == nil {
		q = &queueReplay{name: name}
		r.queues[name] = q
	}
	if q.incarnation != h.Incarnation {
		q.incarnation, q.last = h.Incarnation, 0
	}
	return q
}

// decideAgain is the entry with the outcome that the same decision has now.
func decideAgain(cfg *policy.Config, e *telemetry.DecisionEntry, before policy.State) telemetry.DecisionEntry {
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
func (r *replayer) text(log *logReader, asked string) string {
	var b strings.Builder
	names := sortedKeys(r.queues)
	var rows [][]string
	queues := uint64(0)
	for _, name := range names {
		q := r.queues[name]
		if !q.levels || r.queues[q.queue] == nil {
			queues++
		}
		rows = append(rows, []string{name, grouped(q.entries), grouped(q.undecided), grouped(q.missing), grouped(q.different)})
	}
	fmt.Fprintf(&b, "%s: %s of %s\n", log.name, plural(r.entries, "decision"), plural(queues, "queue"))
	if len(rows) > 0 {
		b.WriteString(table([]string{"QUEUE", "DECISIONS", "WITHOUT LIMITS", "MISSING", "DIFFERENT"}, rows))
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
		fmt.Fprintf(&b, "the %s policy decides %s of %s differently\n", asked, grouped(n), grouped(r.entries))
		b.WriteString(r.tally())
	case n == 0:
		fmt.Fprintln(&b, "every decision replays byte for byte")
	default:
		fmt.Fprintf(&b, "%s of %s do not replay; listed is the first one of each queue\n", grouped(n), plural(r.entries, "decision"))
	}
	return b.String()
}

// tally counts the decisions that differ, by field, most frequent first. Reasons
// follow from the other fields and are left out.
func (r *replayer) tally() string {
	names := sortedKeys(r.fields)
	sort.SliceStable(names, func(i, j int) bool { return r.fields[names[i]] > r.fields[names[j]] })
	var rows [][]string
	for _, name := range names {
		if !strings.HasPrefix(name, "plan.reason") {
			rows = append(rows, []string{name, grouped(r.fields[name])})
		}
	}
	if len(rows) == 0 {
		return ""
	}
	return table([]string{"FIELD", "DECISIONS"}, rows)
}

// maxFields bounds the fields listed of one decision.
const maxFields = 8

// writeFields lists the fields in which a decision has two versions.
func writeFields(out io.Writer, queue, place string, fields []telemetry.DecisionDifference, a, b string) {
	for i, f := range fields {
		if i == maxFields {
			fmt.Fprintf(out, "%s: %s: and %s\n", queue, place, plural(uint64(len(fields)-i), "more field"))
			break
		}
		fmt.Fprintf(out, "%s: %s: %s: %s %s, %s %s\n", queue, place, f.Field, a, f.A, b, f.B)
	}
}

var errNoSuchDecision = errors.New("no such decision")
