package telemetry

import (
	"errors"
	"fmt"
)

// Reason codes: why a payload or a record was refused. They are part of the
// wire (field reason of a rejected record) and never change their meaning.
const (
	ReasonMalformed      = "malformed"       // not well-formed msgpack, cut short, or not a map or array
	ReasonOversized      = "oversized"       // payload, string, list, nesting or record count above its cap
	ReasonExtension      = "extension"       // a msgpack extension type
	ReasonUnknownKind    = "unknown_kind"    // kind is none of those in the schema
	ReasonWrongKind      = "wrong_kind"      // a known kind on a subject that does not carry it
	ReasonMissingField   = "missing_field"   // a required field is absent
	ReasonDuplicateField = "duplicate_field" // a key occurs twice in one record
	ReasonWrongType      = "wrong_type"      // the value is not of the field's type
	ReasonOutOfRange     = "out_of_range"    // the value is of the type but not in the field's range
	ReasonBadText        = "bad_text"        // a string that is not valid UTF-8
	ReasonBadToken       = "bad_token"       // not 1..64 of [A-Za-z0-9_-], or a reserved name
	ReasonBadSubject     = "bad_subject"     // the subject is none of this schema
	ReasonInconsistent   = "inconsistent"    // each field is valid, together they cannot be
	ReasonRefused        = "refused"         // the receiver declined a valid record
)

// RecordError says which record of a payload was refused and why. Decoder.Next
// and Check return no other error type besides io.EOF.
type RecordError struct {
	Index  int    // record in its payload, from 0
	Kind   Kind   // KindInvalid if it was not known yet
	Field  string // wire name, empty if the record as a whole is meant
	Reason string // one of the Reason constants
	Err    error  // what was found and what was wanted; never contains payload text
}

// Error names the record, its kind, the field, the reason, and the detail.
func (e *RecordError) Error() string {
	where := fmt.Sprintf("record %d", e.Index)
	if e.Kind != KindInvalid {
		where += " (" + e.Kind.String() + ")"
	}
	if e.Field != "" {
		where += ": " + e.Field
	}
	if e.Err == nil {
		return fmt.Sprintf("%s: %s", where, e.Reason)
	}
	return fmt.Sprintf("%s: %s: %v", where, e.Reason, e.Err)
}

// Unwrap returns the detail.
func (e *RecordError) Unwrap() error { return e.Err }

// ReasonOf returns the reason code that err carries, ReasonRefused if it
// carries none, and "" if err is nil.
func ReasonOf(err error) string {
	if err == nil {
		return ""
	}
	var re *RecordError
	if errors.As(err, &re) {
		return re.Reason
	}
	var se *SubjectError
	if errors.As(err, &se) {
		return se.Reason
	}
	return ReasonRefused
}

// refusal is the internal form of a reason: small, comparable, and free to
// return from the hot path. The zero value means "accepted".
type refusal uint8

const (
	accepted refusal = iota
	refuseMalformed
	refuseOversized
	refuseExtension
	refuseUnknownKind
	refuseMissing
	refuseDuplicate
	refuseType
	refuseRange
	refuseText
	refuseToken
	refuseInconsistent
)

var refusalReasons = [...]string{
	accepted:           "",
	refuseMalformed:    ReasonMalformed,
	refuseOversized:    ReasonOversized,
	refuseExtension:    ReasonExtension,
	refuseUnknownKind:  ReasonUnknownKind,
	refuseMissing:      ReasonMissingField,
	refuseDuplicate:    ReasonDuplicateField,
	refuseType:         ReasonWrongType,
	refuseRange:        ReasonOutOfRange,
	refuseText:         ReasonBadText,
	refuseToken:        ReasonBadToken,
	refuseInconsistent: ReasonInconsistent,
}

func (f refusal) reason() string { return refusalReasons[f] }
