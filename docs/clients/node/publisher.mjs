// Publishes the load of one queue, and the device limits of its worker, and
// prints one JSON line for each payload with the number that a recommendation
// answers it by. Ends after --count payloads, or with SIGINT or SIGTERM.
//
//   node publisher.mjs [--server URL] [--prefix P] [--worker W] [--queue Q] [--queue-len N]
//                      [--density-bps N] [--period MS] [--count N] [--array]

import { setTimeout as sleep } from "node:timers/promises";
import { connect, Events } from "nats";
import { parseFlags } from "./flags.mjs";
import { decodeRecords, encodeRecord, Sequence, toJSON } from "./wire.mjs";

const flags = parseFlags("publisher", {
  numbers: { "queue-len": 70_000, "density-bps": 9_000, period: 1_000, count: 0 }, // count 0: until stopped
  switches: ["array"],
});
const { server, prefix, worker, queue, period, count, array } = flags;

const announceEvery = 5_000; // ms; a runtime that starts later learns the limits then
const telemetry = `${prefix}.telemetry.${worker}.${queue}`;
const announcement = `${prefix}.worker.${worker}`;
const sequence = new Sequence();

/** The device of the worker. A real publisher asks its driver. */
const limits = () => ({
  max_workgroup_size_x: 1024,
  max_compute_workgroups_per_dimension: 65535,
  max_compute_invocations_per_workgroup: 1024,
  subgroup_size: 32,
});

/** The load of the queue. A real publisher measures it. All gauges are sent
 * every time, so that a runtime that has just started knows them. */
const load = () => ({
  graph: { graph_node_count: 100_000, graph_edge_count: 800_000, frontier_density_bps: flags["density-bps"] },
  queue: { queue_len: flags["queue-len"] },
});

function announce(nc) {
  const record = { kind: "worker", ...sequence.next(announcement), ...limits() };
  nc.publish(announcement, encodeRecord(record, { array }));
}

/** Publishes two records in one payload and returns the header of the second:
 * a queue record is answered with the graph record before it in effect. */
function report(nc) {
  const now = load();
  const graph = { kind: "graph", ...sequence.next(telemetry), ...now.graph };
  const header = sequence.next(telemetry);
  const payload = [graph, { kind: "queue", ...header, ...now.queue }].map((r) => encodeRecord(r, { array }));
  nc.publish(telemetry, Buffer.concat(payload));
  return header;
}

/** Prints what the runtime refuses of ours. */
function reportRefusals(nc) {
  const callback = (err, message) => {
    try {
      if (err) throw err;
      for (const r of decodeRecords(message.data)) {
        if (r.subject !== telemetry && r.subject !== announcement) continue;
        console.error(`publisher: refused on ${r.subject}: ${r.reason}: ${r.detail}`);
      }
    } catch (err) {
      console.error(`publisher: ${err.message}`);
    }
  };
  nc.subscribe(`${prefix}.rejected.${worker}.${queue}`, { callback });
  nc.subscribe(`${prefix}.rejected.invalid`, { callback });
}

async function main() {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => stop.abort());
  const nc = await connect({ servers: server, name: "ringmaster example publisher", maxReconnectAttempts: -1 });
  nc.closed().then(() => stop.abort());

  // While the server is away nothing is published: the client would keep it
  // and send it later, and late telemetry is wrong.
  let away = false;
  (async () => {
    for await (const { type } of nc.status()) {
      if (type === Events.Disconnect) away = true;
      if (type === Events.Reconnect) away = false;
    }
  })();
  reportRefusals(nc);

  let announced = -Infinity;
  for (let published = 0; !stop.signal.aborted && (count === 0 || published < count); ) {
    if (!away) {
      if (performance.now() - announced >= announceEvery) {
        announce(nc);
        announced = performance.now();
      }
      const { incarnation, seq } = report(nc);
      console.log(toJSON({ worker, queue, incarnation, seq }));
      published++;
    }
    await sleep(period, undefined, { signal: stop.signal }).catch(() => {}); // stopped: the loop ends
  }
  if (!nc.isClosed()) await (away ? nc.close() : nc.drain());
  const err = await nc.closed();
  if (err) throw err;
}

main().catch((err) => {
  console.error(`publisher: ${err.message}`);
  process.exitCode = 1;
});
