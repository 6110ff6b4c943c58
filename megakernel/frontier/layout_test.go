//go:build cgo

package frontier

import (
	"reflect"
	"strings"
	"testing"
	"unicode"
)

// The driver tells where each word of the blocks lies that host and device share.
func TestTheDriverHasTheWordsWhereTheHostHasThem(t *testing.T) {
	k := newKernels(t)
	p, err := k.Wait(t.Context(), kernel{kind: kindLevel, width: 64}.plain())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release(p)
	err = k.dev.Do(func() error {
		at := func(name string, want uintptr) {
			offset, _, err := k.dev.StorageOffset(p.ID, name)
			if err != nil || offset != int(want) {
				t.Errorf("%s is at %d, want %d (%v)", name, offset, want, err)
			}
		}
		fields := func(prefix string, base uintptr, of reflect.Type) {
			for _, f := range reflect.VisibleFields(of) {
				offset := base + f.Offset
				if len(f.Index) > 1 {
					offset += of.Field(f.Index[0]).Offset
				}
				if f.Type.Kind() == reflect.Uint32 {
					at(prefix+snake(f.Name), offset)
				}
			}
		}
		control, totals := reflect.TypeFor[controlBlock](), reflect.TypeFor[totalsBlock]()
		fields("control_job.", offsetOf(control, "job"), reflect.TypeFor[jobWords]())
		array := func(name string, base uintptr, of reflect.Type) {
			fields(name+"[0].", base, of)
			if _, stride, err := k.dev.StorageOffset(p.ID, name+"[0]."+snake(of.Field(1).Name)); err != nil || stride != int(of.Size()) {
				t.Errorf("%s are %d bytes apart, want %d (%v)", name, stride, of.Size(), err)
			}
		}
		array("rounds", offsetOf(control, "rounds"), reflect.TypeFor[roundWords]())
		array("counted", offsetOf(totals, "counted"), reflect.TypeFor[countWords]())
		array("level_log", 0, reflect.TypeFor[levelRecord]())
		fields("", 0, totals)
		at("team_counts[0]", offsetOf(totals, "teamCounts"))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func offsetOf(of reflect.Type, field string) uintptr {
	f, _ := of.FieldByName(field)
	return f.Offset
}

// snake is the name of a Go field in GLSL.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
