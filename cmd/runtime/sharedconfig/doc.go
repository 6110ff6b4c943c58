// Package sharedconfig is about settings that processes share through a bucket of the NATS server: the commands that store
// and list them, and the copy that a machine keeps, by which a process begins before it has reached the server.
package sharedconfig
