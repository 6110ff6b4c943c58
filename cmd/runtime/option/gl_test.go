package option

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhereMesasTableHasNoPlaceThereIsNoCache(t *testing.T) {
	t.Setenv("MESA_SHADER_CACHE_DIR", "")
	t.Setenv("MESA_SHADER_CACHE_DISABLE", "")
	inTheWay := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", inTheWay)
	var log strings.Builder
	MesaCache(slog.New(slog.NewTextHandler(&log, nil)))
	if os.Getenv("MESA_SHADER_CACHE_DISABLE") != "true" || !strings.Contains(log.String(), "not used") {
		t.Errorf("the cache is not disabled: %q", log.String())
	}
}
