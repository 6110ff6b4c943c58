// Records of Ringmaster in both encodings. The schema is
// docs/wire.md; these lists are the array positions of the kinds that the
// programs beside this file use.

import { randomBytes } from "node:crypto";
import { decodeMulti, encode } from "@msgpack/msgpack";

const header = ["kind", "minor", "incarnation", "seq", "sent_ns", "queue"];

const kind = (code, ...body) => ({ code, fields: [...header, ...body] });

export const kinds = {
  queue: kind(1,
    "queue_len", "requested_worker_groups", "max_workgroup_size_x", "max_compute_workgroups_per_dimension",
    "max_compute_invocations_per_workgroup", "requested_hit_capacity", "expected_hits_per_item",
    "hot_opcode_count", "hot_window_count", "max_priority_age", "requeue_count", "executed_count",
    "take_over", "latency_target_ms"),
  graph: kind(2,
    "graph_node_count", "graph_edge_count", "frontier_density_bps", "frontier_out_degree_sum", "frontier_nodes",
    "unexplored_edges", "resident_device_bytes", "device_memory_budget_bytes", "memory_pressure_bps",
    "hit_count", "requeued_hit_count", "take_over"),
  worker: kind(5,
    "max_workgroup_size_x", "max_compute_workgroups_per_dimension", "max_compute_invocations_per_workgroup",
    "subgroup_size", "vendor", "renderer", "driver", "device_uuid", "device_memory_budget_bytes", "capabilities",
    "opcodes", "units", "unit_lanes", "lease_slots"),
  recommendation: kind(6,
    "decision", "answered_incarnation", "answered_seq", "answered_sent_ns", "error", "workgroup_size_x", "groups",
    "claim_chunk", "batch_depth", "launch_mode", "reserved_16", "dispatch_grid", "worker_groups", "hit_capacity",
    "reserved_20", "execution_mode", "topology", "reserved_23", "reserved_24", "reserved_25",
    "reserved_26", "device_memory_budget_bytes", "queue_len", "frontier_density_bps",
    "memory_pressure_bps", "switch_held", "changed", "heartbeat", "committed_on_publish", "valid_for_ms", "reasons",
    "reserved_37", "in_flight", "fenced", "decided"),
  work: kind(7, "batch", "slots", "want_results", "epoch", "deadline_ms", "runs"),
  done: kind(8,
    "batch", "executed", "faulted", "faults", "results", "work_sent_ns", "dropped", "error", "prints", "printed"),
  rejected: kind(9, "subject", "reason", "detail", "bytes", "suppressed"),
};

// The 64-bit fields. They are BigInt on this side, because a Number is exact
// only up to 2^53.
export const wide = new Set([
  "incarnation", "seq", "sent_ns", "requeue_count", "executed_count", "frontier_out_degree_sum", "hit_count", "requeued_hit_count",
  "unexplored_edges", "resident_device_bytes", "device_memory_budget_bytes", "decision",
  "answered_incarnation", "answered_seq", "answered_sent_ns", "suppressed", "epoch", "work_sent_ns",
]);

// With useBigInt64 the library writes a BigInt as a 64-bit integer, but a
// Number of 2^32 or more as a float, and Ringmaster refuses a float where an
// integer belongs. encodeRecord makes every wide field a BigInt, so no Number
// that reaches the library is that large.
const options = { useBigInt64: true };

/** Encodes a record: an object of wire names, with `kind` and the header. */
export function encodeRecord(record, { array = false } = {}) {
  const schema = kinds[record.kind];
  if (!schema) throw new Error(`unknown kind ${record.kind}`);
  const values = {};
  for (const [name, value] of Object.entries(record)) {
    if (!schema.fields.includes(name)) throw new Error(`a ${record.kind} record has no field ${name}`);
    if (value !== undefined) values[name] = wide.has(name) ? BigInt(value) : value;
  }
  if (!array) return encode(values, options);
  const list = schema.fields.map((name) => (name === "kind" ? schema.code : values[name] ?? null));
  while (list.at(-1) === null) list.pop(); // a missing tail is absent, as nil is
  return encode(list, options);
}

/** Decodes a payload, which is one or more records in either encoding. */
export function decodeRecords(payload) {
  return Array.from(decodeMulti(payload, options), fromWire);
}

function fromWire(value) {
  const isArray = Array.isArray(value);
  const given = isArray ? value[0] : value?.kind;
  const found = Object.entries(kinds).find(([name, { code }]) => given === name || given === code);
  if (!found) return { kind: given }; // a kind that these programs do not use
  const [name, { fields }] = found;
  const record = {};
  fields.forEach((field, position) => {
    const v = isArray ? value[position] : value[field];
    if (v !== undefined && v !== null) record[field] = wide.has(field) ? BigInt(v) : v;
  });
  record.kind = name;
  record.reasons &&= record.reasons.map(([rule, threshold, value, distance, held]) => (
    { rule, threshold: BigInt(threshold), value: BigInt(value), distance: BigInt(distance), held }));
  return record;
}

/** Numbers the records of one run of a publisher. */
export class Sequence {
  incarnation = randomBytes(8).readBigUInt64BE() || 1n; // never 0
  #last = new Map(); // subject → number of its newest record

  /** Returns the header of the next record on a subject. */
  next(subject) {
    const seq = (this.#last.get(subject) ?? 0n) + 1n;
    this.#last.set(subject, seq);
    return { minor: 0, incarnation: this.incarnation, seq, sent_ns: BigInt(Date.now()) * 1_000_000n };
  }
}

/** JSON of a record on one line. BigInts become strings of decimal digits. */
export function toJSON(value) {
  return JSON.stringify(value, (_, v) => (typeof v === "bigint" ? v.toString() : v));
}
