//go:build cgo && linux

package glcompute

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// buildOpener builds testdata/opener in a variant.
func buildOpener(t *testing.T, tags string, env ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "opener")
	cmd := exec.Command("go", "build", "-o", path, "-tags", tags, "./testdata/opener")
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build -tags %q: %v\n%s", tags, err, out)
	}
	return path
}

// runOpener returns what it prints and its exit code.
func runOpener(t *testing.T, path string, env ...string) (output string, code int) {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// glibc are the libraries of the C library itself; before its version 2.34 it
// came in several.
var glibc = regexp.MustCompile(`^(libc|libdl|libpthread|libresolv|ld-linux[-a-z0-9_]*)\.so\.[0-9]+$`)

func TestNoglfwBinaryNeedsLibcOnly(t *testing.T) {
	path := buildOpener(t, "noglfw,egl", "CGO_ENABLED=1")
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	t.Log(libraries)
	for _, library := range libraries {
		if !glibc.MatchString(library) {
			t.Errorf("needs %s", library)
		}
	}
	// A symbol that other libraries can see would take the place of libEGL's.
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == "eglGetProcAddress" }) {
		t.Error("eglGetProcAddress is visible to other libraries")
	}

	out, code := runOpener(t, path, "OPENER_BACKEND=glfw", "DISPLAY=:0")
	if code != 3 || !strings.Contains(out, "noglfw") {
		t.Errorf("forced glfw: exit %d, %s", code, out)
	}
	if out, code = runOpener(t, path); code != 0 {
		missing(t, out)
	}
}

func TestBinaryWithoutCgoSaysSo(t *testing.T) {
	out, code := runOpener(t, buildOpener(t, "", "CGO_ENABLED=0"))
	if code != 3 || !strings.Contains(out, "CGO_ENABLED=1") {
		t.Errorf("exit %d, %s", code, out)
	}
}
