// Launches by each new plan and reports what it launched, as one JSON line each. Nothing runs here: a real
// launcher dispatches its kernel where this program says so, and takes the time from its device. Ends after
// --count launches, or with SIGINT or SIGTERM.
//
//   node launcher.mjs [--server URL] [--prefix P] [--worker W] [--queue Q] [--slots N] [--elapsed-ns N] [--count N]

import { encode } from "@msgpack/msgpack";
import { connect } from "nats";
import { parseFlags } from "./flags.mjs";
import { decodeRecords, Sequence, toJSON } from "./wire.mjs";

const flags = parseFlags("launcher", { numbers: { slots: 64, "elapsed-ns": 90_000, count: 0 } }); // 0: until stopped
const { server, prefix, worker, queue, slots, count } = flags;

const telemetry = `${prefix}.telemetry.${worker}.${queue}`;
const sequence = new Sequence();
let launches = 0;

/** The report of a launch that ran as the plan said. Fields of 64 bits are BigInt. */
const reportOf = (plan, elapsedNs) => ({
  kind: "launch", ...sequence.next(telemetry),
  launch: BigInt(++launches), decision: plan.decision, status: 0, // ok
  applied_workgroup_size_x: plan.workgroup_size_x, applied_groups: plan.groups, applied_claim_chunk: plan.claim_chunk,
  recommended_workgroup_size_x: plan.workgroup_size_x, recommended_groups: plan.groups,
  recommended_claim_chunk: plan.claim_chunk,
  elapsed_ns: BigInt(elapsedNs), time_source: 1, // a timer of the device
  executed: BigInt(Math.min(slots, plan.batch_depth)), in_flight: 1,
});

async function main() {
  const nc = await connect({ servers: server, name: "ringmaster example launcher", maxReconnectAttempts: -1 });
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => nc.drain());
  for await (const message of nc.subscribe(`${prefix}.recommend.${worker}.${queue}`)) {
    const plan = decodeRecords(message.data).findLast((r) => r.kind === "recommendation");
    if (!plan || plan.error || plan.heartbeat) continue; // no plan, or the one that was launched
    // Here: dispatch plan.groups workgroups of plan.workgroup_size_x, and wait for the device's timer.
    const report = reportOf(plan, flags["elapsed-ns"]);
    nc.publish(telemetry, encode(report, { useBigInt64: true }));
    console.log(toJSON(report));
    if (count > 0 && launches >= count) break;
  }
  if (!nc.isClosed()) await nc.drain();
}

main().catch((err) => {
  console.error(`launcher: ${err.message}`);
  process.exitCode = 1;
});
