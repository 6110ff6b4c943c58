package explain

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// Schema is the JSON schema of an Explanation, from its fields.
func Schema() string {
	text, err := json.Marshal(schemaOf(reflect.TypeFor[Explanation]()))
	if err != nil {
		panic("bug: " + err.Error())
	}
	return string(text)
}

func schemaOf(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case t.Kind() == reflect.Struct:
		fields := make(map[string]any)
		for i := range t.NumField() {
			name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if fields[name] = schemaOf(t.Field(i).Type); options == "string" {
				fields[name] = map[string]any{"type": "string"}
			}
		}
		return map[string]any{"type": "object", "properties": fields}
	case t.Kind() == reflect.String:
		return map[string]any{"type": "string"}
	}
	return map[string]any{"type": "number"}
}
