package policy

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDirectorSourceExists(t *testing.T) {
	if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(DirectorSource))); err != nil {
		t.Error(err)
	}
}
