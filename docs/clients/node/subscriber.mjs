// Receives the recommendations for one queue and prints one JSON line for each:
// the last one first, if there is one, then every new one. When the plan in
// hand has not been renewed for valid_for_ms it is dropped, which prints
// {"expired":true,…}. Ends with SIGINT or SIGTERM.
//
//   node subscriber.mjs [--server URL] [--prefix P] [--worker W] [--queue Q]

import { connect, createInbox } from "nats";
import { parseFlags } from "./flags.mjs";
import { decodeRecords, toJSON } from "./wire.mjs";

const { server, prefix, worker, queue } = parseFlags("subscriber");

let current; // the recommendation that holds
let expiry; // the timer that ends it

function take({ decided, ...recommendation }) { // decided is for runtimes
  const fenced = current?.fenced && recommendation.fenced; // then numbers go on across runtimes
  if (fenced && recommendation.decision < current.decision) return; // an old one that came late
  // The time counts from the arrival: clocks of two machines need not agree.
  clearTimeout(expiry);
  expiry = setTimeout(expire, recommendation.valid_for_ms);
  const repeated = (fenced || current?.incarnation === recommendation.incarnation) && current.decision === recommendation.decision;
  current = recommendation;
  if (!repeated) console.log(toJSON({ ...recommendation, worker, queue }));
}

function expire() {
  console.log(toJSON({ expired: true, worker, queue, decision: current.decision }));
  current = undefined; // a launcher goes back to its own default now
}

/** Handles a message on the recommend subject or in the inbox. */
function receive(err, message) {
  if (err) return complain(err.message);
  if (message.headers?.code === 503) return complain("no runtime is connected; waiting for one");
  const code = message.headers?.get("Nats-Service-Error-Code");
  if (code === "404") return complain("no recommendation yet; waiting for the first");
  if (code) return complain(`snapshot: ${code} ${message.headers.get("Nats-Service-Error")}`);
  try {
    for (const record of decodeRecords(message.data)) {
      if (record.kind === "recommendation") take(record);
    }
  } catch (err) {
    complain(`ignored ${message.data.length} bytes on ${message.subject}: ${err.message}`);
  }
}

const complain = (text) => console.error(`subscriber: ${text}`);

async function main() {
  const nc = await connect({ servers: server, name: "ringmaster example subscriber", maxReconnectAttempts: -1 });
  // First the subscription, then the question for what came before it, so that
  // nothing falls between them. Both are handled in the order of arrival,
  // which is why the question is not nc.request.
  const inbox = createInbox();
  nc.subscribe(`${prefix}.recommend.${worker}.${queue}`, { callback: receive });
  nc.subscribe(inbox, { callback: receive, max: 1 });
  nc.publish(`${prefix}.snapshot.${worker}.${queue}`, undefined, { reply: inbox });

  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => nc.close());
  const err = await nc.closed();
  clearTimeout(expiry);
  if (err) throw err;
}

main().catch((err) => {
  complain(err.message);
  process.exitCode = 1;
});
