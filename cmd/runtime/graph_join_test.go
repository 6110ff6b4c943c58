package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const widestJoin = "../../docs/opcodes/widest.glsl"

func TestGraphRunJoinRefusesBadInputBeforeItOpensADevice(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.glsl")
	if err := os.WriteFile(broken, []byte("//! kind: join\n//! name: broken\n//! join: min\n//! seed: 0\nresult(load(value));\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"run join --source 0 -", "join takes --join FILE"},
		{"run join --join " + widestJoin + " -", "at least one --source"},
		{"run bfs --join " + widestJoin + " --source 0 -", "--join is for the algorithm join"},
		{"run join --join " + widestJoin + " --source 0 --engine reference -", "on a device only"},
		{"run join --join " + broken + " --source 0 -", "broken.glsl:5: load: a join has no loops and no memory"},
		{"run join --join nothing.glsl --source 0 -", "nothing.glsl"},
	} {
		if code, _, errs := runGraph("0 1\n", strings.Fields(c.args)...); code == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d, %q, want %q", c.args, code, errs, c.want)
		}
	}
}
