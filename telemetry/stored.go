package telemetry

// Stored is a decision as the decision stream has it. Sequences count all messages of the
// stream; those of a queue increase.
type Stored struct {
	Sequence       uint64 // from 1
	Header         Header
	Recommendation Recommendation
}

// Written is what became of a decision that was to be stored.
type Written uint8

// What becomes of a decision that is to be stored.
const (
	WrittenStored  Written = iota // the stream has it
	WrittenRefused                // the stream has another one after the one that it was to follow
	WrittenUnknown                // the answer was lost: the stream may have it, or get it later
	WrittenAway                   // there is no connection or no stream: nothing was sent
)
