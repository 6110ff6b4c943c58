// Package advisory tells operators what happens in a fleet, as JSON events that any NATS client can read, in the manner of
// JetStream's: `nats sub 'ringmaster.v1.advisory.>'`. An event is news, sent once and kept by nobody; how things are now
// is in the status, the state and the metrics.
package advisory
