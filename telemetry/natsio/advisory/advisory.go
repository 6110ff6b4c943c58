package advisory

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"ringmaster/telemetry"
	"ringmaster/telemetry/complaint"
	"ringmaster/telemetry/natsio"
)

// Kind is what an event is about, and the token of its subject.
type Kind string

// Kinds.
const (
	NodeJoined      Kind = "node_joined"      // a process serves
	NodeDraining    Kind = "node_draining"    // a process takes nothing new, and ends when it has finished what it holds
	NodeLost        Kind = "node_lost"        // a process that decided ended without draining, or answers no more; Process and Why say which and how
	TookOver        Kind = "took_over"        // a process decides for a worker's queues after another one had
	DecisionRefused Kind = "decision_refused" // the stream had another decision in place of this one, which does not count
	DecisionsLost   Kind = "decisions_lost"   // the stream of decisions is away from this process
	DecisionsFound  Kind = "decisions_found"  // it is there again
	BatchSetAside   Kind = "batch_set_aside"  // a batch was delivered too often without an outcome, see ringmaster work
	QueueCrowded    Kind = "queue_crowded"    // a batch is refused, as as much of its queue waits as may
	typePrefix           = "ringmaster.advisory.v1."
)

// Kinds are all kinds, in the order of the documentation.
func Kinds() []Kind {
	return []Kind{NodeJoined, NodeDraining, NodeLost, TookOver, DecisionRefused, DecisionsLost, DecisionsFound, BatchSetAside, QueueCrowded}
}

// Event is what happened. Of one kind, worker and queue there is one a minute; those that a process left out are counted
// in the next.
type Event struct {
	Type string    `json:"type"` // ringmaster.advisory.v1. and the kind
	ID   string    `json:"id"`   // 16 hexadecimal digits that no other event has
	Time time.Time `json:"timestamp"`
	Node string    `json:"node"` // id of the service of the process that tells

	Worker   string `json:"worker"`                    // whose it is: of events about processes, that of the one that tells
	Queue    string `json:"queue,omitzero"`            // of took_over one of several
	Decision uint64 `json:"decision,string,omitempty"` // number of the decision
	Batch    string `json:"batch,omitzero"`            // name of the batch, as its submitter chose it
	Process  string `json:"process,omitzero"`          // in words: what joined, drains or is lost
	Why      string `json:"why,omitzero"`
	LeftOut  uint64 `json:"left_out,omitzero"` // events like this one that were not told
}

// Teller tells the events of one process. The zero value, and nil, tell nobody.
type Teller struct {
	conn *natsio.Conn
	pace *complaint.Pace
}

// New returns a Teller that publishes on a connection.
func New(conn *natsio.Conn) *Teller { return &Teller{conn: conn, pace: complaint.NewPace()} }

// Tell publishes an event, of which kind, time, node and id are filled in, unless one like it was told within the last
// minute. It does not block. While the connection is away nothing is told: news of an outage would come after it.
func (t *Teller) Tell(kind Kind, e Event) {
	if t == nil || t.conn == nil || !t.conn.NATS().IsConnected() {
		return
	}
	queue := e.Queue
	if kind == TookOver {
		queue = "" // who takes a worker over takes over all of its queues
	}
	leftOut, due := t.pace.Due(string(kind), e.Worker, queue)
	if !due {
		return
	}
	e.Type, e.ID, e.Node, e.Time, e.LeftOut = typePrefix+string(kind), id(telemetry.NewIncarnation()), id(t.conn.Incarnation()), time.Now().UTC(), leftOut
	e.Batch, e.Process, e.Why = shown(e.Batch), shown(e.Process), shown(e.Why)
	text, err := json.Marshal(&e)
	if err != nil {
		panic("bug: " + err.Error()) // of texts and numbers only
	}
	_ = t.conn.PublishRequest(subject(t.conn.Subjects(), kind, e.Worker), "", text) // nobody is told while the connection is away
}

// subject is where events of a kind are told: about a worker, or a pool's work, on `<prefix>.advisory.<kind>.<worker>`.
func subject(s telemetry.Subjects, kind Kind, worker string) string {
	return s.Root() + ".advisory." + string(kind) + "." + worker
}

func id(n uint64) string { return fmt.Sprintf("%016x", n) }

// shown is a text of the bus as it may stand on somebody's terminal: short, and without what moves a cursor.
func shown(s string) string {
	if len(s) > telemetry.MaxText {
		s = s[:telemetry.MaxText]
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}
