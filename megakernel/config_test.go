package megakernel

import (
	"strings"
	"testing"
)

func TestConfigReportsEveryProblem(t *testing.T) {
	ok := DefaultConfig()
	if err := ok.Validate(); err != nil {
		t.Error(err)
	}
	var c Config
	err := c.Validate()
	for _, name := range []string{"Pages", "WindowWords", "MaxQueues", "MaxBatchSlots", "LoopBudget", "Programs"} {
		if err == nil || !strings.Contains(err.Error(), name+" is") {
			t.Errorf("no word about %s: %v", name, err)
		}
	}
}

func TestSourceContainsEveryConstantOnce(t *testing.T) {
	source := Source(64)
	if !strings.HasPrefix(source, "#version 430 core\n#define WIDTH 64\n") {
		t.Errorf("source begins with %q", source[:60])
	}
	for _, known := range builtins {
		if n := strings.Count(source, "const uint OP_"+strings.ToUpper(known.name)+" ="); n != 1 {
			t.Errorf("%s is defined %d times", known.op, n)
		}
	}
	if Fingerprint(source) == Fingerprint(Source(65)) {
		t.Error("two widths have one fingerprint")
	}
}
