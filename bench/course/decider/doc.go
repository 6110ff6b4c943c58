// Package decider has what a user would write in place of Ringmaster's decision: small pure functions from what
// a queue's owner knows to the geometry of its next launch.
package decider
