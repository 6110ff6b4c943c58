package decisionlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Field is one value of an entry that is not zero.
type Field struct {
	Name  string // dotted, as in the log: plan.reasons[0].held
	Value string
}

// Fields returns the values of an entry that are not zero, in the order of the log.
func (e *Entry) Fields() []Field { return fieldsOf(mustMarshal(e)) }

// Difference is one field in which two entries differ.
type Difference struct {
	Name string
	A, B string // "-" where the field is zero
}

// Diff returns every field in which two entries differ: those of a in its order, then
// those that only b has. Entries without a difference have the same bytes in a log.
func Diff(a, b *Entry) (list []Difference) {
	left, right := a.Fields(), b.Fields()
	find := func(fields []Field, name string) string {
		if i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name }); i >= 0 {
			return fields[i].Value
		}
		return "-"
	}
	for _, f := range left {
		if other := find(right, f.Name); other != f.Value {
			list = append(list, Difference{f.Name, f.Value, other})
		}
	}
	for _, f := range right {
		if find(left, f.Name) == "-" {
			list = append(list, Difference{f.Name, "-", f.Value})
		}
	}
	return list
}

// fieldsOf lists the scalars of a JSON object that this package has written.
func fieldsOf(object []byte) (list []Field) {
	tokens := json.NewDecoder(bytes.NewReader(object))
	tokens.UseNumber()
	next := func() json.Token {
		t, err := tokens.Token()
		if err != nil {
			panic(fmt.Sprintf("decision log: own encoding: %v", err))
		}
		return t
	}
	var value func(name string)
	value = func(name string) {
		switch t := next(); t {
		case json.Delim('{'):
			for tokens.More() {
				key := next().(string)
				if name != "" {
					key = name + "." + key
				}
				value(key)
			}
			next()
		case json.Delim('['):
			for i := 0; tokens.More(); i++ {
				value(fmt.Sprintf("%s[%d]", name, i))
			}
			next()
		default:
			list = append(list, Field{name, fmt.Sprint(t)})
		}
	}
	value("")
	return list
}
