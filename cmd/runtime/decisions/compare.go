package decisions

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/decisionlog"
)

// Comparison says what another policy launches on the inputs of a log, beside what was
// launched by the logged decisions. Two decisions are the same here if they launch the
// same: what they were made from may differ.
type Comparison struct {
	Log       string            `json:"log"`
	Policy    string            `json:"policy"`
	Decisions uint64            `json:"decisions"`
	Different uint64            `json:"different"`
	Queues    []QueueComparison `json:"queues"`
	Problems  string            `json:"problems,omitempty"` // damage and gaps of the log, in lines
	Whole     bool              `json:"whole"`              // nothing of the log is damaged
}

// QueueComparison is the comparison of one queue's decisions.
type QueueComparison struct {
	Queue     string      `json:"queue"` // WORKER.QUEUE
	Decisions uint64      `json:"decisions"`
	Different uint64      `json:"different"`
	First     *Divergence `json:"first,omitempty"` // nil: there is none
	Logged    Course      `json:"logged"`
	Other     Course      `json:"other"`
	Unplaced  uint64      `json:"unplaced_decisions"` // of which nobody knows how long they stood
}

// Course is what a queue's plans did over time.
type Course struct {
	Changes uint64                   `json:"changes"` // decisions that launch something else than the queue's decision before
	Kernel  map[string]time.Duration `json:"kernel_ns"`
	Launch  map[string]time.Duration `json:"launch_ns"`
	Walk    map[string]time.Duration `json:"walk_ns"`

	known  bool // a plan was made
	launch policy.Launch
}

// Divergence is the first decision of a queue that launches something else.
type Divergence struct {
	Decision  uint64         `json:"decision"`
	Publisher decisionlog.ID `json:"publisher"`
	First     uint64         `json:"first_record"`
	Last      uint64         `json:"last_record"`
	Sent      time.Time      `json:"sent,omitzero"`
	Launches  []Contrast     `json:"launches"`
	Why       []Contrast     `json:"why"` // rules that say something else, and what else is remembered, as planned lengths and counts of dwell
}

// Contrast is one thing that is different on the two sides.
type Contrast struct {
	What   string `json:"what"`
	Logged string `json:"logged"`
	Other  string `json:"other"`
}

// noPlan stands in the place of a mode where a decision has no plan.
const noPlan = "no plan"

// Compare makes every decision of a log again by another policy. Levels of graph jobs
// launch nothing by themselves and are left out.
func Compare(log *Source, name string, other policy.Config) (*Comparison, error) {
	compared := make(map[string]*compared)
	err := Walk(log, &other, func(_ *policy.Config, logged, other *decisionlog.Entry, follows bool) {
		queue := logged.Worker + "." + logged.Queue
		c := compared[queue]
		if c == nil {
			c = newCompared(queue)
			compared[queue] = c
		}
		c.take(logged, other, follows)
	})
	if err != nil {
		return nil, err
	}
	c := &Comparison{Log: log.name, Policy: name, Problems: log.Problems(), Whole: !log.damaged()}
	for _, queue := range slices.Sorted(maps.Keys(compared)) {
		q := compared[queue].QueueComparison
		c.Decisions += q.Decisions
		c.Different += q.Different
		c.Queues = append(c.Queues, q)
	}
	if c.Decisions == 0 {
		return nil, fmt.Errorf("%s%s: no decisions to compare", c.Problems, log.name)
	}
	return c, nil
}

// Walk makes every decision of a log again by another policy, or by the logged one if that is nil, and
// visits both. Levels of graph jobs launch nothing by themselves and are left out. follows says that
// the decision is the one after the last of its queue.
func Walk(log *Source, other *policy.Config, visit func(by *policy.Config, logged, again *decisionlog.Entry, follows bool)) error {
	r := replayer{other: other, queues: make(map[string]*queueReplay), fields: make(map[string]uint64)}
	var e decisionlog.Entry
	for {
		switch err := log.next(&e); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case e.Director:
			continue
		}
		_, again, follows := r.again(log.header(), &e)
		visit(&log.header().Config, &e, &again, follows)
	}
}

// compared is a queue's comparison while it is made.
type compared struct {
	QueueComparison
	records decisionlog.Records // of the last decision
}

