package natsio

import (
	"fmt"

	"ringmaster/telemetry"
)

// decodeOne reads a payload that holds exactly one record of a kind that
// belongs on subjects of the class.
func decodeOne(d *telemetry.Decoder, r *telemetry.Record, payload []byte,
	limits telemetry.CheckLimits, class telemetry.SubjectClass) error {
	limits.MaxRecords = 1
	if _, err := telemetry.Check(payload, limits); err != nil {
		return err
	}
	d.Reset(payload)
	if err := d.Next(r); err != nil {
		return err
	}
	if !class.Carries(r.Kind) {
		return &telemetry.RecordError{
			Kind: r.Kind, Reason: telemetry.ReasonWrongKind,
			Err: fmt.Errorf("kind %v on a %v subject", r.Kind, class),
		}
	}
	return nil
}
