//go:build !cgo || !linux

package glcompute

import (
	"errors"
	"strings"
	"testing"
)

func TestOpenWithoutCgoNamesTheBuild(t *testing.T) {
	d, attempts, err := Open(Config{})
	var unavailable *UnavailableError
	if d != nil || !errors.As(err, &unavailable) || len(attempts) != 1 {
		t.Fatalf("%v, %v by %v", d, err, attempts)
	}
	if !errors.Is(err, errBuild) || !strings.Contains(err.Error(), "CGO_ENABLED=1") {
		t.Errorf("the error does not name the build: %v", err)
	}
	if _, err := Probe(Config{Backend: "vulkan"}); err == nil {
		t.Error("Probe took a bad configuration")
	}
}
