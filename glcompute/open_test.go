//go:build cgo && linux

package glcompute

import "testing"

func TestOpenAutoRunsASelfTest(t *testing.T) {
	d, attempts, err := Open(Config{})
	if err != nil {
		missing(t, err)
	}
	defer d.Close()
	for _, a := range attempts {
		t.Log(a)
	}
	t.Log(d.Info())
	t.Logf("%+v", d.Info().Limits)
	for _, line := range d.Info().Capabilities.List() {
		t.Log(line)
	}
	if err := d.SelfTest(); err != nil {
		t.Fatal(err)
	}
}
