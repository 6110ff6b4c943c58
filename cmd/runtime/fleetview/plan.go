package fleetview

import (
	"fmt"
	"strings"
	"time"

	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
)

// Plan is what a recommendation says of a launch, without the values that it was made from.
type Plan struct {
	Topology string `json:"topology"` // "none" without a graph, "" without a plan
	Mode     string `json:"execution_mode"`
	Launch   string `json:"launch_mode"`
	Width    uint32 `json:"workgroup_size_x"`
	Groups   uint32 `json:"groups"`
	Chunk    uint32 `json:"claim_chunk"`
	Depth    uint32 `json:"batch_depth"`
	InFlight uint32 `json:"in_flight"`
}

// PlanOf is the plan of a recommendation, none where it has an error. Its words are clean.
func PlanOf(r *telemetry.Recommendation) Plan {
	if r.Error != "" {
		return Plan{}
	}
	return Plan{
		Topology: word(r.Topology), Mode: word(r.ExecutionMode), Launch: word(r.LaunchMode),
		Width: r.WorkgroupSizeX, Groups: r.Groups, Chunk: r.ClaimChunk, Depth: r.BatchDepth, InFlight: r.InFlight,
	}
}

// words are those that runtimes of this version say, which need no cleaning and no memory.
var words = map[string]string{
	"none": "none", "empty": "empty", "sparse_frontier": "sparse_frontier", "hybrid_frontier": "hybrid_frontier",
	"dense_frontier": "dense_frontier", "fused_dense": "fused_dense", "memory_constrained": "memory_constrained",
	"interpreter": "interpreter", "jit": "jit", "wave": "wave", "lease": "lease",
}

// word is a word of a recommendation without what a terminal or a browser would obey.
func word(s string) string {
	if known, ok := words[s]; ok {
		return known
	}
	return text.Plain(s)
}

// Walk is the plan's topology in one word, "" for a queue without a graph.
func (p *Plan) Walk() string {
	if p.Topology == "none" {
		return ""
	}
	short, _, _ := strings.Cut(p.Topology, "_")
	return short
}

// Kernel is the kernel of a plan and how its launches reach the device, in a word or two.
func (p *Plan) Kernel() string {
	if p.Launch == "lease" {
		return p.Mode + " lease"
	}
	return p.Mode
}

// Geometry is the width of a workgroup by the number of workgroups.
func (p *Plan) Geometry() string {
	if p.Width == 0 {
		return ""
	}
	return fmt.Sprintf("%d×%d", p.Width, p.Groups)
}

const (
	pastStep  = 10 * time.Second
	pastSteps = 60 // ten minutes
)

// step is what held at the end of one step of time.
type step struct {
	plan Plan
	kind stepKind
}

type stepKind uint8

const (
	unheard stepKind = iota // nothing is known of that time
	planned
	refusing // decided, and no plan
	lapsed   // nobody decided any more
)

// past is which plans a queue had in the last ten minutes: the last one of each step.
type past struct {
	steps  [pastSteps]step
	newest int64 // number of the newest step, in steps since 1970
	until  time.Time
}

func stepOf(at time.Time) int64 { return at.Unix() / int64(pastStep/time.Second) }

// reach fills the steps until now with what was known before: the plan for as long as it held.
func (p *past) reach(now time.Time) {
	to := stepOf(now)
	if to-p.newest > pastSteps {
		last := p.steps[p.newest%pastSteps]
		p.newest = to - pastSteps
		p.steps[p.newest%pastSteps] = last
	}
	for p.newest < to {
		next := p.steps[p.newest%pastSteps]
		p.newest++
		begins := time.Unix(p.newest*int64(pastStep/time.Second), 0)
		if next.kind != unheard && begins.After(p.until) {
			next = step{kind: lapsed}
		}
		p.steps[p.newest%pastSteps] = next
	}
}

// hold notes that a plan, or that there is none, holds from now on until a moment.
func (p *past) hold(now, until time.Time, plan Plan, failed bool) {
	p.reach(now)
	kind := planned
	if failed {
		kind = refusing
	}
	p.steps[p.newest%pastSteps] = step{plan: plan, kind: kind}
	p.until = until
}

// Span is a time in which something was the same, to within ten seconds.
type Span struct {
	From  time.Time
	To    time.Time
	Label string // a word; "" where nothing is known
}

// Labels of spans without a plan.
const (
	NoPlan  = "no plan"
	Expired = "expired"
)

// spans are the last ten minutes as labels, the oldest first, without what is not known at the begin.
func (p *past) spans(now time.Time, label func(*Plan) string) (out []Span) {
	p.reach(now)
	for i := int64(pastSteps - 1); i >= 0; i-- {
		s := &p.steps[(p.newest-i+pastSteps)%pastSteps]
		name := s.label(label)
		from := time.Unix((p.newest-i)*int64(pastStep/time.Second), 0)
		to := from.Add(pastStep)
		if to.After(now) {
			to = now
		}
		switch last := len(out) - 1; {
		case last < 0 && s.kind == unheard:
		case last >= 0 && out[last].Label == name:
			out[last].To = to
		default:
			out = append(out, Span{From: from, To: to, Label: name})
		}
	}
	return out
}

func (s *step) label(of func(*Plan) string) string {
	switch s.kind {
	case planned:
		return of(&s.plan)
	case refusing:
		return NoPlan
	case lapsed:
		return Expired
	}
	return ""
}

// marks of a band, one for each step: the kernel of a queue without a graph, the walk of one with a graph.
var marks = map[string]byte{
	"interpreter": 'i', "jit": 'j', "empty": '0', "sparse_frontier": 's', "hybrid_frontier": 'h', "dense_frontier": 'd', "fused_dense": 'f', "memory_constrained": 'm',
}

// Marks of steps without a plan, and of plans whose words this version does not know.
const (
	MarkUnheard = ' '
	MarkNoPlan  = '!'
	MarkExpired = 'X'
	MarkOther   = '?'
)

// band is the last ten minutes as one letter for each ten seconds, the oldest first.
func (p *past) band(now time.Time) string {
	p.reach(now)
	var b [pastSteps]byte
	for i := range b {
		s := &p.steps[(p.newest+1+int64(i))%pastSteps]
		b[i] = s.mark()
	}
	return string(b[:])
}

func (s *step) mark() byte {
	switch s.kind {
	case unheard:
		return MarkUnheard
	case refusing:
		return MarkNoPlan
	case lapsed:
		return MarkExpired
	}
	of := s.plan.Topology
	if of == "none" {
		of = s.plan.Mode
	}
	if mark, ok := marks[of]; ok {
		return mark
	}
	return MarkOther
}
