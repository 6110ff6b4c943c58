package telemetry

import (
	"fmt"
	"reflect"
	"strconv"
)

// DecisionDifference is one field in which two values of a decision log differ.
type DecisionDifference struct {
	Field string // dotted, as in the log
	A, B  string // enumerations by name, texts quoted
}

// DiffDecisions returns every field in which two entries differ, in the order
// of the struct. Entries without a difference have the same bytes in a log.
func DiffDecisions(a, b *DecisionEntry) []DecisionDifference {
	return diffLayout(nil, decisionEntryLayout, "", reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
}

// DiffDecisionHeaders returns every field in which two headers differ.
func DiffDecisionHeaders(a, b *DecisionHeader) []DecisionDifference {
	return diffLayout(nil, decisionHeaderLayout, "", reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
}

func diffLayout(list []DecisionDifference, l *layout, name string, a, b reflect.Value) []DecisionDifference {
	switch l.kind {
	case layoutGroup:
		for i := range l.fields {
			f := &l.fields[i]
			list = diffLayout(list, f.layout, joinField(name, f.name), a.Field(i), b.Field(i))
		}
	case layoutList:
		for i := range l.length {
			list = diffLayout(list, l.elem, fmt.Sprintf("%s[%d]", name, i), a.Index(i), b.Index(i))
		}
	default:
		if va, vb := l.text(a), l.text(b); va != vb {
			list = append(list, DecisionDifference{Field: name, A: va, B: vb})
		}
	}
	return list
}

// DecisionField is one field of an entry that is not zero.
type DecisionField struct {
	Field string // dotted, as in the log
	Value string
}

// Fields returns the entry's fields that are not zero, which are those that a
// log holds, in the order of the struct.
func (e *DecisionEntry) Fields() []DecisionField {
	return listLayout(nil, decisionEntryLayout, "", reflect.ValueOf(e).Elem())
}

func listLayout(list []DecisionField, l *layout, name string, v reflect.Value) []DecisionField {
	if v.IsZero() {
		return list
	}
	switch l.kind {
	case layoutGroup:
		for i := range l.fields {
			f := &l.fields[i]
			list = listLayout(list, f.layout, joinField(name, f.name), v.Field(i))
		}
	case layoutList:
		for i := range l.length {
			list = listLayout(list, l.elem, fmt.Sprintf("%s[%d]", name, i), v.Index(i))
		}
	default:
		list = append(list, DecisionField{Field: name, Value: l.text(v)})
	}
	return list
}

func joinField(group, name string) string {
	if group == "" {
		return name
	}
	return group + "." + name
}

// text is a single value for people.
func (l *layout) text(v reflect.Value) string {
	switch l.kind {
	case layoutUint:
		return strconv.FormatUint(v.Uint(), 10)
	case layoutInt:
		return strconv.FormatInt(v.Int(), 10)
	case layoutBool:
		return strconv.FormatBool(v.Bool())
	case layoutName:
		return l.name(v)
	}
	return strconv.Quote(cut(v.String(), MaxDecisionText))
}
