package glcompute

import (
	"strings"
	"testing"
)

func TestValidateReportsEveryMistake(t *testing.T) {
	for _, ok := range []Config{{}, {Backend: Auto}, {Backend: EGL, Device: "0"}, {Device: "/dev/dri/card0"}, {Device: "GPU-01234567-89ab-cdef-0123-456789ABCDEF"}, {Device: "01234567012345670123456701234567"}, {Backend: GLFW}} {
		if err := ok.Validate(); err != nil {
			t.Errorf("%+v: %v", ok, err)
		}
	}
	for _, bad := range []string{"-1", "70000", "first", "GPU-0123", "0123456789abcdef0123456789abcdeg"} {
		if err := (Config{Device: bad}).Validate(); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("device %q: %v", bad, err)
		}
	}
	err := Config{Backend: "vulkan", Device: "first"}.Validate()
	for _, want := range []string{`backend "vulkan"`, `device "first"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want it to name %s", err, want)
		}
	}
	if err := (Config{Backend: GLFW, Device: "0"}).Validate(); err == nil {
		t.Error("glfw with a device: no error")
	}
	if _, _, err := Open(Config{Backend: "vulkan"}); err == nil || !strings.Contains(err.Error(), "vulkan") {
		t.Errorf("Open with a bad configuration: %v", err)
	}
}
