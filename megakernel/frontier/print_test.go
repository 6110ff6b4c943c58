package frontier

import (
	"testing"

	"ringmaster/megakernel/kernel/kerneltest"
)

func TestCommittedSourcesAreTheKernels(t *testing.T) {
	sources := make(map[string]string)
	for _, name := range Examples() {
		source, ok := Source(name)
		if !ok {
			t.Errorf("there is no kernel %s", name)
		}
		sources[name] = source
	}
	kerneltest.Compare(t, "generated", sources)
	for _, name := range []string{"", "bfs-level", "user-level-256", "bfs-level-48", "bfs-level-99999999999", "dfs-level-64", "bfs-other-64"} {
		if _, ok := Source(name); ok {
			t.Errorf("there is a kernel %q", name)
		}
	}
}
