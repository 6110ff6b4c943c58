package policy

import "reflect"

// dirty is a recommendation without a single zero field, as one that is used
// again for the next decision may be.
func dirty() Recommendation {
	var rec Recommendation
	soil(reflect.ValueOf(&rec).Elem())
	return rec
}

func soil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			soil(v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			soil(v.Index(i))
		}
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetUint(1)
	}
}
