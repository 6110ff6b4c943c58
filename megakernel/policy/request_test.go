package policy

import (
	"reflect"
	"testing"
)

// A field that no stage looks at would be asked of publishers, logged and replayed in vain.
func TestEveryFieldOfARequestCanChangeADecision(t *testing.T) {
	cfg := Standard()
	cfg.AuditLaunches = 2
	decide := func(r *Request) (Recommendation, string) {
		plan, _, err := Decide(&cfg, r, State{})
		if err != nil {
			return plan, err.Error()
		}
		return plan, ""
	}
	var check func(name string, index []int, typ reflect.Type)
	check = func(name string, index []int, typ reflect.Type) {
		if typ.Kind() == reflect.Struct {
			for f := range typ.Fields() {
				check(name+"."+f.Name, append(index[:len(index):len(index)], f.Index...), f.Type)
			}
			return
		}
		for seed := range 1000 {
			one, other := anyRequest.Example(seed), anyRequest.Example(seed+1000)
			changed := one
			reflect.ValueOf(&changed).Elem().FieldByIndex(index).Set(reflect.ValueOf(&other).Elem().FieldByIndex(index))
			plan, err := decide(&one)
			plan2, err2 := decide(&changed)
			if plan != plan2 || err != err2 {
				return
			}
		}
		t.Errorf("%s changes no decision", name)
	}
	check("Request", nil, reflect.TypeFor[Request]())
}
