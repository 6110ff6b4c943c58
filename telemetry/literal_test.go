package telemetry

import (
	"bytes"
	"encoding/hex"
	"io"
	"reflect"
	"strings"
	"testing"
)

// literal turns a hand-written payload into bytes: hexadecimal digits with
// blanks anywhere, and texts between single quotes.
func literal(t testing.TB, s string) []byte {
	t.Helper()
	var out []byte
	for i, part := range strings.Split(s, "'") {
		if i%2 == 1 {
			out = append(out, part...)
			continue
		}
		b, err := hex.DecodeString(strings.Join(strings.Fields(part), ""))
		if err != nil {
			t.Fatalf("literal %q: %v", part, err)
		}
		out = append(out, b...)
	}
	return out
}

// decodeOne checks and decodes a payload of one record.
func decodeOne(payload []byte, limits CheckLimits) (*Record, error) {
	if _, err := Check(payload, limits); err != nil {
		return nil, err
	}
	var d Decoder
	r := new(Record)
	d.Reset(payload)
	if err := d.Next(r); err != nil {
		return nil, err
	}
	if err := d.Next(new(Record)); err != io.EOF {
		return nil, err
	}
	return r, nil
}

// The header of every literal, by its kind's name and code. It is as long as
// a header can be: six fields.
const (
	mapHeader   = "a5'minor' 00 ab'incarnation' cf0102030405060708 a3'seq' 07 a7'sent_ns' ce3b9aca00 a5'queue' a2'q0'"
	arrayHeader = "00 cf0102030405060708 07 ce3b9aca00 a2'q0'"
)

func literalHeader(k Kind) Header {
	return Header{Kind: k, Incarnation: 0x0102030405060708, Seq: 7, SentNs: 1_000_000_000, Queue: "q0"}
}

