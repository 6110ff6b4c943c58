// Package telemetry is the wire of Ringmaster: the records that producers,
// workers and subscribers exchange, their msgpack encoding in two forms, the
// structure check that every payload passes before it is decoded, and the
// subjects they travel on. It does no I/O.
package telemetry
