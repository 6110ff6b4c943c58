package option

import (
	"errors"
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
	mesaCache(slog.New(slog.NewTextHandler(&log, nil)))
	if os.Getenv("MESA_SHADER_CACHE_DISABLE") != "true" || !strings.Contains(log.String(), "not used") {
		t.Errorf("the cache is not disabled: %q", log.String())
	}
}

func TestADeviceIsExpectedByItsNameOrAsAnyGPU(t *testing.T) {
	for _, c := range []struct {
		expect, name string
		software     bool
		refused      bool
	}{
		{"", "llvmpipe", true, false}, {"gpu", "NVIDIA H200/PCIe", false, false}, {"GPU", "llvmpipe", true, true},
		{"h200", "NVIDIA H200/PCIe", false, false}, {"A100", "NVIDIA H200/PCIe", false, true}, {"H200", "llvmpipe", true, true}, {"llvmpipe", "llvmpipe", true, false},
	} {
		f := GL{Expect: c.expect}
		if err := f.Unexpected(c.name, c.software); errors.Is(err, ErrUnexpectedDevice) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