var literals = []struct {
	want     Record
	mapRow   string
	arrayRow string
}{
	{
		want: Record{Header: literalHeader(KindQueue), Queue: Queue{
			Has: HasAllQueue, QueueLen: 4096, RequestedWorkerGroups: 32, MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65535,
			MaxInvocationsPerWorkgroup: 1024, RequestedHitCapacity: 0, ExpectedHitsPerItem: 2, HotOpcodeCount: 3, HotWindowCount: 70000,
			MaxPriorityAge: 255, RequeueCount: 1 << 40, ExecutedCount: 99, TakeOver: true, LatencyTargetMs: 250}},
		mapRow: "de0014 a4'kind' a5'queue'" + mapHeader + `a9'queue_len' cd1000 b7'requested_worker_groups' 20
			b4'max_workgroup_size_x' cd0400 d924'max_compute_workgroups_per_dimension' cdffff
			d925'max_compute_invocations_per_workgroup' cd0400 b6'requested_hit_capacity' 00 b6'expected_hits_per_item' 02
			b0'hot_opcode_count' 03 b0'hot_window_count' ce00011170 b0'max_priority_age' ccff
			ad'requeue_count' cf0000010000000000 ae'executed_count' 63 a9'take_over' c3 b1'latency_target_ms' ccfa`,
		arrayRow: "dc0014 01" + arrayHeader + "cd1000 20 cd0400 cdffff cd0400 00 02 03 ce00011170 ccff cf0000010000000000 63 c3 ccfa",
	},
	{
		want: Record{Header: literalHeader(KindGraph), Graph: Graph{
			Has: HasAllGraph, NodeCount: 4039, EdgeCount: 88234, FrontierDensityBps: 10000, FrontierOutDegreeSum: 1 << 32, FrontierNodes: 77,
			UnexploredEdges: 128, ResidentDeviceBytes: 1 << 33, DeviceMemoryBudgetBytes: 0, MemoryPressureBps: 127, HitCount: 77, RequeuedHitCount: 5, TakeOver: true}},
		mapRow: "de0012 a4'kind' a5'graph'" + mapHeader + `b0'graph_node_count' cd0fc7 b0'graph_edge_count' ce000158aa
			b4'frontier_density_bps' cd2710 b7'frontier_out_degree_sum' cf0000000100000000 ae'frontier_nodes' 4d
			b0'unexplored_edges' cc80 b5'resident_device_bytes' cf0000000200000000 ba'device_memory_budget_bytes' 00
			b3'memory_pressure_bps' 7f a9'hit_count' 4d b2'requeued_hit_count' 05 a9'take_over' c3`,
		arrayRow: "dc0012 02" + arrayHeader + "cd0fc7 ce000158aa cd2710 cf0000000100000000 4d cc80 cf0000000200000000 00 7f 4d 05 c3",
	},
	{
		want: Record{Header: literalHeader(KindPriority), Priority: Priority{
			Has: HasAllPriority, Priority: 2.5, Coefficient: 0.5, TakeOver: true}},
		mapRow:   "89 a4'kind' a8'priority'" + mapHeader + "a8'priority' cb4004000000000000 ab'coefficient' cb3fe0000000000000 a9'take_over' c3",
		arrayRow: "99 03" + arrayHeader + "cb4004000000000000 cb3fe0000000000000 c3",
	},
	{
		want: Record{Header: literalHeader(KindLaunch), Launch: Launch{
			Has: HasAllLaunch, Launch: 12, Decision: 11, Status: LaunchFailed, Error: "lost", Applied: Geometry{64, 8, 256},
			Recommended: Geometry{128, 4, 512}, NotApplied: "warming", ElapsedNs: 1000, TimeSource: TimeWall, IdleNs: 5, WallNs: 70000,
			Executed: 300, Faulted: 1, Requeued: 2, Hits: 3, OpcodeCounts: []uint32{1, 200, 0}, Fingerprint: bytes.Repeat([]byte{0xab}, 32),
			Mode: ModeLease, Kernel: "lease-256", InFlight: 2, AppliedDepth: 4, ExecutionMode: ExecutionJIT, CompiledReady: true}},
		mapRow: "de0021 a4'kind' a6'launch'" + mapHeader + `a6'launch' 0c a8'decision' 0b a6'status' a6'failed' a5'error' a4'lost'
			b8'applied_workgroup_size_x' 40 ae'applied_groups' 08 b3'applied_claim_chunk' cd0100
			bc'recommended_workgroup_size_x' cc80 b2'recommended_groups' 04 b7'recommended_claim_chunk' cd0200
			ab'not_applied' a7'warming' aa'elapsed_ns' cd03e8 ab'time_source' a4'wall' a7'idle_ns' 05 a7'wall_ns' ce00011170
			a8'executed' cd012c a7'faulted' 01 a8'requeued' 02 a4'hits' 03 ad'opcode_counts' 93 01 ccc8 00
			ab'fingerprint' c420` + strings.Repeat("ab", 32) + "a4'mode' a5'lease' a6'kernel' a9'lease-256' a9'in_flight' 02 b3'applied_batch_depth' 04 ae'execution_mode' a3'jit' ae'compiled_ready' c3",
		arrayRow: "dc0021 04" + arrayHeader + "0c 0b 01 a4'lost' 40 08 cd0100 cc80 04 cd0200 a7'warming' cd03e8 02 05 ce00011170" +
			"cd012c 01 02 03 93 01 ccc8 00 c420" + strings.Repeat("ab", 32) + "01 a9'lease-256' 02 04 01 c3",
	},
	{
		want: Record{Header: literalHeader(KindWorker), Worker: Worker{
			Has: HasAllWorker, MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65535, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32,
			Vendor: "Mesa", Renderer: "llvmpipe", Driver: "25.0", DeviceUUID: "0", MemoryBudgetBytes: 1 << 30, Capabilities: []string{"wave", "lease"},
			Opcodes: []Opcode{{ID: 16, Name: "histogram"}, {ID: 200, Name: ""}}, Units: 132, UnitLanes: 2048, LeaseSlots: 256}},
		mapRow: "de0014 a4'kind' a6'worker'" + mapHeader + `b4'max_workgroup_size_x' cd0400
			d924'max_compute_workgroups_per_dimension' cdffff d925'max_compute_invocations_per_workgroup' cd0400
			ad'subgroup_size' 20 a6'vendor' a4'Mesa' a8'renderer' a8'llvmpipe' a6'driver' a4'25.0' ab'device_uuid' a1'0'
			ba'device_memory_budget_bytes' ce40000000 ac'capabilities' 92 a4'wave' a5'lease'
			a7'opcodes' 92 92 10 a9'histogram' 92 ccc8 a0 a5'units' cc84 aa'unit_lanes' cd0800 ab'lease_slots' cd0100`,
		arrayRow: "dc0014 05" + arrayHeader + "cd0400 cdffff cd0400 20 a4'Mesa' a8'llvmpipe' a4'25.0' a1'0' ce40000000 92 a4'wave' a5'lease' 92 92 10 a9'histogram' 92 ccc8 a0 cc84 cd0800 cd0100",
	},
	{
		want: Record{Header: literalHeader(KindRecommendation), Recommendation: Recommendation{
			Decision: 300, AnsweredIncarnation: 1 << 63, AnsweredSeq: 6, AnsweredSentNs: 999, Error: "", WorkgroupSizeX: 64, Groups: 16, ClaimChunk: 256,
			BatchDepth: 4096, LaunchMode: "wave", DispatchGrid: [3]uint32{16, 1, 1}, WorkerGroups: 32, HitCapacity: 2048,
			ExecutionMode: "jit", Topology: "dense", MemoryBudgetBytes: 1 << 30, QueueLen: 1000, FrontierDensityBps: 2500, MemoryPressureBps: 0,
			SwitchHeld: true, Changed: false, Heartbeat: false, CommittedOnPublish: true, ValidForMs: 3000,
			Reasons: []Reason{{Rule: "topology", Threshold: 2500, Value: 2400, Distance: 100, Held: true}}, InFlight: 3, Fenced: true, Decided: []byte{1, 2}}},
		mapRow: "de0022 a4'kind' ae'recommendation'" + mapHeader + `a8'decision' cd012c b4'answered_incarnation' cf8000000000000000
			ac'answered_seq' 06 b0'answered_sent_ns' cd03e7 a5'error' a0 b0'workgroup_size_x' 40 a6'groups' 10 ab'claim_chunk' cd0100
			ab'batch_depth' cd1000 ab'launch_mode' a4'wave' ad'dispatch_grid' 93 10 01 01
			ad'worker_groups' 20 ac'hit_capacity' cd0800 ae'execution_mode' a3'jit' a8'topology' a5'dense'
			ba'device_memory_budget_bytes' ce40000000 a9'queue_len' cd03e8 b4'frontier_density_bps' cd09c4
			b3'memory_pressure_bps' 00 ab'switch_held' c3 a7'changed' c2 a9'heartbeat' c2 b4'committed_on_publish' c3
			ac'valid_for_ms' cd0bb8 a7'reasons' 91 95 a8'topology' cd09c4 cd0960 64 c3 a9'in_flight' 03 a6'fenced' c3 a7'decided' c4020102`,
		arrayRow: "dc0029 06" + arrayHeader + `cd012c cf8000000000000000 06 cd03e7 a0 40 10 cd0100 cd1000 a4'wave' c0 93 10 01 01
			20 cd0800 c0 a3'jit' a5'dense' c0 c0 c0 c0 ce40000000 cd03e8 cd09c4 00 c3 c2 c2 c3 cd0bb8
			91 95 a8'topology' cd09c4 cd0960 64 c3 c0 03 c3 c4020102`,
	},
	{
		want: Record{Header: literalHeader(KindWork), Work: Work{
			Has: HasAllWork, Batch: "b-1", WantResults: true, Epoch: 1 << 50, DeadlineMs: 250, Slots: []Slot{
				{Opcode: 1, Priority: 2, Args: [12]uint32{16, 0xffffffff}},
				{Opcode: 0, Priority: 4}}, Runs: []Run{
				{Opcode: 5, Priority: 1, Count: 2, NArgs: 2, Args: [12]Arg{{Value: 300}, {Words: []byte{1, 0, 0, 0, 2, 1, 0, 0}}}}}}},
		mapRow:   "8c a4'kind' a4'work'" + mapHeader + "a5'batch' a3'b-1' a5'slots' 92 94 01 02 10 ceffffffff 92 00 04 ac'want_results' c3 a5'epoch' cf0004000000000000 ab'deadline_ms' ccfa a4'runs' 91 95 05 01 02 cd012c c4080100000002010000",
		arrayRow: "9c 07" + arrayHeader + "a3'b-1' 92 94 01 02 10 ceffffffff 92 00 04 c3 cf0004000000000000 ccfa 91 95 05 01 02 cd012c c4080100000002010000",
	},
	{
		want: Record{Header: literalHeader(KindDone), Done: Done{
			Batch: "b-1", Executed: 3, Faulted: 1, Faults: []Fault{{Index: 200, Code: 4}}, Results: []uint32{0, 1}, WorkSentNs: 128,
			Dropped: 2, Error: "heap lost", Prints: []uint32{2, 7, 0, 0, 256}, Printed: 9}},
		mapRow: "de0010 a4'kind' a4'done'" + mapHeader + `a5'batch' a3'b-1' a8'executed' 03 a7'faulted' 01 a6'faults' 91 92 ccc8 04
			a7'results' 92 00 01 ac'work_sent_ns' cc80 a7'dropped' 02 a5'error' a9'heap lost'
			a6'prints' 95 02 07 00 00 cd0100 a7'printed' 09`,
		arrayRow: "dc0010 08" + arrayHeader + "a3'b-1' 03 01 91 92 ccc8 04 92 00 01 cc80 02 a9'heap lost' 95 02 07 00 00 cd0100 09",
	},
	{
		want: Record{Header: literalHeader(KindRejected), Rejected: Rejected{
			Subject: "a.b", Reason: ReasonOutOfRange, Detail: "too long", Bytes: 256, Suppressed: 9}},
		mapRow: "8b a4'kind' a8'rejected'" + mapHeader + `a7'subject' a3'a.b' a6'reason' ac'out_of_range' a6'detail' a8'too long'
			a5'bytes' cd0100 aa'suppressed' 09`,
		arrayRow: "9b 09" + arrayHeader + "a3'a.b' ac'out_of_range' a8'too long' cd0100 09",
	},
	{
		want:     Record{Header: literalHeader(KindHeap), Heap: Heap{Op: HeapWrite, Offset: 256, Count: 1, Data: []byte{1, 2, 3, 4}, Epoch: 1 << 50}},
		mapRow:   "8b a4'kind' a4'heap'" + mapHeader + `a2'op' a5'write' a6'offset' cd0100 a5'count' 01 a4'data' c40401020304 a5'epoch' cf0004000000000000`,
		arrayRow: "9b 0a" + arrayHeader + "01 cd0100 01 c40401020304 cf0004000000000000",
	},
	{
		want: Record{Header: literalHeader(KindGraphRequest), GraphRequest: GraphRequest{Ask: GraphRun, Name: "g", Offset: 1, Total: 2, Data: []byte{9}, Directed: true,
			Algorithm: "bfs", Topology: "auto", DecideHost: true, Budget: 3, HitCapacity: 4, Result: 5, Object: "o", Loops: true}},
		mapRow: "de0014 a4'kind' ad'graph_request'" + mapHeader + `a3'ask' a3'run' a4'name' a1'g' a6'offset' 01 a5'total' 02 a4'data' c40109 a8'directed' c3
			a9'algorithm' a3'bfs' a8'topology' a4'auto' ab'decide_host' c3 ac'budget_bytes' 03 ac'hit_capacity' 04 a6'result' 05
			a6'object' a1'o' a5'loops' c3`,
		arrayRow: "dc0014 0b" + arrayHeader + "03 a1'g' 01 02 c40109 c3 a3'bfs' a4'auto' c3 03 04 05 a1'o' c3",
	},
	{
		want:     Record{Header: literalHeader(KindCancel), Cancel: Cancel{Batch: "b1", Found: CancelWithdrawn, Slots: 300}},
		mapRow:   "89 a4'kind' a6'cancel'" + mapHeader + "a5'batch' a2'b1' a5'found' a8'canceled' a5'slots' cd012c",
		arrayRow: "99 0c" + arrayHeader + "a2'b1' 01 cd012c",
	},
}

