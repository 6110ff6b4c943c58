// Package embedded runs a NATS server with JetStream inside the process, for those
// who have none of their own: one machine, demonstrations, tests. It asks nobody who
// they are, so it listens on loopback addresses unless told otherwise. Programs that
// only connect need nothing of it and do not link it.
package embedded
