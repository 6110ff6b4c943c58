package kerneltest

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated sources anew")

// Compare compares sources by name with the files NAME.comp of a directory, which has no
// others. With -update it writes them.
func Compare(t *testing.T, dir string, sources map[string]string) {
	t.Helper()
	var want []string
	for name, source := range sources {
		path := filepath.Join(dir, name+".comp")
		want = append(want, path)
		if *update {
			if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		committed, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%v; go test -update writes it", err)
		} else if line := difference(string(committed), source); line > 0 {
			t.Errorf("%s differs from the kernel from line %d on; if that is meant, go test -update writes it anew", path, line)
		}
	}
	there, err := filepath.Glob(filepath.Join(dir, "*.comp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range there {
		switch {
		case slices.Contains(want, path):
		case *update:
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s is the source of no kernel", path)
		}
	}
}

// difference is the first line in which two texts differ, from 1; 0 if in none.
func difference(a, b string) int {
	if a == b {
		return 0
	}
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return i + 1
		}
	}
	return min(len(as), len(bs)) + 1
}
