package trace

import "time"

// Span is something that began and ended.
type Span struct {
	Context
	Parent     [8]byte
	Name       string
	Start, End time.Time
	Attributes []Attribute
	Error      string // why it failed, "" if it did not
}

// Attribute is a fact of a span.
type Attribute struct {
	Key   string
	Value any // a string, or a uint64
}

// fact is an attribute of this program's own.
func fact(key string, value any) Attribute { return Attribute{"ringmaster." + key, value} }
