// Package graphs runs algorithms over graphs on a device. A [Spec] says what to run; [Run]
// does it on this machine, deciding by the policy directly, and a [Store] does it for the
// queues of a worker, whose actors decide. Both give a [Report].
package graphs
