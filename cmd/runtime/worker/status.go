package worker

import (
	"time"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/decisions"
	"ringmaster/telemetry/decisionlog"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/decided"
	"ringmaster/telemetry/natsio/ownership"
)

// Status is what the subject <prefix>.status answers with, as JSON: what the actors
// count, and beside it what happened on the way to them and from them.
type Status struct {
	actors.Stats
	// RecordsRefused is every record and batch that was refused, by the edge before
	// the actors saw it, or by the actors.
	RecordsRefused  uint64            `json:"records_refused"`
	RefusedByReason map[string]uint64 `json:"refused_by_reason"`

	Ingest     natsio.IngestStats          `json:"ingest"`
	Outlet     natsio.OutletStats          `json:"outlet"`
	Work       *natsio.WorkStats           `json:"work,omitempty"`         // with a device
	Pools      map[string]natsio.WorkStats `json:"pools,omitempty"`        // what was taken of each
	Heap       *natsio.ResponderStats      `json:"heap,omitempty"`         // with a device
	Cancels    *natsio.ResponderStats      `json:"cancels,omitempty"`      // with a device
	Decisions  *decisions.Stats            `json:"decision_log,omitempty"` // where there is one
	Connection Connection                  `json:"connection"`
	Fleet      Fleet                       `json:"fleet"`
	Ring       *RingUse                    `json:"ring,omitempty"` // with a device
	Deciders   []Decider                   `json:"deciders"`       // this process's claim, then those of others
}

// RingUse is how full the ring is.
type RingUse struct {
	Pages     int       `json:"pages"`
	FreePages int       `json:"pages_free"`
	InFlight  int       `json:"launches_in_flight"`
	Building  int       `json:"kernels_building"`    // asked for and not built yet
	Lost      time.Time `json:"lost_since,omitzero"` // since when the device is lost; zero: it is there
}

// ringUse is how full the ring is now.
func (e *Engine) ringUse() *RingUse {
	books := e.ring.Stats()
	use := &RingUse{Pages: books.Pages, FreePages: books.FreePages, InFlight: books.InFlight, Building: books.Building}
	if lost := e.keeper.lostAt.Load(); lost != nil {
		use.Lost = *lost
	}
	return use
}

// Decider is what a process claims, with its incarnation in the form in which people meet it: 16 hexadecimal digits, which
// are the id of its service too.
type Decider struct {
	Incarnation decisionlog.ID `json:"incarnation"`
	ownership.Claim
}

// Fleet is the node's place among the processes that decide.
type Fleet struct {
	Role  Role   `json:"role"`
	Owner string `json:"owner,omitempty"` // the process that decides for the node's worker, if it has one
	// Stored is what became of decisions that were to be stored. Without it they count when they are made, because
	// of what Unstored says.
	Stored   *decided.Stats `json:"stored,omitempty"`
	Unstored string         `json:"unstored,omitempty"`
}

// status describes the fleet to a worker's node.
func (f *fleet) status(worker string) Fleet {
	s := Fleet{Role: f.role}
	if owner := f.members.Owner(worker); owner != nil && f.role != RoleDecideOnly {
		s.Owner = owner.Process
	}
	if f.stream != nil {
		stored := f.stream.Stats()
		s.Stored = &stored
	}
	if f.unstored != nil {
		s.Unstored = f.unstored.Error()
	}
	return s
}

// Connection is the connection to NATS as the status shows it.
type Connection struct {
	State            string    `json:"state"`
	Since            time.Time `json:"since"` // when it came or went
	Server           string    `json:"server"`
	ServerVersion    string    `json:"server_version"`
	Reconnects       uint64    `json:"reconnects"`
	SlowConsumers    uint64    `json:"slow_consumers"` // times a subscription dropped messages
	PermissionErrors uint64    `json:"permission_errors"`
	OtherErrors      uint64    `json:"other_errors"`
	LastError        string    `json:"last_error"`
}

// Status is the node's status now.
func (n *Node) Status() Status {
	refusals, c := n.conn.Refusals(), n.conn.Status()
	s := Status{
		Stats: n.system.Stats(), RefusedByReason: refusals.ByReason,
		Ingest: n.ingest.Stats(), Outlet: n.outlet.Stats(), Fleet: n.fleet.status(n.name),
		Connection: Connection{
			State: c.State.String(), Since: c.Since, Server: c.URL, ServerVersion: c.ServerVersion, Reconnects: c.Reconnects,
			SlowConsumers: c.SlowConsumers, PermissionErrors: c.PermissionErrors, OtherErrors: c.OtherErrors,
		},
	}
	for _, c := range n.members.Claims() {
		s.Deciders = append(s.Deciders, Decider{decisionlog.ID(c.Incarnation), c})
	}
	for _, count := range refusals.ByReason {
		s.RecordsRefused += count
	}
	if c.LastError != nil {
		s.Connection.LastError = c.LastError.Error()
	}
	if n.engine != nil {
		s.Ring = n.engine.ringUse()
	}
	if n.decisions != nil {
		logged := n.decisions.Stats()
		s.Decisions = &logged
	}
	if len(n.cancels) > len(n.pools) { // all have begun
		work, heap, cancels := n.work[0].Stats(), n.heap.Stats(), n.cancels[0].Stats()
		s.Work, s.Heap, s.Cancels = &work, &heap, &cancels
		for i, pool := range n.pools {
			if s.Pools == nil {
				s.Pools = make(map[string]natsio.WorkStats)
			}
			s.Pools[pool] = n.work[i+1].Stats()
		}
	}
	return s
}