func newCompared(queue string) *compared {
	course := func() Course {
		return Course{Kernel: make(map[string]time.Duration), Launch: make(map[string]time.Duration), Walk: make(map[string]time.Duration)}
	}
	return &compared{QueueComparison: QueueComparison{Queue: queue, Logged: course(), Other: course()}}
}

// take adds a decision; follows says that it is the one after the last.
func (c *compared) take(logged, other *decisionlog.Entry, follows bool) {
	if c.Decisions > 0 {
		stood, known := between(c.records, logged.Records)
		if known && follows {
			c.Logged.stood(stood)
			c.Other.stood(stood)
		} else {
			c.Unplaced++
		}
	}
	c.records = logged.Records
	c.Decisions++
	a, b := c.Logged.take(logged), c.Other.take(other)
	if a == b && logged.Error == other.Error {
		return
	}
	if c.Different++; c.Different == 1 {
		c.First = diverge(logged, other, a, b)
	}
}

// between is the time from one decision's newest record to the next one's. It is known
// where one clock gave both.
func between(a, b decisionlog.Records) (time.Duration, bool) {
	known := a.Incarnation == b.Incarnation && a.SentNs > 0 && b.SentNs >= a.SentNs
	return time.Duration(b.SentNs - a.SentNs), known
}

// stood adds the time that the last plan stood for.
func (c *Course) stood(d time.Duration) {
	kernel, launch, walk := noPlan, noPlan, noPlan
	if c.known {
		kernel, launch, walk = c.launch.Mode.String(), c.launch.LaunchMode.String(), c.launch.Walk.String()
	}
	c.Kernel[kernel] += d
	c.Launch[launch] += d
	c.Walk[walk] += d
}

// take moves on to a decision, and returns what it launches: nothing without a plan.
func (c *Course) take(e *decisionlog.Entry) policy.Launch {
	var launch policy.Launch
	planned := e.Error == "" && !e.Undecided
	if planned {
		launch = e.Plan.Launch(&e.After)
	}
	if c.known && planned && launch != c.launch {
		c.Changes++
	}
	c.known, c.launch = planned, launch
	return launch
}

// diverge says in what two decisions differ, and by which rules.
func diverge(logged, other *decisionlog.Entry, a, b policy.Launch) *Divergence {
	r := logged.Records
	d := &Divergence{Decision: logged.Decision, Publisher: r.Incarnation, First: r.First, Last: r.Last}
	if r.SentNs > 0 {
		d.Sent = time.Unix(0, r.SentNs).UTC()
	}
	d.launches("plan", orPlan(logged.Error), orPlan(other.Error))
	d.launches("geometry", a.Geometry.String(), b.Geometry.String())
	d.launches("in flight", fmt.Sprint(a.InFlight), fmt.Sprint(b.InFlight))
	d.launches("launch", a.LaunchMode.String(), b.LaunchMode.String())
	d.launches("kernel", a.Mode.String(), b.Mode.String())
	d.launches("walk", a.Walk.String(), b.Walk.String())
	was, is := reasonsOf(logged), reasonsOf(other)
	for i := range max(len(was), len(is)) {
		x, y := reasonAt(was, i), reasonAt(is, i)
		if x != y {
			d.Why = append(d.Why, Contrast{What: fmt.Sprintf("rule %d", i+1), Logged: x, Other: y})
		}
	}
	for _, f := range decisionlog.Diff(logged, other) {
		if name, ok := strings.CutPrefix(f.Name, "after."); ok {
			d.Why = append(d.Why, Contrast{What: "state " + name, Logged: orNothing(f.A), Other: orNothing(f.B)})
		}
	}
	return d
}

func (d *Divergence) launches(what, logged, other string) {
	if logged != other {
		d.Launches = append(d.Launches, Contrast{What: what, Logged: logged, Other: other})
	}
}

// orPlan is the error of a decision that has no plan.
func orPlan(err string) string {
	if err == "" {
		return "made"
	}
	return err
}

func reasonsOf(e *decisionlog.Entry) []policy.Reason {
	return e.Plan.Reasons[:min(int(e.Plan.ReasonCount), len(e.Plan.Reasons))]
}

// reasonAt is a reason in words.
func reasonAt(reasons []policy.Reason, i int) string {
	if i >= len(reasons) {
		return "none"
	}
	r := reasons[i]
	held := ""
	if r.Held {
		held = ", held by hysteresis"
	}
	return fmt.Sprintf("%v: value %d, threshold %d%s", r.Rule, r.Value, r.Threshold, held)
}
