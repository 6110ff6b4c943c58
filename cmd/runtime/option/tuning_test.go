package option

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"

	"ringmaster/megakernel/tuner/session"
)

func TestEmptyTunerCacheKeepsNoFiles(t *testing.T) {
	for _, c := range []struct{ env, want string }{{"", ""}, {"/somewhere", "/somewhere"}} {
		t.Setenv("RINGMASTER_TUNER_CACHE", c.env)
		var f struct{ Autotune }
		if _, err := kong.Must(&f).Parse(nil); err != nil {
			t.Fatal(err)
		}
		if got := f.Place(); got != c.want || f.Tuner.Mode != session.On {
			t.Errorf("%q: directory %q, mode %v", c.env, got, f.Tuner.Mode)
		}
	}
	os.Unsetenv("RINGMASTER_TUNER_CACHE")
	var f struct{ Autotune }
	if _, err := kong.Must(&f).Parse(nil); err != nil {
		t.Fatal(err)
	}
	if f.Place() != filepath.Join(CacheDir(), "tuner") {
		t.Errorf("by default %q", f.Place())
	}
	if _, err := kong.Must(&f).Parse([]string{"--tuner-cache="}); err != nil || f.Place() != "" {
		t.Errorf("--tuner-cache= is %q, %v", f.Place(), err)
	}
}
