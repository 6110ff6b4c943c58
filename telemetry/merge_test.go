package telemetry

import (
	"reflect"
	"testing"
)

func TestMergeKnowsEveryField(t *testing.T) {
	mergesEveryField(t, (*Queue).Merge)
	mergesEveryField(t, (*Graph).Merge)
	mergesEveryField(t, (*Priority).Merge)
}

// A record that carries everything is taken as a whole.
func TestMergeOfAFullRecordLeavesNothingOld(t *testing.T) {
	old, newer := fullQueue(), Queue{Has: HasAllQueue, QueueLen: 1, MaxWorkgroupSizeX: 64, ExecutedCount: 9}
	old.Merge(&newer)
	if old != newer {
		t.Errorf("merged: %+v, want %+v", old, newer)
	}
}

func mergesEveryField[T any](t *testing.T, merge func(dst, src *T)) {
	full := new(T)
	fields := reflect.ValueOf(full).Elem()
	for i := range fields.NumField() {
		switch f := fields.Field(i); f.Kind() {
		case reflect.Float64:
			f.SetFloat(float64(i))
		case reflect.Bool:
			f.SetBool(true)
		default:
			f.SetUint(uint64(i))
		}
	}
	for i := 1; i < fields.NumField(); i++ {
		name := fields.Type().Field(i).Name
		fields.Field(0).SetUint(1 << (i - 1))
		got := new(T)
		merge(got, full)
		for j := range fields.NumField() {
			kept := name != "TakeOver" // an event belongs to its record alone
			if set := !reflect.ValueOf(got).Elem().Field(j).IsZero(); set != (kept && (j == 0 || j == i)) {
				t.Errorf("%s of %T: field %d is set: %v", name, *got, j, set)
			}
		}
	}
}
