package telemetry

import (
	"fmt"
	"math/bits"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// row is what a table of docs/wire.md says of one field.
type row struct {
	pos                           int
	name, typ, rng, unit, classOf string
	required                      bool
}

// kindSchema is a schema without its type parameter, for the tests.
type kindSchema struct {
	kind    Kind
	specs   []*spec
	body    reflect.Type
	targets []target
	has     bool
}

func allSchemas() []kindSchema {
	r := new(Record)
	var out []kindSchema
	for k := KindQueue; k <= lastKind; k++ {
		r.Kind = k
		b := bind(r)
		s := kindSchema{kind: k, targets: b.targets, has: b.has != nil}
		for i := range b.targets {
			s.specs = append(s.specs, b.targets[i].spec)
		}
		field, _ := reflect.TypeFor[Record]().FieldByNameFunc(func(name string) bool {
			return strings.EqualFold(name, strings.ReplaceAll(k.String(), "_", ""))
		})
		s.body = field.Type
		out = append(out, s)
	}
	return out
}

func TestWireDocumentListsExactlyTheSchema(t *testing.T) {
	sections := wireSections(t)
	check := func(section string, first int, specs []*spec) {
		got := tableRows(t, sections[section])
		if len(got) != len(specs) {
			t.Errorf("section %q has %d rows, the schema %d", section, len(got), len(specs))
			return
		}
		for i, s := range specs {
			if want := rowOf(first+i, s); got[i] != want {
				t.Errorf("section %q, row %d:\n got %+v\nwant %+v", section, i, got[i], want)
			}
		}
	}
	for i, s := range allSchemas() {
		if i == 0 {
			check("Header", 0, s.specs[:bodyStart])
		}
		check("Record "+s.kind.String(), bodyStart, s.specs[bodyStart:])
	}
}

func rowOf(pos int, s *spec) row {
	rng := s.rangeText()
	switch s.typ {
	case typeEnum:
		rng = fmt.Sprintf("%d..%d", s.min, s.max)
	case typeBool:
		rng = "true or false" // a bar would end the table's cell
	}
	return row{pos: pos, name: s.name, typ: s.typ.String(), rng: rng, unit: s.unit, classOf: string(s.class), required: s.required}
}

func TestWireDocumentListsTheEnumerations(t *testing.T) {
	want := "\n| field | codes and names |\n|---|---|\n"
	for _, e := range []*spec{&headerFields[posKind].spec, specNamed(KindLaunch, "status"), specNamed(KindLaunch, "time_source"), specNamed(KindHeap, "op"), specNamed(KindLaunch, "mode"), specNamed(KindLaunch, "execution_mode"), specNamed(KindGraphRequest, "ask"), specNamed(KindCancel, "found")} {
		var names []string
		for code := e.min; code <= e.max; code++ {
			names = append(names, fmt.Sprintf("%d %s", code, e.names[code]))
		}
		want += fmt.Sprintf("| %s | %s |\n", e.name, strings.Join(names, ", "))
	}
	if got := strings.TrimSuffix(wireSections(t)["Enumerations"], "\n"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWireDocumentListsTheLimits(t *testing.T) {
	tel, advice, work, heap := DefaultTelemetryLimits, DefaultRecommendationLimits, DefaultWorkLimits, DefaultHeapLimits
	want := ""
	for _, limit := range []struct {
		of                      string
		tel, advice, work, heap int
	}{
		{"payload, bytes", tel.MaxBytes, advice.MaxBytes, work.MaxBytes, heap.MaxBytes},
		{"records in a payload", tel.MaxRecords, advice.MaxRecords, work.MaxRecords, heap.MaxRecords},
		{"values in a payload", tel.MaxItems, advice.MaxItems, work.MaxItems, heap.MaxItems},
		{"string or bytes, bytes", tel.MaxString, advice.MaxString, work.MaxString, heap.MaxString},
		{"nested containers", tel.MaxDepth, advice.MaxDepth, work.MaxDepth, heap.MaxDepth},
	} {
		want += fmt.Sprintf("| %s | %d | %d | %d | %d |\n", limit.of, limit.tel, limit.advice, limit.work, limit.heap)
	}
	if got := wireSections(t)["Limits"]; !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// allPresence are the kinds with presence bits.
var allPresence = map[Kind]Presence{KindQueue: HasAllQueue, KindGraph: HasAllGraph, KindPriority: HasAllPriority,
	KindLaunch: HasAllLaunch, KindWorker: HasAllWorker, KindWork: HasAllWork}

// TestSchemaMatchesTheStructs holds the rows to the Go fields: order, presence
// bits and types.
func TestSchemaMatchesTheStructs(t *testing.T) {
	for _, s := range allSchemas() {
		want := leafTypes(s.body)
		got := slices.DeleteFunc(slices.Clone(s.specs[bodyStart:]), func(row *spec) bool { return row.typ == typeReserved })
		if len(want) != len(got) {
			t.Errorf("%v: %d rows for %d fields", s.kind, len(got), len(want))
			continue
		}
		for i, row := range got {
			if !typeFits(row.typ, want[i].Type) {
				t.Errorf("%v: row %s is %v, its field %s is %v", s.kind, row.name, row.typ, want[i].Name, want[i].Type)
			}
		}
		mask, hasBits := allPresence[s.kind]
		if hasBits != s.has {
			t.Errorf("%v: presence in the schema is %t", s.kind, s.has)
		}
		if hasBits && mask != 1<<len(got)-1 {
			t.Errorf("%v: mask of all fields %#x does not have %d bits", s.kind, uint64(mask), len(got))
		}
		if len(s.targets) > 63 {
			t.Errorf("%v: %d positions do not fit the decoder's bit set", s.kind, len(s.targets))
		}
	}
}

// TestPresenceBitsFollowTheSchema names every constant beside the row it means.
func TestPresenceBitsFollowTheSchema(t *testing.T) {
	named := make(map[Kind]Presence)
	bit := func(k Kind, name string, p Presence) {
		t.Helper()
		named[k] |= p
		if bits.OnesCount64(uint64(p)) != 1 {
			t.Errorf("%v.%s: %#x is not one bit", k, name, uint64(p))
			return
		}
		specs := allSchemas()[k-KindQueue].specs
		if pos := bodyStart + bits.TrailingZeros64(uint64(p)); pos >= len(specs) || specs[pos].name != name {
			t.Errorf("%v: the bit of %s is at position %d", k, name, pos)
		}
	}
	for name, p := range map[string]Presence{
		"queue_len": HasQueueLen, "requested_worker_groups": HasRequestedWorkerGroups,
		"max_workgroup_size_x": HasMaxWorkgroupSizeX, "max_compute_workgroups_per_dimension": HasMaxWorkgroupsPerDimension,
		"max_compute_invocations_per_workgroup": HasMaxInvocationsPerWorkgroup, "requested_hit_capacity": HasRequestedHitCapacity,
		"expected_hits_per_item": HasExpectedHitsPerItem, "hot_opcode_count": HasHotOpcodeCount, "hot_window_count": HasHotWindowCount,
		"max_priority_age": HasMaxPriorityAge, "requeue_count": HasRequeueCount, "executed_count": HasExecutedCount, "take_over": HasQueueTakeOver,
		"latency_target_ms": HasLatencyTargetMs,
	} {
		bit(KindQueue, name, p)
	}
	for name, p := range map[string]Presence{
		"graph_node_count": HasNodeCount, "graph_edge_count": HasEdgeCount, "frontier_density_bps": HasFrontierDensityBps,
		"frontier_out_degree_sum": HasFrontierOutDegreeSum, "frontier_nodes": HasFrontierNodes, "unexplored_edges": HasUnexploredEdges,
		"resident_device_bytes": HasResidentDeviceBytes, "device_memory_budget_bytes": HasDeviceMemoryBudgetBytes,
		"memory_pressure_bps": HasMemoryPressureBps, "hit_count": HasHitCount, "requeued_hit_count": HasRequeuedHitCount, "take_over": HasGraphTakeOver,
	} {
		bit(KindGraph, name, p)
	}
	bit(KindPriority, "priority", HasPriority)
	bit(KindPriority, "coefficient", HasCoefficient)
	bit(KindPriority, "take_over", HasPriorityTakeOver)
	for name, p := range map[string]Presence{
		"launch": HasLaunch, "decision": HasDecision, "status": HasStatus, "error": HasError,
		"applied_workgroup_size_x": HasAppliedWorkgroupSizeX, "applied_groups": HasAppliedGroups, "applied_claim_chunk": HasAppliedClaimChunk,
		"recommended_workgroup_size_x": HasRecommendedWorkgroupSizeX, "recommended_groups": HasRecommendedGroups,
		"recommended_claim_chunk": HasRecommendedClaimChunk, "not_applied": HasNotApplied, "elapsed_ns": HasElapsedNs,
		"time_source": HasTimeSource, "idle_ns": HasIdleNs, "wall_ns": HasWallNs, "executed": HasExecuted, "faulted": HasFaulted,
		"requeued": HasRequeued, "hits": HasHits, "opcode_counts": HasOpcodeCounts, "fingerprint": HasFingerprint,
		"mode": HasMode, "kernel": HasKernel, "in_flight": HasInFlight, "applied_batch_depth": HasAppliedDepth,
		"execution_mode": HasExecutionMode, "compiled_ready": HasCompiledReady,
	} {
		bit(KindLaunch, name, p)
	}
	for name, p := range map[string]Presence{
		"max_workgroup_size_x": HasWorkerMaxWorkgroupSizeX, "max_compute_workgroups_per_dimension": HasWorkerMaxWorkgroupsPerDimension,
		"max_compute_invocations_per_workgroup": HasWorkerMaxInvocationsPerWorkgroup, "subgroup_size": HasSubgroupSize,
		"vendor": HasVendor, "renderer": HasRenderer, "driver": HasDriver, "device_uuid": HasDeviceUUID,
		"device_memory_budget_bytes": HasMemoryBudgetBytes, "capabilities": HasCapabilities, "opcodes": HasOpcodes,
		"units": HasUnits, "unit_lanes": HasUnitLanes, "lease_slots": HasLeaseSlots,
	} {
		bit(KindWorker, name, p)
	}
	bit(KindWork, "batch", HasBatch)
	bit(KindWork, "slots", HasSlots)
	bit(KindWork, "want_results", HasWantResults)
	bit(KindWork, "epoch", HasEpoch)
	bit(KindWork, "deadline_ms", HasDeadlineMs)
	bit(KindWork, "runs", HasRuns)
	for k, all := range allPresence {
		if missing := all &^ named[k]; missing != 0 {
			t.Errorf("%v: this test does not name the bits %#x", k, uint64(missing))
		}
	}
}

// leafTypes lists the fields of a body in order, those of a Geometry in place
// of it and Has left out.
func leafTypes(t reflect.Type) (out []reflect.StructField) {
	for f := range t.Fields() {
		switch {
		case f.Name == "Has":
		case f.Type.Kind() == reflect.Struct:
			out = append(out, leafTypes(f.Type)...)
		default:
			out = append(out, f)
		}
	}
	return out
}

func typeFits(typ fieldType, t reflect.Type) bool {
	want := map[fieldType]reflect.Type{
		typeU16: reflect.TypeFor[uint16](), typeU32: reflect.TypeFor[uint32](), typeU64: reflect.TypeFor[uint64](),
		typeI64: reflect.TypeFor[int64](), typeF64: reflect.TypeFor[float64](), typeBool: reflect.TypeFor[bool](),
		typeToken: reflect.TypeFor[string](), typeText: reflect.TypeFor[string](), typeBytes: reflect.TypeFor[[]byte](),
		typeU32s: reflect.TypeFor[[]uint32](), typeGrid: reflect.TypeFor[[3]uint32](), typeTexts: reflect.TypeFor[[]string](),
		typeReasons: reflect.TypeFor[[]Reason](), typeSlots: reflect.TypeFor[[]Slot](), typeFaults: reflect.TypeFor[[]Fault](),
		typeOpcodes: reflect.TypeFor[[]Opcode](), typeRuns: reflect.TypeFor[[]Run](),
	}[typ]
	if typ == typeEnum {
		return t.Kind() == reflect.Uint8
	}
	return t == want
}

// specNamed finds a row of a kind, nil if there is none.
func specNamed(k Kind, name string) *spec {
	for _, s := range allSchemas()[k-KindQueue].specs {
		if s.name == name {
			return s
		}
	}
	return nil
}

// wireSections splits docs/wire.md at its headings.
func wireSections(t *testing.T) map[string]string {
	t.Helper()
	document, err := os.ReadFile("../docs/wire.md")
	must(t, err)
	sections := make(map[string]string)
	heading := ""
	for line := range strings.Lines(string(document)) {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.TrimSpace(h)
			continue
		}
		sections[heading] += line
	}
	return sections
}

var rowPattern = regexp.MustCompile(`^\| (\d+) \| (\w+)(!?) \| (\S+) \| ([^|]+) \| (\S+) \| (gauge|counter|event) \|`)

func tableRows(t *testing.T, section string) (rows []row) {
	t.Helper()
	for line := range strings.Lines(section) {
		m := rowPattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		var pos int
		fmt.Sscan(m[1], &pos)
		rows = append(rows, row{pos: pos, name: m[2], required: m[3] != "", typ: m[4], rng: m[5], unit: m[6], classOf: m[7]})
	}
	return rows
}
