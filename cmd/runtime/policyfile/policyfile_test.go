package policyfile

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ringmaster/megakernel/policy"
)

func TestFileChangesWhatItNames(t *testing.T) {
	want := policy.Reference()
	want.JITQueueLenThreshold, want.Steady, want.Sizing.BatchDepth = 9_000, true, 4_096
	got, err := Parse([]byte("[policy]\nbase = \"reference\"\njit_queue_len_threshold = 9_000\nsteady = true\n[policy.sizing]\nbatch_depth = 4096\n"))
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Parse(nil); err != nil || got != policy.Standard() {
		t.Errorf("an empty file: %+v, %v", got, err)
	}
}

func TestWhatIsWrongIsNamedWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"[policy]\n\njit_queue_len = 3":            `line 3, column 1: there is no key "policy.jit_queue_len"; did you mean policy.jit_queue_len_hysteresis or policy.jit_queue_len_threshold?`,
		"[policy.sizing]\nturn_ms = 3":             `line 2, column 1: there is no key "policy.sizing.turn_ms"; did you mean policy.sizing.turn_us?`,
		"[policy]\ndwell = \"8\"":                  "line 2, column 9: policy.dwell is of another kind: a number, ",
		"[policy]\nsparse_frontier_bps = 70000":    "policy.sparse_frontier_bps is beyond what it can be",
		"[policy]\nsparse_frontier_bps = -1":       "policy.sparse_frontier_bps is beyond what it can be",
		"[policy]\nbase = \"best\"":                `base = "best": want standard or reference`,
		"[policy]\ndwell = 0":                      "dwell is 0, want at least 1",
		"[policy]\nsparse_frontier_bps = 4000":     "overlap",
		"[policy]\nmin_hit_capacity = 1\nx = [":    "line 3",
		"[Policy]\nmin_hit_capacity = 1\nx = true": "line 3, column 1: there is no key",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.toml")
	if err := os.WriteFile(path, []byte(strings.Repeat("#", MaxBytes+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{path, t.TempDir(), path + ".none"} {
		if _, err := read(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A constant has one name, in logs and in files.
func TestNamesAreThoseOfTheLog(t *testing.T) {
	var check func(reflect.Type)
	check = func(typ reflect.Type) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			if json, _, _ := strings.Cut(f.Tag.Get("json"), ","); json == "" || json != f.Tag.Get("toml") {
				t.Errorf("%s.%s is %q in a log and %q in a file", typ, f.Name, json, f.Tag.Get("toml"))
			}
			if f.Type.Kind() == reflect.Struct {
				check(f.Type)
			}
		}
	}
	check(reflect.TypeFor[policy.Config]())
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("[policy]\nbase = \"reference\"\ndwell = 3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if cfg, err := Parse(data); err == nil && cfg.Validate() != nil {
			t.Error("a configuration that is not valid")
		}
	})
}

// The sample sets nothing; with the comments taken away it has every threshold as the standard policy does.
func TestTheSampleHasEveryThreshold(t *testing.T) {
	sample := Sample()
	if got, err := Parse([]byte(sample)); err != nil || got != policy.Standard() {
		t.Errorf("%+v, %v", got, err)
	}
	_, table, _ := strings.Cut(sample, "#[policy]")
	if got, err := Parse([]byte(strings.ReplaceAll("[policy]"+table, "\n#", "\n"))); err != nil || got != policy.Standard() {
		t.Errorf("%+v, %v", got, err)
	}
	standard := policy.Standard()
	for name, value := range Flatten(&standard) {
		if line := "\n#" + name[strings.LastIndex(name, ".")+1:] + " = " + value + "\n"; !strings.Contains(sample, line) {
			t.Errorf("no line %q", line)
		}
	}
}

// A threshold that is turned off differs as one that is turned on does.
func TestFieldsThatAreZeroHaveANameToo(t *testing.T) {
	standard := policy.Standard()
	off := standard
	off.Steady, off.AuditLaunches = false, 0
	fields, usual := Flatten(&off), Flatten(&standard)
	if fields["policy.steady"] != "false" || fields["policy.audit_launches"] != "0" || len(fields) != len(usual) {
		t.Errorf("%v", fields)
	}
}
