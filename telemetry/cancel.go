package telemetry

// CancelFound says what a worker found of a batch that is to be withdrawn.
type CancelFound uint8

// What became of a request to withdraw a batch.
const (
	CancelUnseen    CancelFound = iota // not taken yet; it will not run if it comes
	CancelWithdrawn                    // what no launch had begun is dropped
	CancelFinished                     // nothing is left to withdraw
)

var cancelFoundNames = []string{CancelUnseen: "unseen", CancelWithdrawn: "canceled", CancelFinished: "finished"}

// String returns the wire name.
func (f CancelFound) String() string { return nameOf(cancelFoundNames, uint8(f), "found") }

// Cancel asks for a batch of a queue to be withdrawn, and answers it.
type Cancel struct {
	Batch string
	Found CancelFound // of an answer
	Slots uint32      // of an answer: dropped so far
}

// AppendCancel appends a cancel record with all its fields.
func AppendCancel(dst []byte, f Form, h *Header, c *Cancel) []byte {
	return appendRecord(dst, f, h, cancelSchema, c)
}
