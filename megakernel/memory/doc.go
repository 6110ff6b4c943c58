// Package memory is the ring on a device: its buffers, and the ways of the host's words into
// them and back.
package memory
