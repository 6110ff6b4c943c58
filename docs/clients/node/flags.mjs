// Command-line flags of the programs beside this file.

import { parseArgs } from "node:util";

const common = {
  server: { type: "string", default: process.env.NATS_URL ?? "nats://127.0.0.1:4222" },
  prefix: { type: "string", default: "ringmaster.v1" },
  worker: { type: "string", default: "example" },
  queue: { type: "string", default: "frontier" },
};

/** Parses the common flags, some numbers with their defaults and some switches.
 * Wrong usage ends the process with exit code 2. */
export function parseFlags(program, { numbers = {}, switches = [] } = {}) {
  const options = { ...common };
  for (const [name, value] of Object.entries(numbers)) options[name] = { type: "string", default: String(value) };
  for (const name of switches) options[name] = { type: "boolean", default: false };
  try {
    const { values } = parseArgs({ options });
    for (const name of Object.keys(numbers)) {
      if (!/^\d+$/.test(values[name])) throw new Error(`--${name} ${values[name]}: want a whole number`);
      values[name] = Number(values[name]);
    }
    for (const name of ["worker", "queue"]) {
      if (!/^[A-Za-z0-9_-]{1,64}$/.test(values[name])) throw new Error(`--${name} ${values[name]}: want 1 to 64 of A-Z a-z 0-9 _ -`);
    }
    return values;
  } catch (err) {
    console.error(`${program}: ${err.message}`);
    process.exit(2);
  }
}
