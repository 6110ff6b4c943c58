package kernel

import (
	"strings"
	"testing"

	"ringmaster/megakernel/kernel/kerneltest"
)

func TestSourceContainsEveryConstantOnce(t *testing.T) {
	source := BuiltIn().Source(Kernel{Kind: Interpreter, Width: 64})
	if !strings.HasPrefix(source, "#version 430 core\n#define WIDTH 64\n") {
		t.Errorf("source begins with %q", source[:60])
	}
	for _, known := range rows {
		if n := strings.Count(source, "const uint OP_"+strings.ToUpper(known.name)+" ="); n != 1 {
			t.Errorf("%s is defined %d times", known.op, n)
		}
	}
	if Fingerprint(source) == Fingerprint(BuiltIn().Source(Kernel{Kind: Interpreter, Width: 65})) {
		t.Error("two widths have one fingerprint")
	}
}

func TestGeneratedSourcesAreThoseOfTheKernels(t *testing.T) {
	sources := make(map[string]string)
	for _, k := range Examples() {
		sources[k.String()] = BuiltIn().Source(k)
	}
	kerneltest.Compare(t, "generated", sources)
}
