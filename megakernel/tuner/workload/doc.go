// Package workload describes what a ring is tuned for: how many slots a launch
// has, which opcodes they name and with which operands.
//
// A [Workload] is a description in plain values. [Workload.Each] lists its slots, the
// same ones every time. It knows opcodes by name only; whoever has a catalog makes the
// slots of a ring from it. [Bundled] are the workloads with which tuners are measured:
// 256 to 1 Mi slots, light opcodes, heavy ones, and mixes in which few slots are most of
// the work.
package workload
