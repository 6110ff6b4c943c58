package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// Of is the JSON schema of a type as encoding/json writes it: of structs, lists, maps, pointers and plain values. A field
// is required unless its tag lets it be left out.
func Of[T any]() string {
	text, err := json.Marshal(of(reflect.TypeFor[T]()))
	if err != nil {
		panic("bug: " + err.Error()) // maps and lists of texts only
	}
	return string(text)
}

func of(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return of(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": of(t.Elem())}
	case reflect.Struct:
		return object(t)
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{"type": "integer"}
}

// object is the schema of a struct. The fields of one that is embedded without a name are its own.
func object(t reflect.Type) map[string]any {
	fields, required := make(map[string]any), []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			inner := object(f.Type)
			for name, of := range inner["properties"].(map[string]any) {
				fields[name] = of
			}
			required = append(required, inner["required"].([]string)...)
			continue
		}
		if name == "-" || !f.IsExported() {
			continue
		}
		fields[name] = of(f.Type)
		if strings.Contains(options, "string") {
			fields[name] = map[string]any{"type": "string"}
		}
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": fields, "required": required}
}