func TestLiteralBytesDecodeAndEncode(t *testing.T) {
	for _, l := range literals {
		t.Run(l.want.Kind.String(), func(t *testing.T) {
			for encoding, text := range []string{EncodingMap: l.mapRow, EncodingArray: l.arrayRow} {
				payload := literal(t, text)
				got, err := decodeOne(payload, DefaultWorkLimits)
				if err != nil {
					t.Fatalf("encoding %d: %v", encoding, err)
				}
				if !reflect.DeepEqual(*got, l.want) {
					t.Errorf("encoding %d:\n got %+v\nwant %+v", encoding, *got, l.want)
				}
				if enc := Append(nil, Encoding(encoding), l.want.Header, l.want.Body()); !bytes.Equal(enc, payload) {
					t.Errorf("encoding %d: encoder:\n got %x\nwant %x", encoding, enc, payload)
				}
			}
		})
	}
}

func TestLiteralsCoverEveryKind(t *testing.T) {
	for i, l := range literals {
		if want := KindQueue + Kind(i); l.want.Kind != want {
			t.Errorf("literal %d is of kind %v, want %v", i, l.want.Kind, want)
		}
	}
	if len(literals) != int(lastKind) {
		t.Errorf("%d literals for %d kinds", len(literals), lastKind)
	}
}
