package policy

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestDecideIsTheCompositionOfItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, req, prev := anyConfig.Draw(t, "cfg"), anyRequest.Draw(t, "req"), anyState.Draw(t, "prev")
		rec, next, err := Decide(&cfg, &req, prev)
		o := Observe(&cfg, &req)
		c, topology := Classify(&cfg, &o, prev.Topology)
		rec2, plan, err2 := Plan(&cfg, &o, &c, prev.Plan)
		if rec != rec2 || next != (State{topology, plan}) || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("whole %+v, %+v, %v\nparts %+v, %+v %+v, %v", rec, next, err, rec2, topology, plan, err2)
		}
		into, state := dirty(), prev
		if err3 := DecideInto(&cfg, &req, &state, &into); into != rec || state != next || fmt.Sprint(err) != fmt.Sprint(err3) {
			t.Fatalf("by value %+v, %+v, %v\nin place %+v, %+v, %v", rec, next, err, into, state, err3)
		}
		if err != nil && (next.Plan != prev.Plan || rec != (Recommendation{})) {
			t.Fatalf("error %v came with plan state %+v, recommendation %+v", err, next.Plan, rec)
		}
	})
}

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
