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
