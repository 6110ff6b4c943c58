package telemetry

// Outcome says what became of a submitted batch, so that the consumer of the
// work stream knows how to acknowledge it.
type Outcome uint8

// Outcomes of a batch.
const (
	OutcomeDone      Outcome = iota // executed and its done record is with the server: acknowledge
	OutcomeDuplicate                // executed before: acknowledge
	OutcomeRefused                  // will never run: terminate, and say why on the rejected subject
	OutcomeRetry                    // not run here (shutdown, a fault of this process): let it be delivered again
	OutcomeBusy                     // not settled for now, for reasons that are not the batch's: hand it over again later
	OutcomeQueueBusy                // the same for reasons of its queue, over its quota or stopped: likewise, but refuse it if many of the queue wait
)
