package glcompute

import (
	"strings"
	"testing"
)

func TestValidateReportsEveryMistake(t *testing.T) {
	for _, ok := range []Config{{}, {Backend: Auto}, {Backend: EGL, Device: "0"}, {Device: "/dev/dri/card0"}, {Backend: GLFW}} {
		if err := ok.Validate(); err != nil {
			t.Errorf("%+v: %v", ok, err)
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
