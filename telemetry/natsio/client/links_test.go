package client

import (
	"os/exec"
	"strings"
	"testing"
)

// A program that imports this package links neither the server nor the parts that drive
// a device. What a slot looks like, and the policy's terms, are values alone.
func TestAProgramLinksNoServerAndNoDevice(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	must(t, err)
	for _, dependency := range strings.Fields(string(out)) {
		for _, heavy := range []string{"nats-server", "ringmaster/megakernel/", "ringmaster/glcompute", "ringmaster/actors", "protoactor", "go-gl"} {
			if strings.Contains(dependency, heavy) && dependency != "ringmaster/megakernel/policy" {
				t.Errorf("links %s", dependency)
			}
		}
		if dependency == "ringmaster/megakernel" {
			t.Errorf("links %s", dependency)
		}
	}
}
