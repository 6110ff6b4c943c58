package actors

import (
	"strconv"
	"time"

	"ringmaster/telemetry"
)

// record builds the record that a command describes and sends it in. Fields
// that are not named are absent.
func (r *runner) record(s *System, verb string, a arguments) {
	rec := telemetry.Record{Header: telemetry.Header{Incarnation: a.number("inc"), Seq: a.number("seq"), SentNs: int64(a.number("sent"))}}
	switch verb {
	case "announce":
		rec.Kind = telemetry.KindWorker
		l := a.limits()
		rec.Worker = telemetry.Worker{
			Has: telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension |
				telemetry.HasWorkerMaxInvocationsPerWorkgroup | telemetry.HasMemoryBudgetBytes,
			MaxWorkgroupSizeX: l.MaxWorkgroupSizeX, MaxWorkgroupsPerDimension: l.MaxWorkgroupsPerDimension,
			MaxInvocationsPerWorkgroup: l.MaxInvocationsPerWorkgroup, MemoryBudgetBytes: a.number("budget"),
		}
		r.check(s.Announce(a.word(0), &rec))
		return
	case "queue":
		rec.Kind = telemetry.KindQueue
		rec.Queue = a.queue()
		rec.Queue.TakeOver = a.named["take_over"] != ""
	case "graph":
		rec.Kind = telemetry.KindGraph
		rec.Graph = a.graph()
	case "priority":
		rec.Kind = telemetry.KindPriority
		rec.Priority = telemetry.Priority{
			Has:      telemetry.HasPriority | telemetry.HasCoefficient,
			Priority: float64(a.number("priority")), Coefficient: float64(a.number("share")) / 100,
		}
	case "launch":
		rec.Kind = telemetry.KindLaunch
		rec.Launch = telemetry.Launch{
			Launch: a.number("launch"), Decision: r.decision(s, a), Executed: a.number("executed"), ElapsedNs: a.number("ns"),
			Applied: telemetry.Geometry{WorkgroupSizeX: uint32(a.number("width"))},
		}
		if a.named["fail"] != "" {
			rec.Launch.Status, rec.Launch.Error = telemetry.LaunchFailed, a.named["fail"]
		}
	}
	worker, queue := a.target()
	r.check(s.Ingest(worker, queue, &rec, time.Now(), a.named["reply"]))
}

// decision is the decision that a launch report names: a number, or the last one.
func (r *runner) decision(s *System, a arguments) uint64 {
	if a.named["decision"] != "last" {
		return a.number("decision")
	}
	worker, queue := a.target()
	last, _ := s.Latest(worker, queue)
	return last.Decision
}

// field copies a named number and its presence.
func field[T uint16 | uint32 | uint64](a arguments, has *telemetry.Presence, key string, bit telemetry.Presence, dst *T) {
	if v, ok := a.named[key]; ok {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			a.t.Fatalf("%q: %v", a.line, err)
		}
		*dst, *has = T(n), *has|bit
	}
}

func (a arguments) queue() (q telemetry.Queue) {
	field(a, &q.Has, "len", telemetry.HasQueueLen, &q.QueueLen)
	field(a, &q.Has, "groups", telemetry.HasRequestedWorkerGroups, &q.RequestedWorkerGroups)
	field(a, &q.Has, "x", telemetry.HasMaxWorkgroupSizeX, &q.MaxWorkgroupSizeX)
	field(a, &q.Has, "hits", telemetry.HasRequestedHitCapacity, &q.RequestedHitCapacity)
	field(a, &q.Has, "hot", telemetry.HasHotOpcodeCount, &q.HotOpcodeCount)
	field(a, &q.Has, "age", telemetry.HasMaxPriorityAge, &q.MaxPriorityAge)
	field(a, &q.Has, "requeues", telemetry.HasRequeueCount, &q.RequeueCount)
	field(a, &q.Has, "executed", telemetry.HasExecutedCount, &q.ExecutedCount)
	return q
}

func (a arguments) graph() (g telemetry.Graph) {
	field(a, &g.Has, "nodes", telemetry.HasNodeCount, &g.NodeCount)
	field(a, &g.Has, "edges", telemetry.HasEdgeCount, &g.EdgeCount)
	field(a, &g.Has, "density", telemetry.HasFrontierDensityBps, &g.FrontierDensityBps)
	field(a, &g.Has, "resident", telemetry.HasResidentDeviceBytes, &g.ResidentDeviceBytes)
	field(a, &g.Has, "budget", telemetry.HasDeviceMemoryBudgetBytes, &g.DeviceMemoryBudgetBytes)
	field(a, &g.Has, "pressure", telemetry.HasMemoryPressureBps, &g.MemoryPressureBps)
	return g
}
