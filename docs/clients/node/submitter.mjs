// Submits one batch as a run, the words of a typed array as they lie in memory, waits for
// its done record and prints it as one JSON line. Slot i of the batch adds 1 to word i of
// the queue's window.
//
//   node submitter.mjs [--server URL] [--prefix P] [--worker W] [--queue Q] [--slots N] [--timeout MS] [--array]

import { setTimeout as sleep } from "node:timers/promises";
import { connect, headers } from "nats";
import { parseFlags } from "./flags.mjs";
import { decodeRecords, encodeRecord, Sequence, toJSON } from "./wire.mjs";

const flags = parseFlags("submitter", { numbers: { slots: 4096, timeout: 30_000 }, switches: ["array"] });
const { server, prefix, worker, queue, slots, timeout, array } = flags;

const opcodeAdd = 2;
const priorityNormal = 2;
const littleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** The bytes of a Uint32Array, which the wire has in the order of this machine if that is
 * little-endian, as nearly all are. */
function words(array) {
  if (!littleEndian) throw new Error("swap the bytes of each word first: the wire is little-endian");
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

async function main() {
  const sequence = new Sequence();
  const work = `${prefix}.work.${worker}.${queue}`;
  const batch = `node-${sequence.incarnation.toString(16)}`;
  const nc = await connect({ servers: server, name: "ringmaster example submitter" });
  const ended = new Promise((resolve, reject) => {
    const receive = (kind) => (err, message) => {
      if (err) return reject(err);
      for (const r of decodeRecords(message.data)) {
        if (kind === "done" && r.batch === batch) resolve(r);
        if (kind !== "rejected" || r.subject !== work) continue;
        if (r.detail.includes(`"${batch}"`)) return reject(new Error(`refused: ${r.reason}: ${r.detail}`));
        console.error(`submitter: refused, perhaps another's: ${r.reason}: ${r.detail}`); // it names no batch
      }
    };
    nc.subscribe(`${prefix}.done.${worker}.${queue}`, { callback: receive("done") });
    nc.subscribe(`${prefix}.rejected.${worker}.${queue}`, { callback: receive("rejected") });
  });
  ended.catch(() => {}); // it is waited for below

  const addresses = Uint32Array.from({ length: slots }, (_, i) => i);
  const run = [opcodeAdd, priorityNormal, slots, 1, words(addresses)]; // one word for all, and a word for each
  const record = { kind: "work", ...sequence.next(work), batch, runs: [run] };

  // The id keeps a repeat out of the stream. The stream compares ids of all queues, so it
  // names the queue, and nobody else can guess the incarnation in it.
  const h = headers();
  h.set("Nats-Msg-Id", `${worker}.${queue}.${batch}.${sequence.incarnation.toString(16)}`);
  const js = nc.jetstream();
  await js.publish(work, encodeRecord(record, { array }), { headers: h });
  nc.publish(`${prefix}.queued.${worker}.${queue}`); // the worker looks at once; by itself it looks four times a second
  const overdue = new AbortController();
  const late = sleep(timeout, undefined, { signal: overdue.signal }).then(() => { throw new Error(`no done record of ${batch} within ${timeout} ms`); });
  late.catch(() => {});
  const done = await Promise.race([ended, late]);
  overdue.abort();
  console.log(toJSON({ ...done, worker, queue }));
  await nc.drain();
}

for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => process.exit(0));

main().catch((err) => {
  console.error(`submitter: ${err.message}`);
  process.exit(1);
});
