// Package kernel has all that determines what a slot does: the opcodes ([Catalog]), the
// sources of the kernels that run them, the Go reference that defines them, and the
// arithmetic of the loop budget that bounds a dispatch. It uses no device.
//
// # Opcodes
//
// One row of the table in opcode.go says everything that the host knows about a built-in
// opcode; refusals, steps, what a lease reads, what may be fused or packed, and the
// constants of the kernels follow from it. What the opcode does is written twice: in
// reference_execute.go and in shaders/execute.glsl. Tests run both on the same memory
// and compare all of it.
//
// A new opcode takes three places: its number and row, its case in the reference, its
// case and body in GLSL. Tests then ask for a row in docs/ring.md, for slots of it among
// the random programs of the engine's parity tests, and for go test -update here.
//
// # Kernels
//
// A [Kernel] names one of four: the interpreter, which has the bodies of all opcodes; a
// fused kernel, which has those of a few and leaves other slots on a list that the
// interpreter drains; an exact one, a fused kernel for waves that have no other slots;
// and a lease's, which stays on the device and takes slots from a mailbox. With the
// catalog it determines the source, [Catalog.Source]: the constants of the host, then
// files of shaders, chosen by the definitions in front of them.
//
// Sources as the driver gets them are in generated; a test compares them, so that a
// change shows in review. "ringmaster kernel print" shows any.
package kernel
