package decisionlog

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"ringmaster/megakernel/policy"
)

func aDecided() *Decided {
	return &Decided{
		Node: 0xfedcba9876543210, Write: 7, Previous: 41, Config: "0123456789abcdef", Software: "v1", Rejoined: true,
		Entry:  Entry{Worker: "w", Queue: "q", Decision: 3, Request: policy.Request{QueueLen: 5}},
		Memory: []byte(`{"a":1}`),
	}
}

func TestDecidedComesBack(t *testing.T) {
	b, err := EncodeDecided(aDecided())
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeDecided(b)
	want := aDecided()
	want.Format = DecidedFormat
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDecidedIsRefused(t *testing.T) {
	good, _ := EncodeDecided(aDecided())
	for name, b := range map[string]string{
		"nothing":           "",
		"no object":         "[]",
		"cut":               string(good[:len(good)-1]),
		"two":               string(good) + string(good),
		"too large":         string(good) + strings.Repeat(" ", 32<<10),
		"no decision":       strings.Replace(string(good), `"decision":3`, `"decision":0`, 1),
		"no node":           strings.Replace(string(good), `"node":"fedcba9876543210"`, `"node":"0"`, 1),
		"no write":          strings.Replace(string(good), `"write":"0000000000000007"`, `"write":"0"`, 1),
		"a name of no kind": strings.Replace(string(good), `"queue":"q"`, `"queue":"a.b"`, 1),
		"a long config":     strings.Replace(string(good), `0123456789abcdef`, strings.Repeat("0", 65), 1),
	} {
		if d, err := DecodeDecided([]byte(b)); err == nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
	newer := strings.Replace(string(good), `"format":1`, `"format":2`, 1)
	if _, err := DecodeDecided([]byte(newer)); !errors.Is(err, ErrNewer) {
		t.Errorf("a newer one: %v", err)
	}
	large := aDecided()
	large.Memory = []byte(`"` + strings.Repeat("x", 32<<10) + `"`)
	if _, err := EncodeDecided(large); !errors.Is(err, ErrLarge) {
		t.Errorf("a large one: %v", err)
	}
}

func TestAConfigurationHasOneName(t *testing.T) {
	a, b := policy.Standard(), policy.Standard()
	if b.PriorityAgeThreshold++; ConfigName(&a) == ConfigName(&b) || len(ConfigName(&a)) != 16 {
		t.Errorf("%s %s", ConfigName(&a), ConfigName(&b))
	}
}

func TestAConfigurationComesBackByItsName(t *testing.T) {
	c := policy.Standard()
	name, text := ConfigName(&c), ConfigText(&c)
	if got, err := ParseConfig(name, text); err != nil || *got != c {
		t.Errorf("%+v, %v", got, err)
	}
	for _, damaged := range []string{"", "{}", strings.Replace(string(text), ":", ":1", 1)} {
		if _, err := ParseConfig(name, []byte(damaged)); err == nil {
			t.Errorf("%.30q was taken for %s", damaged, name)
		}
	}
	newer := append([]byte(`{"added":1,`), text[1:]...)
	if _, err := ParseConfig(nameOf(newer), newer); !errors.Is(err, ErrNewer) {
		t.Errorf("of a newer version: %v", err)
	}
	if c.SaturatedWaves = 0; c.Validate() == nil {
		t.Fatal("this is a valid configuration")
	} else if _, err := ParseConfig(ConfigName(&c), ConfigText(&c)); err == nil {
		t.Error("one that does not validate was taken")
	}
}

func FuzzDecodeDecided(f *testing.F) {
	good, _ := EncodeDecided(aDecided())
	f.Add(good)
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := DecodeDecided(b)
		if err != nil {
			return
		}
		again, err := EncodeDecided(d)
		if errors.Is(err, ErrLarge) {
			return // escapes take more room than what they stand for
		}
		if _, err := DecodeDecided(again); err != nil {
			t.Fatalf("%q: %v", again, err)
		}
	})
}
