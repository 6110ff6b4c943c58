package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"ringmaster/megakernel/tuner/session"
)

func TestInvalidAutotunerIsWrongUsageWhereverItStands(t *testing.T) {
	for _, command := range []string{"run", "demo"} {
		got := ringmaster(t, t.Context(), "", command, "--autotuner", "sometimes")
		if got.code != 2 || !strings.Contains(got.err, "sometimes") || !strings.Contains(got.err, "natural") {
			t.Errorf("%s: exit code %d, %q", command, got.code, got.err)
		}
		t.Setenv("RINGMASTER_AUTOTUNER", "perhaps")
		got = ringmaster(t, t.Context(), "", command, "--limit", "1s")
		if got.code != 2 {
			t.Errorf("%s by its environment: exit code %d, %q", command, got.code, got.err)
		}
		os.Unsetenv("RINGMASTER_AUTOTUNER")
	}
}

func TestEmptyTunerCacheKeepsNoFiles(t *testing.T) {
	for _, c := range []struct{ env, want string }{{"", ""}, {"/somewhere", "/somewhere"}} {
		t.Setenv("RINGMASTER_TUNER_CACHE", c.env)
		var f struct{ autotuneFlags }
		if _, err := kong.Must(&f).Parse(nil); err != nil {
			t.Fatal(err)
		}
		if got := f.dir(); got != c.want || f.Autotuner.Mode != session.On {
			t.Errorf("%q: directory %q, mode %v", c.env, got, f.Autotuner.Mode)
		}
	}
	os.Unsetenv("RINGMASTER_TUNER_CACHE")
	var f struct{ autotuneFlags }
	if _, err := kong.Must(&f).Parse(nil); err != nil {
		t.Fatal(err)
	}
	if f.dir() != filepath.Join(cacheDir(), "tuner") {
		t.Errorf("by default %q", f.dir())
	}
	if _, err := kong.Must(&f).Parse([]string{"--tuner-cache="}); err != nil || f.dir() != "" {
		t.Errorf("--tuner-cache= is %q, %v", f.dir(), err)
	}
}
