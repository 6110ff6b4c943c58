// Package workload describes what a ring is tuned for: how many slots a launch
// has, which opcodes they name and with which operands.
//
// A [Workload] is a description in values. [Workload.Each] lists its slots, the
// same ones every time; it knows opcodes by name only, so whoever has a catalog
// makes slots of them. [Bundled] are the workloads that tuners are measured with:
// lengths from 256 slots to a mebislot, light opcodes, heavy ones, and mixes of
// which few slots are most of the work.
package workload
