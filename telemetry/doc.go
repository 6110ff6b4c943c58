// Package telemetry is the wire of Ringmaster: the records that producers,
// workers and subscribers exchange, their msgpack encoding, the structure check
// that every payload passes before it is decoded, and the subjects they travel
// on. It does no I/O.
//
// A receiver calls Check on the payload, then Decoder.Next until io.EOF; a
// sender appends records to a buffer with the Append functions.
//
// A schema is one row for every field of a kind, beside its struct; encoder and
// decoder are driven by it. docs/wire.md says the same for people and for other
// languages, with what the fields mean, and a test compares the two.
//
// To read the package: queue.go (a kind: its struct and its rows), schema.go and value.go (what a row
// says), check.go, reader.go and decode.go (bytes into records), encode.go (records into bytes), subjects.go,
// then the other kinds, each in a file of its name.
package telemetry
