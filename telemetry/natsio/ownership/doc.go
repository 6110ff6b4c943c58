// Package ownership finds out which process decides for which worker. There is no
// consensus in it: every process says on one subject, <prefix>.decider, for which workers
// it can decide, and each works out the owner of a worker from the claims that it knows,
// by the same rule (Roster.Owner). Two that know different claims may both take themselves
// for the owner for a while. What they decide then goes through compare-and-set on the
// decision stream, so that disagreement costs refused writes and never a second decision.
//
// A claim is text from the bus. One for all workers counts only while its process answers
// requests on <prefix>.node.<incarnation>: the server says at once when nobody listens
// there any more, and a process that is silent for 150 ms of requests is presumed hung until it
// answers again. So whoever can claim, and cannot listen, decides nothing. A claim for a
// worker by its name counts for three seconds; whoever may publish on <prefix>.decider can
// silence that worker's decisions, so permit it to processes that decide only.
package ownership
