// Package fixed is the launch that a CUDA programmer writes without Ringmaster: one geometry for a device,
// whatever waits. It is the yardstick of the demo, and one of the course's deciders. No command serves with it.
package fixed
