package worker

import (
	"cmp"
	"slices"
	"time"

	"ringmaster/actors"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/natsio"
)

// State is what a process knows of its queues now, as its service tells it.
type State struct {
	Node     string    `json:"node"` // id of the process's service
	Worker   string    `json:"worker"`
	Version  string    `json:"version"`
	At       time.Time `json:"at"`
	BeatS    float64   `json:"beat_age_s"`      // since the main loop turned last
	Wrong    []string  `json:"wrong"`           // what keeps the process from its work, as /readyz says it
	Refused  uint64    `json:"records_refused"` // records and batches, since it began
	Role     Role      `json:"role"`
	Draining bool      `json:"draining"`
	Device   *Capacity `json:"device,omitempty"` // nil where the process executes nothing
	Queues   []Queue   `json:"queues"`           // those of which something was heard last, first
	LeftOut  int       `json:"queues_left_out"`  // beyond maxStateQueues

	MaxDeliveries uint64  `json:"max_deliveries"`   // of a batch before it is set aside, 0 for no bound
	Batches       []Batch `json:"batches_in_hand"`  // without an outcome, those that were taken first, first
	NotListed     int     `json:"batches_left_out"` // beyond maxStateBatches
}

// Batch is a batch that a process has in hand.
type Batch struct {
	Taker      string  `json:"worker"` // or pool.NAME
	Queue      string  `json:"queue"`
	Sequence   uint64  `json:"sequence,string"` // in the stream of batches
	Deliveries uint64  `json:"deliveries"`      // times that the server has delivered it, to any process
	TakenS     float64 `json:"taken_s"`         // seconds ago
	Held       bool    `json:"held"`            // for its queue has too much to do, or is stopped
}

// Capacity is a device, what a plan on it may have, and how full its ring is.
type Capacity struct {
	Name         string  `json:"name"`
	Software     bool    `json:"software"`
	MaxWidth     uint32  `json:"max_workgroup_size_x"`
	MaxGroups    uint32  `json:"max_workgroups_per_dimension"`
	MaxThreads   uint32  `json:"max_invocations_per_workgroup"`
	MemoryBudget uint64  `json:"memory_budget_bytes"` // 0 for none
	Pages        int     `json:"ring_pages"`
	FreePages    int     `json:"ring_pages_free"`
	InFlight     int     `json:"launches_in_flight"`
	Building     int     `json:"kernels_building"`
	LostS        float64 `json:"lost_s,omitzero"` // for how long the device has been lost; left out while it is there
}

// Queue is one queue as a process knows it. Ages are seconds; they are left out where there was nothing.
type Queue struct {
	Worker    string          `json:"worker"`
	Queue     string          `json:"queue"`
	RecordS   *float64        `json:"record_age_s,omitempty"`   // of the newest record of any kind
	DecisionS *float64        `json:"decision_age_s,omitempty"` // of the decision
	Decision  uint64          `json:"decision,string"`          // 0 before the first
	Standing  string          `json:"standing,omitzero"`        // how decisions count, as in the status
	Why       string          `json:"why,omitzero"`             // there is no plan, or decisions are not stored
	Plan      policy.Geometry `json:"plan"`
	InFlight  uint32          `json:"in_flight"` // most launches under way
	Mode      string          `json:"execution_mode"`
	Topology  string          `json:"topology"`
	Length    uint32          `json:"queue_len"`     // that the decision answers
	Pending   uint64          `json:"slots_pending"` // submitted here and not finished
	Batches   uint64          `json:"batches_stored"`
	Launches  uint64          `json:"launches"`
	Failed    uint64          `json:"failed_launches"`
	Halted    bool            `json:"halted"`  // after launches that failed in a row
	Stopped   bool            `json:"stopped"` // after repeated panics
}

// Bounds of an answer: a queue takes up to 700 bytes and a batch up to 250, and a server takes a message of 1 MiB.
const (
	maxStateQueues  = 1000
	maxStateBatches = 1000
)

// stateOf is the state that a reading shows, of the process whose service has an id.
func stateOf(r *Reading, id string) State {
	s := State{
		Node: id, Worker: r.Worker, At: r.At.UTC(), BeatS: r.At.Sub(r.BeatAt).Seconds(), Wrong: []string{}, Refused: r.RecordsRefused,
		Role: r.Fleet.Role, Draining: r.Closing, Queues: []Queue{},
	}
	if r.Ring != nil {
		s.Device = &Capacity{
			Name: r.Device, Software: r.Software, MaxWidth: r.Limits.MaxWorkgroupSizeX, MaxGroups: r.Limits.MaxWorkgroupsPerDimension,
			MaxThreads: r.Limits.MaxInvocationsPerWorkgroup, MemoryBudget: r.Memory,
			Pages: r.Ring.Pages, FreePages: r.Ring.FreePages, InFlight: r.Ring.InFlight, Building: r.Ring.Building,
		}
		if !r.Ring.Lost.IsZero() {
			s.Device.LostS = r.At.Sub(r.Ring.Lost).Seconds()
		}
	}
	queues := slices.Clone(r.Queues)
	slices.SortStableFunc(queues, func(a, b actors.QueueStatus) int { return b.HeardAt.Compare(a.HeardAt) })
	s.LeftOut = max(len(queues)-maxStateQueues, 0)
	for i := range queues[:len(queues)-s.LeftOut] {
		s.Queues = append(s.Queues, queueOf(r, &queues[i]))
	}
	return s
}

// list tells which batches a process has in hand at an instant.
func (s *State) list(at time.Time, inHand []natsio.InHand) {
	slices.SortFunc(inHand, func(a, b natsio.InHand) int {
		return cmp.Or(a.Taken.Compare(b.Taken), cmp.Compare(a.Sequence, b.Sequence))
	})
	s.NotListed = max(len(inHand)-maxStateBatches, 0)
	s.Batches = make([]Batch, 0, len(inHand)-s.NotListed)
	for _, b := range inHand[:len(inHand)-s.NotListed] {
		s.Batches = append(s.Batches, Batch{b.Taker, b.Queue, b.Sequence, b.Deliveries, at.Sub(b.Taken).Seconds(), b.Held})
	}
}

func queueOf(r *Reading, of *actors.QueueStatus) Queue {
	plan := &of.Recommendation
	q := Queue{
		Worker: of.Worker, Queue: of.Queue, RecordS: age(r.At, of.HeardAt), DecisionS: age(r.At, of.DecidedAt),
		Standing: of.Standing.State, Pending: of.SlotsPending, Launches: of.Launches, Failed: of.FailedLaunches, Halted: of.Halted, Stopped: of.Stopped,
		Why: of.Standing.Why,
	}
	if of.Worker == r.Worker {
		q.Batches = r.Waiting[of.Queue]
	}
	if !of.Decided {
		return q
	}
	q.Why = cmp.Or(plan.Error, q.Why)
	q.Decision, q.Mode, q.Topology, q.Length, q.InFlight = plan.Decision, plan.ExecutionMode, plan.Topology, plan.QueueLen, plan.InFlight
	q.Plan = policy.Geometry{Width: plan.WorkgroupSizeX, Groups: plan.Groups, Chunk: plan.ClaimChunk, Depth: plan.BatchDepth}
	return q
}

// age is how long ago something was, nil if it never was.
func age(now, at time.Time) *float64 {
	if at.IsZero() {
		return nil
	}
	s := now.Sub(at).Seconds()
	return &s
}
