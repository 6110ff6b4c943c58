package glcompute

// The answers of Device.GraphicsReset.
const (
	ResetNone     uint32 = iota // no reset
	ResetGuilty                 // caused by this context
	ResetInnocent               // caused by another context
	ResetUnknown                // cause unknown
)
