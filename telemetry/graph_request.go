package telemetry

// GraphOp is what a request about the graphs on a worker's device asks for.
type GraphOp uint8

// Requests about graphs on a device.
const (
	GraphLoad   GraphOp = iota // load the graph file that the object store has as Object
	GraphList                  // answer which graphs are there
	GraphDrop                  // free a graph
	GraphRun                   // run an algorithm over a graph
	GraphRead                  // answer a part of the last run's result
	GraphCancel                // end a run that is under way
)

var graphOpNames = []string{GraphLoad: "load", GraphList: "list", GraphDrop: "drop", GraphRun: "run", GraphRead: "read", GraphCancel: "cancel"}

// String returns the wire name of the request.
func (a GraphOp) String() string { return nameOf(graphOpNames, uint8(a), "ask") }

// Bounds of requests about graphs.
const (
	MaxGraphSources = 32                       // sources of one run
	MaxGraphPart    = MaxHeapWords * wordBytes // bytes of one part of a result
)

// GraphRequest asks for something about the graphs that a queue has on its worker's
// device, and answers it. docs/graphs.md says which fields belong to which request.
type GraphRequest struct {
	Ask         GraphOp
	Name        string // of the graph
	Offset      uint64 // bytes
	Total       uint64 // bytes
	Data        []byte // at most MaxGraphPart
	Directed    bool   // load: each line of a list is an edge one way
	Algorithm   string // run: bfs, sssp, cc or reach
	Topology    string // run: of every level; "" or auto: as the policy decides
	DecideHost  bool   // run: levels are decided on the host
	Budget      uint64 // run: most bytes of device memory beside the graph; 0: no bound but the worker's
	HitCapacity uint32 // run: nodes; 0: all
	Result      uint64 // of a run, to read it by; in a request to run, what it can be canceled by
	Object      string // load: name of the file in the object store
	Loops       bool   // load: edges of a list from a node to itself are kept
}

var graphRequestSchema = newSchema(KindGraphRequest, nil,
	enum("ask", event, graphOpNames, func(r *GraphRequest) any { return (*uint8)(&r.Ask) }).req(),
	text("name", event, func(r *GraphRequest) any { return &r.Name }).to(MaxToken),
	u64("offset", event, "bytes", func(r *GraphRequest) *uint64 { return &r.Offset }),
	u64("total", event, "bytes", func(r *GraphRequest) *uint64 { return &r.Total }),
	list[GraphRequest]("data", event, typeBytes, "-", 0, MaxGraphPart, func(r *GraphRequest) any { return &r.Data }),
	flag("directed", event, func(r *GraphRequest) any { return &r.Directed }),
	text("algorithm", event, func(r *GraphRequest) any { return &r.Algorithm }).to(MaxToken),
	text("topology", event, func(r *GraphRequest) any { return &r.Topology }).to(MaxToken),
	flag("decide_host", event, func(r *GraphRequest) any { return &r.DecideHost }),
	u64("budget_bytes", event, "bytes", func(r *GraphRequest) *uint64 { return &r.Budget }),
	u32("hit_capacity", event, "nodes", func(r *GraphRequest) *uint32 { return &r.HitCapacity }),
	u64("result", event, "-", func(r *GraphRequest) *uint64 { return &r.Result }),
	text("object", event, func(r *GraphRequest) any { return &r.Object }).to(MaxToken),
	flag("loops", event, func(r *GraphRequest) any { return &r.Loops }),
)

func (r *GraphRequest) rows() rows { return graphRequestSchema }
