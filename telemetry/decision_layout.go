package telemetry

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"ringmaster/megakernel/policy"
)

// layoutKind is how a Go type stands in a decision log.
type layoutKind uint8

const (
	layoutUint  layoutKind = iota // unsigned integer
	layoutInt                     // signed integer
	layoutBool                    // bool
	layoutText                    // string
	layoutName                    // enumeration, by name
	layoutList                    // fixed array
	layoutGroup                   // struct
)

// layout describes a Go type of the decision log. Layouts are derived from
// the types, unlike the schema of the wire: a log is a record of policy's own
// values, and a field that the policy gains has to be in it without anyone
// having to remember that.
type layout struct {
	kind   layoutKind
	bits   int              // of an integer
	names  []string         // of an enumeration, index = value
	codes  map[string]uint8 // the inverse
	elem   *layout          // of a list
	length int              // of a list
	path   string           // of a group, dotted, ends with a dot unless empty
	fields []layoutField    // of a group, in the order of the struct
	byName map[string]int
	// earlier are names that fields had in earlier logs: the field, and the
	// field of it that has the value now.
	earlier map[string][2]int
}

type layoutField struct {
	name    string
	wireKey string
	*layout
}

// layoutOf derives the layout of a type made of integers, bools, strings,
// enumerations (bytes with a String method), fixed arrays and structs of
// exported fields. Any other type is a bug in this program. The path is that
// of the value in the header or entry.
func layoutOf(t reflect.Type, path string) *layout {
	switch t.Kind() {
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if names := enumNames(t); names != nil {
			l := &layout{kind: layoutName, names: names, codes: make(map[string]uint8)}
			for code, name := range names {
				l.codes[name] = uint8(code)
			}
			return l
		}
		return &layout{kind: layoutUint, bits: t.Bits()}
	case reflect.Int64:
		return &layout{kind: layoutInt, bits: t.Bits()}
	case reflect.Bool:
		return &layout{kind: layoutBool}
	case reflect.String:
		return &layout{kind: layoutText}
	case reflect.Array:
		return &layout{kind: layoutList, elem: layoutOf(t.Elem(), path+"[]"), length: t.Len()}
	case reflect.Struct:
		return groupOf(t, path)
	}
	panic(fmt.Sprintf("telemetry: decision log: no layout for %v", t))
}

func groupOf(t reflect.Type, path string) *layout {
	if path != "" {
		path += "."
	}
	if t.NumField() > 64 {
		panic(fmt.Sprintf("telemetry: decision log: %v has more fields than the reader has bits", t))
	}
	l := &layout{kind: layoutGroup, path: path, byName: make(map[string]int)}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			panic(fmt.Sprintf("telemetry: decision log: %v.%s is not exported", t, f.Name))
		}
		name := snakeCase(f.Name)
		l.byName[name] = i
		l.fields = append(l.fields, layoutField{name: name, wireKey: wireKey(name), layout: layoutOf(f.Type, path+name)})
	}
	if t == reflect.TypeFor[policy.Request]() {
		at := l.byName["tuned"]
		l.earlier = map[string][2]int{"tuned_width": {at, l.fields[at].byName["width"]}}
	}
	return l
}

// enumNames asks the values of a byte type for their names, from 0 to the
// first that has none: it is then called "type(number)".
func enumNames(t reflect.Type) (names []string) {
	if t.Kind() != reflect.Uint8 || !t.Implements(reflect.TypeFor[fmt.Stringer]()) {
		return nil
	}
	for code := range uint64(256) {
		v := reflect.New(t).Elem()
		v.SetUint(code)
		name := v.Interface().(fmt.Stringer).String()
		if strings.Contains(name, "(") {
			break
		}
		names = append(names, name)
	}
	return names
}

// name is that of an enumeration's value. A value without one is a bug in the
// policy; the reader refuses what is written for it.
func (l *layout) name(v reflect.Value) string {
	if code := v.Uint(); code < uint64(len(l.names)) {
		return l.names[code]
	}
	return "unnamed"
}

// snakeCase turns a Go name into a key: a word begins at an upper-case letter
// that follows a lower-case one or precedes one.
func snakeCase(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, c := range letters {
		if i > 0 && unicode.IsUpper(c) {
			after := unicode.IsLower(letters[i-1]) || unicode.IsDigit(letters[i-1])
			before := i+1 < len(letters) && unicode.IsLower(letters[i+1])
			if after || before {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
