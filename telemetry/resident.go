package telemetry

// ResidentAsk is what a request about the graphs on a worker's device asks for.
type ResidentAsk uint8

// Requests about resident graphs.
const (
	ResidentLoad   ResidentAsk = iota // take Data as the part of a graph file that begins at Offset
	ResidentList                      // answer which graphs are there
	ResidentDrop                      // free a graph
	ResidentRun                       // run an algorithm over a graph
	ResidentRead                      // answer a part of the last run's result
	ResidentCancel                    // end a run that is under way
	ResidentFacts                     // keep Data as the part of a dataflow problem's facts that begins at Offset, for one run
)

var residentAskNames = []string{ResidentLoad: "load", ResidentList: "list", ResidentDrop: "drop", ResidentRun: "run", ResidentRead: "read", ResidentCancel: "cancel", ResidentFacts: "facts"}

// String returns the wire name of the request.
func (a ResidentAsk) String() string { return nameOf(residentAskNames, uint8(a), "ask") }

// Bounds of resident records.
const (
	MaxGraphSources = 32                       // sources of one run
	MaxGraphPart    = MaxHeapWords * wordBytes // bytes of one part of a file or a result
	MaxJoinBytes    = 8192                     // bytes of a join's source
)

// Resident asks for something about the graphs that a queue has on its worker's
// device, and answers it. The package comment says which fields belong to which request.
type Resident struct {
	Ask         ResidentAsk
	Name        string // of the graph
	Offset      uint64 // bytes
	Total       uint64 // bytes
	Data        []byte // at most MaxGraphPart
	Directed    bool   // load: each line of a list is an edge one way
	Algorithm   string // run: bfs, sssp, cc, reach, flow or join
	Topology    string // run: of every level; "" or auto: as the policy decides
	DecideHost  bool   // run: levels are decided on the host
	Budget      uint64 // run: most bytes of device memory beside the graph; 0: no bound but the worker's
	HitCapacity uint32 // run: nodes; 0: all
	Result      uint64 // of a run, to read it by; in a request to run, what it can be canceled by
	Join        []byte // run join: what travels and how it is joined, as in its file; at most MaxJoinBytes
	Facts       uint64 // of facts that were sent, to run flow by
	Loops       bool   // load: edges of a list from a node to itself are kept
}

var residentSchema = newSchema(KindResident, nil,
	enum("ask", event, residentAskNames, func(r *Resident) any { return (*uint8)(&r.Ask) }).req(),
	text("name", event, func(r *Resident) any { return &r.Name }).to(MaxToken),
	u64("offset", event, "bytes", func(r *Resident) *uint64 { return &r.Offset }),
	u64("total", event, "bytes", func(r *Resident) *uint64 { return &r.Total }),
	list[Resident]("data", event, typeBytes, "-", 0, MaxGraphPart, func(r *Resident) any { return &r.Data }),
	flag("directed", event, func(r *Resident) any { return &r.Directed }),
	text("algorithm", event, func(r *Resident) any { return &r.Algorithm }).to(MaxToken),
	text("topology", event, func(r *Resident) any { return &r.Topology }).to(MaxToken),
	flag("decide_host", event, func(r *Resident) any { return &r.DecideHost }),
	u64("budget_bytes", event, "bytes", func(r *Resident) *uint64 { return &r.Budget }),
	u32("hit_capacity", event, "nodes", func(r *Resident) *uint32 { return &r.HitCapacity }),
	u64("result", event, "-", func(r *Resident) *uint64 { return &r.Result }),
	list[Resident]("join", event, typeBytes, "-", 0, MaxJoinBytes, func(r *Resident) any { return &r.Join }),
	u64("facts", event, "-", func(r *Resident) *uint64 { return &r.Facts }),
	flag("loops", event, func(r *Resident) any { return &r.Loops }),
)

// AppendResident appends a resident record with all its fields.
func AppendResident(dst []byte, f Form, h *Header, r *Resident) []byte {
	return appendRecord(dst, f, h, residentSchema, r)
}
