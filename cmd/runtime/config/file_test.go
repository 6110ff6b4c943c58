package config

import (
	"reflect"
	"strings"
	"testing"

	"ringmaster/megakernel/policy"
)

var known = []string{"rate", "worker", "pool", "share-device", "drain", "http"}

func TestAFileSetsWhatItNames(t *testing.T) {
	f, err := Parse([]byte("# a comment\nrate = 5e4\nworker = 'gpu7'\n\npool = [ \"a\", # first\n \"b\" ]\nshare-device = true\n[policy]\nbase = \"reference\"\ndwell = 3\n[policy.sizing]\nbatch_depth = 4096\n"), known)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"rate": "5e4", "worker": "gpu7", "pool": []any{"a", "b"}, "share-device": true} {
		if got, line, set := f.Value(key); !set || !reflect.DeepEqual(got, want) || line == 0 {
			t.Errorf("%s = %v in line %d, want %v", key, got, line, want)
		}
	}
	if _, line, _ := f.Value("share-device"); line != 7 {
		t.Errorf("share-device stands in line %d, want 7", line)
	}
	if _, _, set := f.Value("drain"); set || len(f.Keys()) != 4 {
		t.Errorf("keys %v", f.Keys())
	}
	want := policy.Reference()
	want.Dwell, want.Sizing.BatchDepth = 3, 4096
	if f.Policy == nil || *f.Policy != want {
		t.Errorf("policy %+v", f.Policy)
	}
	if f, err := Parse(nil, known); err != nil || f.Policy != nil || len(f.Keys()) != 0 {
		t.Errorf("an empty file: %+v, %v", f, err)
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"\n  rat = 5":                       `line 2, column 3: there is no setting "rat"`,
		"share_device = true":               "; did you mean share-device?",
		"drian = '3s'":                      "; did you mean drain?",
		"zzz = 3":                           "; `ringmaster config sample` lists them",
		"rate = 3\nrate = 4":                "line 2",
		"rate = ":                           "line 1, column",
		"rate = 2026-01-01":                 "line 1, column 1: rate: want a text",
		"pool = [1]":                        "want a list of texts",
		"pool = {a = 1}":                    "want a text",
		"[run]\nrate = 3":                   "line 1, column 2: there is no table [run]",
		"[[policy]]\ndwell = 3":             "there is no table [policy]",
		"policy = 'reference'":              "policy is a table",
		"policy.dwell = 3":                  "policy is a table",
		"rate = 3\n[policy]\n\nnothing = 1": `line 4, column 1: there is no key "policy.nothing"`,
		"[policy]\nbase = 'other'":          "want standard or reference",
		"[policy]\ndwell = 'x'":             "line 2",
		"\xff = 1":                          "line 1",
		strings.Repeat("#", MaxBytes+1):     "want at most",
	} {
		if _, err := Parse([]byte(text), known); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("rate = 3\npool = ['a']\n[policy]\ndwell = 3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data, known)
		if err == nil && file.Policy != nil && file.Policy.Validate() != nil {
			t.Errorf("thresholds that contradict each other: %+v", file.Policy)
		}
	})
}
