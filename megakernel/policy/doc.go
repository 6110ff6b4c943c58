// Package policy decides the shape of a GPU queue's next launch.
//
// A decision is a function of four values: a [Config], a [Request] (what is
// known about the queue, its graph and its device), the [State] the previous
// decision left, and nothing else. It returns a [Recommendation] (the launch
// plan and the evidence for it) and the next State. There is no clock, no
// randomness, no logging, no shared memory and, unless an out-of-memory error
// is returned, no allocation: the same values give the same result, bit for
// bit, on every machine and at any later time.
//
// # Stages
//
// A decision runs through these stages, in this order:
//
//  1. infer: fill in frontier density and memory pressure that were not given
//  2. promotion: flag hot opcodes and hot windows
//  3. raw topology: the walk the current values ask for, first match wins;
//     by the frontier's out-edges where they are known, else by its density
//  4. stabilise: keep the previous topology inside its hysteresis band
//  5. shed: cut the worker groups under memory pressure or on a sparse
//     frontier, and keep the previous number where the cut is nearly the same
//  6. geometry: workgroup width, number of groups, padded slots, claim chunk
//  7. pressure: class the queue length against the invocations of one launch
//  8. hit capacity: size the hit buffer
//  9. memory: estimate the peak, and reduce the hits to what the budget allows
//  10. mode: interpreter or compiled kernel, kept inside its band
//  11. age: whether waiting work must be aged
//
// Three functions group the stages by who remembers what: [Observe] (1, 2)
// needs no memory, [Classify] (3, 4) remembers the topology, [Plan] (5 to 11)
// remembers the plan, promotion included. [Decide] is their composition and is
// what replay and the golden vectors run; [DecideInto] is the same in place.
// When several things are wrong at once the error of the earliest stage is
// returned, except that shares above the whole are refused in stage 3.
//
// # Two configurations
//
// [Reference] reproduces the launch policy of vyre-runtime 0.6.2, odd sizing
// included, and is held to that by golden vectors under testdata. [Standard]
// is the default and starts from the same thresholds; every way in which it
// differs is one documented switch of Config.
//
// # Units
//
// bps are basis points, 10,000 to the whole. Divisions of integers truncate
// unless a comment says otherwise. A slot is one unit of work in the queue, a
// width is the number of invocations of a workgroup.
//
// # Beside the decision
//
// [Diffuse] spreads priorities over sibling queues and [PickQueue] chooses
// which of them runs next; [PickWorkgroupSize], [PickHitCapacityMultiplier],
// [NaturalStep] and [DiffuseDiagonal] are the reference's small numeric
// helpers, kept to its exact results.
package policy
