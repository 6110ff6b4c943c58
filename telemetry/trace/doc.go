// Package trace follows what was sent to a runtime under a W3C trace context: a record to the decision that answers it
// and to the decision's first launch, and a batch from the stream to its done record. Its values know neither the bus
// nor where spans go.
//
// What is not sampled by whoever sent it is not followed, and a Book that is nil follows nothing.
package trace
