package kerneltest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated sources anew")

// Compare compares sources by name with the files NAME.comp of a directory, which has no
// others. With -update it writes them.
func Compare(t *testing.T, dir string, sources map[string]string) {
	t.Helper()
	there, err := filepath.Glob(filepath.Join(dir, "*.comp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range there {
		if _, known := sources[strings.TrimSuffix(filepath.Base(path), ".comp")]; !known {
			t.Errorf("%s is the source of no kernel; remove it", path)
		}
	}
	for name, source := range sources {
		path := filepath.Join(dir, name+".comp")
		if *update {
			if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		committed, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		} else if string(committed) != source {
			t.Errorf("%s differs from the kernel; if that is meant, go test -update writes it anew", path)
		}
	}
}
