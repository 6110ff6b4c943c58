package telemetry

// Rejected reports a refused payload or record.
type Rejected struct {
	Subject    string // subject it came in on
	Reason     string // short code, see the Reason constants in errors.go
	Detail     string // a sentence for people
	Bytes      uint32 // size of the payload
	Suppressed uint64 // refusals not reported since the last report, by the rate limit
}

var rejectedSchema = newSchema(KindRejected, nil,
	text("subject", event, func(r *Rejected) any { return &r.Subject }),
	text("reason", event, func(r *Rejected) any { return &r.Reason }).to(MaxToken).req(),
	text("detail", event, func(r *Rejected) any { return &r.Detail }).to(MaxDetail),
	u32("bytes", event, "bytes", func(r *Rejected) *uint32 { return &r.Bytes }),
	u64("suppressed", event, "records", func(r *Rejected) *uint64 { return &r.Suppressed }),
)

func (r *Rejected) rows() rows { return rejectedSchema }
